"""Shortlists: the words that a translation of a sentence may need, learned from a corpus. No torch."""
