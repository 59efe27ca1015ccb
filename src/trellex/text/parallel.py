"""Parallel ids: the sentence pairs of a split as flat arrays on disk, mapped into memory."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trellex.files import atomic_writer
from trellex.npy import load_array, write_header
from trellex.text.lines import OWN_MAX_BYTES, read_lines
from trellex.text.manifest import REMEDY, Manifest

Ids = NDArray[np.int64]


class ParallelIds:
    """Sentence pairs of a split, without BOS and EOS. Dev and test also have their text.

    Attributes:
        name: train, dev or test
        source_lengths, target_lengths: tokens of every sentence  [N] int64
    """

    def __init__(self, folder: Path, name: str, manifest: Manifest) -> None:
        self.name = name
        self._source, self._source_offsets = _open_side(folder, name, "source", manifest)
        self._target, self._target_offsets = _open_side(folder, name, "target", manifest)
        self.source_lengths: Ids = np.diff(self._source_offsets)
        self.target_lengths: Ids = np.diff(self._target_offsets)
        self._text: dict[str, list[str]] = {}
        if name != "train":
            kinds = ("source", "target", "target.tokens")
            self._text = {kind: _read_text(folder / f"{name}.{kind}.txt", len(self)) for kind in kinds}

    def __len__(self) -> int:
        return len(self._source_offsets) - 1

    @property
    def source_ids(self) -> NDArray[Any]:
        """The source ids of all pairs, one after another, mapped into memory. [tokens]"""
        return self._source

    @property
    def target_ids(self) -> NDArray[Any]:
        """The same of the target."""
        return self._target

    def source(self, index: int) -> Ids:
        """The source ids of a pair. [length]"""
        return self._sentence(self._source, self._source_offsets, index)

    def target(self, index: int) -> Ids:
        """The target ids of a pair. [length]"""
        return self._sentence(self._target, self._target_offsets, index)

    def sources(self, indices: Ids) -> tuple[Ids, Ids]:
        """The source ids of pairs, one after another, and how many each has. [N] -> [tokens], [N]"""
        return _gather(self._source, self._source_offsets, indices)

    def targets(self, indices: Ids) -> tuple[Ids, Ids]:
        """The same of the target."""
        return _gather(self._target, self._target_offsets, indices)

    def _sentence(self, ids: NDArray[Any], offsets: Ids, index: int) -> Ids:
        if not 0 <= index < len(self):
            raise IndexError(f"{self.name}: pairs go from 0 to {len(self) - 1}, got {index}")
        return ids[offsets[index] : offsets[index + 1]].astype(np.int64)

    @property
    def source_lines(self) -> list[str]:
        """The source as it was given. [N]"""
        return self._lines("source")

    @property
    def target_lines(self) -> list[str]:
        """The target as it was given. [N]"""
        return self._lines("target")

    @property
    def target_tokens(self) -> list[list[str]]:
        """The target's words, unknown ones and all, even if ids are of pieces: what BLEU compares. [N] of [length]"""
        return [line.split() for line in self._lines("target.tokens")]

    def _lines(self, kind: str) -> list[str]:
        if kind not in self._text:
            raise ValueError(f"{self.name}: only the ids of this split are kept; dev and test have their text")
        return self._text[kind]


def _gather(ids: NDArray[Any], offsets: Ids, indices: Ids) -> tuple[Ids, Ids]:
    starts = offsets[indices]
    lengths = offsets[indices + 1] - starts
    ends = lengths.cumsum()
    places = np.repeat(starts - ends + lengths, lengths) + np.arange(ends[-1] if len(ends) else 0)
    return ids[places].astype(np.int64), lengths


def write_ids(prefix: Path, sentences: Iterable[Ids], *, pairs: int, tokens: int, dtype: str) -> None:
    """Write `<prefix>.ids` [tokens] and `<prefix>.offsets` [pairs + 1], .npy files, a sentence at a time."""
    end = 0
    with atomic_writer(f"{prefix}.ids", "wb") as ids, atomic_writer(f"{prefix}.offsets", "wb") as offsets:
        write_header(ids, dtype, (tokens,))
        write_header(offsets, "uint64", (pairs + 1,))
        offsets.write(end.to_bytes(8, "little"))
        for sentence in sentences:
            ids.write(sentence.astype(np.dtype(dtype).newbyteorder("<")).tobytes())
            end += len(sentence)
            offsets.write(end.to_bytes(8, "little"))


def _open_side(folder: Path, name: str, side: str, manifest: Manifest) -> tuple[NDArray[Any], Ids]:
    """The ids of a side, mapped, and its offsets. -> [tokens], [N + 1] int64"""
    facts = manifest.splits[name]
    tokens = (facts.source if side == "source" else facts.target).tokens
    dtype: str = getattr(manifest, f"{side}_dtype")
    vocabulary: int = getattr(manifest, f"{side}_vocabulary")

    path = folder / f"{name}.{side}.offsets"
    offsets = load_array(path, (facts.pairs + 1,), np.uint64, remedy=REMEDY).astype(np.int64)
    if offsets[0] != 0 or offsets[-1] != tokens or (np.diff(offsets) < 0).any():
        raise ValueError(f"{path}: damaged, the offsets do not rise from 0 to {tokens}; {REMEDY}")

    path = folder / f"{name}.{side}.ids"
    ids = load_array(path, (tokens,), dtype, remedy=REMEDY, mapped=True)
    if tokens and ids.max() >= vocabulary:
        raise ValueError(f"{path}: damaged, holds id {ids.max()} but the vocabulary has {vocabulary} words; {REMEDY}")
    return ids, offsets


def _read_text(path: Path, pairs: int) -> list[str]:
    try:
        lines = list(read_lines(path, OWN_MAX_BYTES))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path}: cannot be read ({error}); {REMEDY}") from error
    if len(lines) != pairs:
        raise ValueError(f"{path}: has {len(lines)} lines, the manifest tells of {pairs}; {REMEDY}")
    return lines
