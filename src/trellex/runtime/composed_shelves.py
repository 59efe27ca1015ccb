"""Shelves of words whose vectors are composed: the scores of words from those of windows and residuals."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from trellex.codes import Code
from trellex.heads.shelf_distribution import Shelving
from trellex.heads.shelves_spec import ShelvesSpec
from trellex.runtime.composed import ComposedVectors
from trellex.runtime.folder import Export, RuntimeManifest
from trellex.runtime.rows import Rows
from trellex.runtime.shelves import FoundShelves
from trellex.runtime.tied import load_tied, save_tied

Ints = NDArray[np.int64]
Floats = NDArray[Any]


class ShelvedParts(NamedTuple):
    """What the vectors of words are composed from, in the order of shelves, as compiled code takes it."""

    windows: Rows  # [W, E]
    residuals: NDArray[np.int8]  # of the words of all S shelves  [S · P, R]
    project: Rows  # what residuals are multiplied with  [R, E]
    bias: Floats  # of the words of all shelves  [S · P]
    own: Rows  # of frequent words  [F, E]
    own_places: Ints  # of those, on their shelves  [F]
    own_begins: Ints  # the first of them on every shelf, and the end  [S + 1]
    layout: Ints  # that of `Windows`  [3, B]
    shelf_bits: int
    numbers: Ints  # of the words of all shelves, by which they are composed; none if those find shelves, too  [S · P]

    @classmethod
    def of(cls, vectors: ComposedVectors, bias: Floats, shelving: Shelving) -> ShelvedParts:
        """bias: of all words [V]"""
        ids = np.maximum(shelving.words_on(np.arange(shelving.num_shelves)).reshape(-1), 0)
        shelf, place = shelving.place_of(np.arange(len(vectors.own)))
        order = np.lexsort((place, shelf))
        begins = np.searchsorted(shelf[order], np.arange(shelving.num_shelves + 1))
        windows, own = Rows.of_vectors(vectors.table), Rows.of_vectors(vectors.own).take(order)
        layout = vectors.windows.layout.array
        project = Rows.of_vectors(vectors.project, is_rounded=False)
        residuals, frequent = np.asarray(vectors.residuals)[ids], (own, place[order], begins)
        finds_shelves = np.array_equal(vectors.numbers, shelving.code.numbers(np.arange(shelving.vocab_size)))
        numbers = vectors.numbers[ids[:0] if finds_shelves else ids]
        return cls(windows, residuals, project, bias[ids], *frequent, layout, shelving.shelf_bits, numbers)


class ComposedShelves(FoundShelves):
    """No word has a row of its own here, so that the export is small; only its residual, its bias and its code.

    Args:
        spec, code, trellis, project: see `FoundShelves`
        vectors: E, as the decoder reads them
        bias: of all words  [V]
    """

    def __init__(
        self, spec: ShelvesSpec, code: Code, trellis: Rows, project: Rows, vectors: ComposedVectors, bias: Floats
    ) -> None:
        super().__init__(spec, code, trellis, ShelvedParts.of(vectors, bias, Shelving(spec, code)), project)
        self.vectors = vectors

    @classmethod
    def load(cls, export: Export, threads: int) -> Self:
        found = cls.load_trellis(export)
        project, bias = load_tied(export)
        width, words = export.manifest.model.embedding_size, export.manifest.vocab_size
        return cls(*found, project, ComposedVectors.load(export, "target", words, width), bias)

    @staticmethod
    def save(folder: Path, manifest: RuntimeManifest, weights: Any) -> None:
        FoundShelves.save_trellis(folder, manifest, weights)
        save_tied(folder, manifest, weights, "head.words")
