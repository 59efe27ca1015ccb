"""Output layers: softmax, binary codes and the hybrids of both, behind one protocol."""

from trellex.heads.binary import BinaryHead
from trellex.heads.build import build_head
from trellex.heads.head import Cost, Head
from trellex.heads.hybrid import HybridHead
from trellex.heads.softmax import SoftmaxHead

__all__ = ["BinaryHead", "Cost", "Head", "HybridHead", "SoftmaxHead", "build_head"]
