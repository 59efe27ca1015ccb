"""A loaded model and what it needs to read and write text, whether it runs in torch or without."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, NamedTuple, TypeVar

from trellex.heads.spec import HeadSpec
from trellex.search import Model
from trellex.text.manifest import TextSettings
from trellex.text.pieces import PieceModel
from trellex.text.vocabulary import Vocabulary

AModel = TypeVar("AModel", bound=Model)


class LoadedModel(NamedTuple, Generic[AModel]):
    """All that a translator is made from."""

    model: AModel
    text: TextSettings  # how it is cut
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    head: HeadSpec
    step: int | None = None  # of training, where it is known
    pieces: Mapping[str, PieceModel] = {}  # of sides that are cut into pieces
