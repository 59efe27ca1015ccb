"""Evaluation: how good translations are, and what an output layer costs."""

from trellex.evaluation.bands import WordBand, rarest_ranks, word_bands
from trellex.evaluation.bleu import Bleu, text_bleu, token_bleu
from trellex.evaluation.calibration import Band, Calibration

__all__ = ["Band", "Bleu", "Calibration", "WordBand", "rarest_ranks", "text_bleu", "token_bleu", "word_bands"]
