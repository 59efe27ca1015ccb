"""What all heads have whose words have codes, without computing it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field

from trellex.codes import (
    Code,
    FrequencyCode,
    HuffmanCode,
    RandomCode,
    cluster_code,
    code_from_dict,
    load_code,
    ordered_code,
)
from trellex.heads.spec import CODES, HeadSpec, size_of
from trellex.records import brief

FROM_TEXT = ("clusters", "brown")  # codes that are learned from the text of a training


def _as_code(code: Any) -> str | Path | Code:
    if isinstance(code, Mapping):
        if set(code) == {"file"} and isinstance(code["file"], str | Path):
            return Path(code["file"])
        if "type" not in code:
            raise ValueError(f"expected {{file: …}}, the path of a code that was saved, got {brief(dict(code))}")
        return code_from_dict(code)
    if isinstance(code, Code | Path) or code in CODES:
        return code
    hint = f"; did you mean {{file: {code}}}?" if isinstance(code, str) and code.endswith(".json") else ""
    raise ValueError(f"expected one of {', '.join(CODES)}, or {{file: …}}, got {code!r}{hint}")


AnyCode = Annotated[Any, BeforeValidator(_as_code)]


class CodedSpec(HeadSpec):
    """What all heads have whose words have codes."""

    code: AnyCode = Field(
        "frequency",
        description="frequency, random (with a seed), huffman, clusters (of words that have like neighbours), brown "
        "(clusters of whose bigrams tell most); {file: …}, a code that was saved; or a Code",
    )
    seed: int = Field(0, ge=0, strict=True, description="of a random code")

    @property
    def has_code(self) -> bool:
        """Whether words have a code indeed, which is a part of the model, like its weights."""
        return True

    @property
    def can_renumber(self) -> bool:
        """Whether words may exchange their numbers while it is trained: what they lose or gain is known then."""
        return False

    @property
    def first_rare(self) -> int:
        """The first word that bits may spell."""
        return 0

    def build_code(self, vocab: Any, vectors: Any = None, order: Any = None) -> Code:
        """The code of a vocabulary, given as its size or with counts: drawn, counted, clustered, or read from its file.

        vectors: of the words, for clusters, unless the vocabulary has `vectors` itself  [V, D]
        order: of the words as leaves of a Brown tree, for brown  [V]
        """
        if isinstance(self.code, Code):
            return self.check_code(self.code, size_of(vocab))
        if isinstance(self.code, Path):
            code = load_code(self.code)
            try:
                return self.check_code(code, size_of(vocab))
            except ValueError as error:
                raise ValueError(f"code: {self.code}: {str(error).removeprefix('code: ')}") from error
        first = self._first_coded()
        size = size_of(vocab) - first
        if self.code == "frequency":
            return FrequencyCode(size)
        if self.code == "random":
            return RandomCode(size, self.seed)
        if self.code == "clusters":
            return cluster_code(self._vectors_of(vocab, vectors)[first:])
        if self.code == "brown":
            order = self._order_of(vocab, order)
            return ordered_code(order[order >= first] - first)
        if isinstance(vocab, int):
            raise ValueError(
                "code: a Huffman code needs a vocabulary with counts, not only its size; "
                "pass a Vocabulary, or choose another code, such as frequency"
            )
        return HuffmanCode(vocab.counts[first:])

    def stand_in(self, vocab: Any) -> Code | None:
        return self.model_copy(update={"code": "random"}).build_code(vocab) if self.code in FROM_TEXT else None

    @staticmethod
    def _vectors_of(vocab: Any, vectors: Any) -> Any:
        """Those of the vocabulary, otherwise these; one a word."""
        found = getattr(vocab, "vectors", None)
        found = vectors if found is None else found
        if found is None:
            raise ValueError(
                "code: clusters need word vectors; pass a vocabulary that has `vectors`, an embedding, "
                "or code=cluster_code(vectors)"
            )
        if len(found) != size_of(vocab):
            raise ValueError(f"code: expected word vectors of {size_of(vocab)} words, got {len(found)}")
        return found

    @staticmethod
    def _order_of(vocab: Any, order: Any) -> NDArray[Any]:
        """The same, of all words."""
        if order is None:
            raise ValueError(
                "code: brown needs a text; train by a recipe, make a file with `trellex codes`, "
                "or pass code=ordered_code(brown_order(…))"
            )
        if len(order) != size_of(vocab):
            raise ValueError(f"code: expected an order of {size_of(vocab)} words, got {len(order)}")
        return np.asarray(order)

    def _first_coded(self) -> int:
        """The word that has the number 0 in a code that is made for this head."""
        return 0

    def check_code(self, code: Code, vocab_size: int) -> Code:
        """The same code. Raises ValueError unless it is one of the words that the bits of this head may spell."""
        if code.vocab_size != vocab_size - self.first_rare:
            raise ValueError(
                f"code: expected one of {vocab_size - self.first_rare} words, got {code}; "
                "make one of this vocabulary with `trellex codes`, or choose it by its name"
            )
        return code
