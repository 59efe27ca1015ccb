"""Shelves of words: the trellis that finds them, and the words' vectors shelf by shelf, mapped from a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from trellex.arrays import bits_to_number, number_to_bits
from trellex.codes import Code, load_code
from trellex.heads.shelf_distribution import ShelfDistribution, Shelving
from trellex.heads.shelves_spec import ShelvesSpec
from trellex.runtime.folder import REMEDY, Export, RuntimeManifest
from trellex.runtime.rows import Rows
from trellex.runtime.tied import tied_words
from trellex.trellis import CompleteCode
from trellex.trellis.lattice import Register

BLOCK = 1 << 13  # words whose vectors are computed at a time

Ints = NDArray[np.int64]
Floats = NDArray[Any]


class FoundShelves(ShelfDistribution):
    """Shelves that the layer of the trellis finds, whatever their words are scored by.

    Args:
        spec, code: see `ShelfDistribution`
        trellis: to its logits  [L, H]
        words: their rows, in the order of their shelves and of their places there; or what those are composed from
        project: u, from H to what words are multiplied with; none if that is the hidden state
    """

    def __init__(self, spec: ShelvesSpec, code: Code, trellis: Rows, words: Any, project: Rows | None = None) -> None:
        super().__init__(spec, code)
        from trellex.runtime import row_products  # loads numba

        self.hidden_size, self._trellis, self._project = trellis.weight.shape[1], trellis, project
        self._products: Any = row_products
        self._places = _places(self.ecc.register, self.num_shelves)
        self._ids = self.words_on(np.arange(self.num_shelves)).reshape(-1)
        self._word_table = words._replace(bias=np.where(self._ids < 0, np.float32(-np.inf), words.bias))
        self._unpacked = tuple(self._word_table) if isinstance(words, Rows) else (self._word_table,)
        self._best_words = partial(self._products.best_words, *trellis, self._places, self.visit)

    @staticmethod
    def load_trellis(export: Export) -> tuple[ShelvesSpec, Code, Rows]:
        """What this class takes. Raises ValueError that tells why the shelves do not fit."""
        manifest = export.manifest
        spec = manifest.head
        assert isinstance(spec, ShelvesSpec)
        with _fitting(export):
            code = spec.check_code(load_code(export.file("code.json")), manifest.vocab_size)
            length = CompleteCode(spec.memory).length(spec.shelf_bits(code.num_bits))
            trellis = Rows.load(export, "shelves", (length,), manifest.model.hidden_size)
            return spec, code, trellis

    @staticmethod
    def save_trellis(folder: Path, manifest: RuntimeManifest, weights: Any) -> None:
        weight, bias = (weights[f"head.shelves.{part}"] for part in ("weight", "bias"))
        Rows.save(folder, "shelves", [weight], manifest.model.hidden_size, bias, manifest.is_int8)

    def shelf_logits(self, h: Floats) -> Floats:
        return self._trellis.multiply(h)

    def log_prob_of_shelves(self, logits: Floats, shelves: Ints) -> Floats:
        log_probs = np.empty(shelves.shape)
        if self._products.log_probs_of_shelves(logits, self._places, shelves, log_probs):
            return log_probs
        return super().log_prob_of_shelves(logits, shelves)

    def _first_shelves(self, logits: Floats) -> Ints:
        shelves = np.empty((len(logits), min(self.visit + 1, self.num_shelves)), np.int64)
        return shelves if self._products.best_shelves(logits, self._places, shelves) else super()._first_shelves(logits)

    def word_scores(self, h: Floats, shelves: Ints) -> Floats:
        scores = np.empty((*shelves.shape, self.width), np.float32)
        self._products.score_words(self._projected(h), shelves, scores, *self._unpacked)
        return scores

    def _projected(self, h: Floats) -> Floats:
        """What words are multiplied with. h [N, H] -> [N, H] or [N, E]"""
        return h if self._project is None else self._project.multiply(h)

    def _best(self, h: Floats) -> Ints:
        """That of visited shelves, but where one of another may be better."""
        places = np.empty(len(h), np.int64)
        if self._best_words(h, self._projected(h), places, *self._unpacked):
            return self._ids[places]
        rows = np.flatnonzero(places < 0)
        words = self._ids[places]
        words[rows] = super()._best(h[rows])
        return words


class ShelvesLayer(FoundShelves):
    """Words by their vectors, which may already be multiplied by the layer u before them.

    The rows of words are [S · W, H], or [S · W, E] after u.
    """

    @classmethod
    def load(cls, export: Export, threads: int) -> Self:
        manifest = export.manifest
        (spec, code, trellis), size = cls.load_trellis(export), manifest.model.hidden_size
        with _fitting(export):
            shelving, project = Shelving(spec, code), None
            if manifest.is_compact:
                project = Rows.load(export, "project", (manifest.model.embedding_size,), size)
            width = size if project is None else len(project.bias)
            shape = shelving.num_shelves, shelving.width
            words = Rows.load(export, "words", shape, width, mapped=True)
            return cls(spec, code, trellis, words, project)

    @staticmethod
    def save(folder: Path, manifest: RuntimeManifest, weights: Any) -> None:
        spec, size, is_int8 = manifest.head, manifest.model.hidden_size, manifest.is_int8
        assert isinstance(spec, ShelvesSpec)
        FoundShelves.save_trellis(folder, manifest, weights)
        vectors, project, bias = tied_words(weights, "head.words")
        shelving = Shelving(spec, load_code(folder / "code.json"))
        ids = shelving.words_on(np.arange(shelving.num_shelves))
        blocks = (ids.reshape(-1)[start : start + BLOCK] for start in range(0, ids.size, BLOCK))
        rows = (np.where(block[:, None] < 0, 0, vectors[block]) for block in blocks)
        if manifest.is_compact:
            Rows.save(folder, "project", [project], size, np.zeros(len(project), np.float32), is_rounded=True)
        else:
            rows = (block @ project for block in rows)
        width = len(project) if manifest.is_compact else size
        Rows.save(folder, "words", rows, width, np.where(ids < 0, 0, bias[ids]), is_int8)

    def vectors(self, words: Ints) -> Floats:
        """Of words, as the decoder of a compact export reads them, √size times as long. words [..] -> [.., E]"""
        shelves, places = self.place_of(words)
        return self._word_table.read(shelves * self.width + places, self._word_table.weight.shape[1] ** 0.5)


@contextmanager
def _fitting(export: Export) -> Iterator[None]:
    """Say of which folder the shelves are, if they do not fit."""
    try:
        yield
    except ValueError as error:
        problem = str(error).removesuffix(f"; {REMEDY}")
        raise ValueError(f"{export.path}: the shelves do not fit ({problem}); {REMEDY}") from error


def _places(register: Register, num_shelves: int) -> NDArray[np.int32]:
    """Which logit of the trellis the highest bit of a shelf's number adds to the score of the others. -> [S]"""
    places, bits = np.zeros(num_shelves, np.int32), number_to_bits(np.arange(num_shelves), num_shelves.bit_length() - 1)
    for step in range(bits.shape[1]):
        first = max(0, step - register.memory)
        state = bits_to_number(bits[1 << step : 2 << step, first:step][:, ::-1])
        places[1 << step : 2 << step] = register.first_output(step) + state
    return places
