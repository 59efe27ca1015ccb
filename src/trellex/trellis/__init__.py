"""The trellis: redundant bits that correct errors, and the k best, exact sums and exact samples over all words."""

from trellex.trellis.complete import CompleteCode
from trellex.trellis.convolutional import ConvolutionalCode, IdentityCode
from trellex.trellis.lattice import between

__all__ = ["CompleteCode", "ConvolutionalCode", "IdentityCode", "between", "set_num_threads"]


def set_num_threads(threads: int) -> None:
    """Let several threads share the rows of large arrays in main memory; one does unless set."""
    from trellex.trellis import host

    host.set_num_threads(threads)
