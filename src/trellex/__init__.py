"""Trellex: neural machine translation with an output layer that costs O(log V)."""

__version__ = "0.1.0"
