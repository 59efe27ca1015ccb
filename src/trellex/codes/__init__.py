"""Codes: every word of the vocabulary has a bit array of its own, and back."""

from trellex.codes.clusters import cluster_code
from trellex.codes.code import Code, code_from_dict, load_code
from trellex.codes.frequency import FrequencyCode
from trellex.codes.huffman import HuffmanCode
from trellex.codes.ordered import ordered_code
from trellex.codes.permuted import PermutedCode, RandomCode
from trellex.codes.tree import CodeTree

__all__ = [
    "Code",
    "CodeTree",
    "FrequencyCode",
    "HuffmanCode",
    "PermutedCode",
    "RandomCode",
    "cluster_code",
    "code_from_dict",
    "load_code",
    "ordered_code",
]
