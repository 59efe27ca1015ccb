"""Evaluation: how good translations are, and what an output layer costs."""

from trellex.evaluation.bleu import Bleu, text_bleu, token_bleu

__all__ = ["Bleu", "text_bleu", "token_bleu"]
