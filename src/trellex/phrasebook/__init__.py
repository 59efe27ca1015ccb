"""A small English–Japanese phrasebook that a grammar makes: a corpus to learn and test on without a download."""

from trellex.phrasebook.corpus import generate, patterns, splits, write

__all__ = ["generate", "patterns", "splits", "write"]
