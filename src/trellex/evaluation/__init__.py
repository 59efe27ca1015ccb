"""Evaluation: how good translations are, and what an output layer costs."""

from trellex.evaluation.bleu import Bleu, text_bleu, token_bleu
from trellex.evaluation.calibration import Band, Calibration

__all__ = ["Band", "Bleu", "Calibration", "text_bleu", "token_bleu"]
