"""What the rivals of code heads are, without computing them: other ways to spare a softmax its time."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, model_validator

from trellex.heads.coded_spec import AnyCode, CodedSpec
from trellex.heads.spec import HeadSpec
from trellex.records import brief


class HierarchicalSpec(CodedSpec):
    """Hierarchical softmax: a word is the outcome of the choices between two on its way down the tree of its code."""

    code: AnyCode = Field("huffman", description="which tree, as above")

    forms, is_apart = ("hierarchical",), True

    @model_validator(mode="after")
    def _reads_one_path(self) -> Self:
        if self.label_smoothing:
            raise ValueError("label_smoothing: the mean over all words would read all nodes of the tree; set it to 0")
        return self


def _as_cutoffs(cutoffs: Any) -> tuple[int, ...] | None:
    if cutoffs is None:
        return None
    is_list = isinstance(cutoffs, list | tuple) and len(cutoffs) > 0
    if is_list and all(type(each) is int and each > before for before, each in pairwise([0, *cutoffs])):
        return tuple(cutoffs)
    raise ValueError(f"expected rising whole numbers of at least 1, such as [2000, 10000], got {brief(cutoffs)}")


class BandedSpec(HeadSpec):
    """What heads have that treat words by their frequency: the first word of every band of words but the first."""

    cutoffs: Annotated[Any, BeforeValidator(_as_cutoffs)] = Field(
        None,
        description="the first words of all bands but the first, which is that of the most frequent words; "
        "V / 32, V / 8 and V / 2 unless given",
    )

    is_apart = True

    def _cutoffs_below(self, vocab_size: int, most: int) -> list[int]:
        """Those that were given, otherwise the usual, at most so many. Raises ValueError unless they are in V."""
        if vocab_size < 2:
            raise ValueError(f"vocab: {self.type} needs at least 2 words, got {vocab_size}; use more, or softmax")
        if self.cutoffs is None:
            return sorted({vocab_size // part for part in (32, 8, 2)} - {0})[:most]
        if self.cutoffs[-1] >= vocab_size:
            raise ValueError(
                f"cutoffs: expected words of {vocab_size}, hence numbers below that, got {self.cutoffs[-1]}; "
                "choose smaller ones, or leave them out"
            )
        return list(self.cutoffs)


class AdaptiveSpec(BandedSpec):
    """Adaptive softmax: the rarer the words of a band, the narrower their vectors, and the seldomer they are scored."""

    div_value: float = Field(4.0, gt=1, allow_inf_nan=False, description="how many times each tail is narrower")

    forms = ("adaptive",)

    @model_validator(mode="after")
    def _reads_one_tail(self) -> Self:
        if self.label_smoothing:
            raise ValueError("label_smoothing: the mean over all words would enter all tails; set it to 0")
        return self

    def widths(self, hidden_size: int, tails: int) -> list[int]:
        """The size of a word's vector in each tail, as PyTorch's layer has it."""
        return [int(hidden_size // self.div_value ** (tail + 1)) for tail in range(tails)]

    def cutoffs_of(self, vocab_size: int, hidden_size: int) -> list[int]:
        """The first word of each tail. Raises ValueError unless they are in V, and their words have vectors."""
        usable = sum(width > 0 for width in self.widths(hidden_size, 3))
        cutoffs = self._cutoffs_below(vocab_size, max(1, usable))
        if self.widths(hidden_size, len(cutoffs))[-1] < 1:
            raise ValueError(
                f"div_value: {self.div_value:g} leaves no width to tail {len(cutoffs)} of hidden_size {hidden_size}; "
                "choose a smaller one, or fewer cutoffs"
            )
        return cutoffs


def _as_units(units: Any) -> tuple[int, ...] | None:
    if units is None:
        return None
    if isinstance(units, list | tuple) and units and all(type(each) is int and each > 0 for each in units):
        return tuple(units)
    raise ValueError(f"expected whole numbers of at least 1, such as [256, 128, 128], got {brief(units)}")


class DifferentiatedSpec(BandedSpec):
    """Differentiated softmax: each band of words is scored by its own part of the hidden units."""

    units: Annotated[Any, BeforeValidator(_as_units)] = Field(
        None,
        description="how many hidden units each band reads, in all as many as there are; unless given, each half of "
        "those that are left",
    )

    forms = ("differentiated",)

    def bands(self, vocab_size: int, hidden_size: int) -> list[tuple[int, int]]:
        """Words and units of each band. Raises ValueError unless they are in V and add up to H."""
        most = hidden_size if self.units is None else len(self.units)
        cutoffs = self._cutoffs_below(vocab_size, most - 1)
        words = [end - begin for begin, end in pairwise([0, *cutoffs, vocab_size])]
        if hidden_size < max(2, len(words)):
            raise ValueError(
                f"hidden_size: {hidden_size} leaves no unit to some of {max(2, len(words))} bands; "
                "choose a larger one, or fewer cutoffs"
            )
        units = self.units or self._halves(hidden_size, len(words))
        if len(units) != len(words) or sum(units) != hidden_size:
            raise ValueError(
                f"units: expected {len(words)} numbers, one a band, that add up to hidden_size {hidden_size}, "
                f"got {list(units)}; change them or the cutoffs"
            )
        return list(zip(words, units, strict=True))

    @staticmethod
    def _halves(hidden_size: int, bands: int) -> list[int]:
        """Half of what is left to each, at least 1, and the rest to the last."""
        units: list[int] = []
        for following in range(bands - 1, 0, -1):
            left = hidden_size - sum(units)
            units.append(min(left // 2, left - following))
        return [*units, hidden_size - sum(units)]
