"""The manifest: what a prepared corpus was made from, how, and what came of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from trellex.files import AnyPath
from trellex.kinds import CORPUS, CORPUS_FILE, REMEDIES, check_kind
from trellex.records import Record, Sealed
from trellex.text.pieces import DEFAULT_SIZE, MAX_SIZE, PieceModel, pieces_file
from trellex.text.tokenizers import (
    Detokenizer,
    Tokenizer,
    build_detokenizer,
    build_tokenizer,
    check_tokenizer,
    default_tokenizer,
    is_of_pieces,
)

SIDES = ("source", "target")
VOCABULARIES = tuple(f"vocab.{side}.txt" for side in SIDES)
PIECE_MODELS = tuple(pieces_file(side) for side in SIDES)  # of sides that are cut into pieces
MANIFEST = CORPUS_FILE
_NO_PIECES: Mapping[str, PieceModel] = MappingProxyType({})
REMEDY = "run `trellex prepare` again"


class TextSettings(Record, frozen=True):
    """How text is cut into tokens."""

    source_language: str = Field(description="language to translate from, an ISO 639 code such as en")
    target_language: str = Field(description="language to translate to, such as ja")
    source_tokenizer: str = Field(
        default_factory=lambda fields: default_tokenizer(fields.get("source_language", "")),
        description="what cuts the source: whitespace (it is cut already), moses, mecab or characters; or into pieces "
        "of words that are learnt from the training text, bpe or unigram; unless given, mecab for Japanese, characters "
        "for others without spaces between words, moses for the rest",
    )
    target_tokenizer: str = Field(
        default_factory=lambda fields: default_tokenizer(fields.get("target_language", "")),
        description="what cuts the target: one of the same",
    )
    source_lowercase: bool = Field(False, description="lower-case the source")
    target_lowercase: bool = Field(False, description="lower-case the target")

    @field_validator("source_tokenizer", "target_tokenizer")
    @classmethod
    def _tokenizer_exists(cls, name: str) -> str:
        return check_tokenizer(name)

    def text(self) -> TextSettings:
        """These settings alone, without those of a subclass."""
        return TextSettings(**{name: getattr(self, name) for name in TextSettings.model_fields})

    def tokenizer(self, side: str, pieces: Mapping[str, PieceModel] = _NO_PIECES) -> Tokenizer:
        """The tokeniser of the source or the target. pieces: the models of sides that are cut into pieces"""
        name, language = getattr(self, f"{side}_tokenizer"), getattr(self, f"{side}_language")
        return build_tokenizer(name, language, getattr(self, f"{side}_lowercase"), pieces.get(side))

    def detokenizer(self) -> Detokenizer:
        """What joins the tokens of the target."""
        return build_detokenizer(self.target_tokenizer, self.target_language)

    def has_pieces(self, side: str) -> bool:
        """Whether the source or the target is cut into pieces of words."""
        return is_of_pieces(getattr(self, f"{side}_tokenizer"))

    def files(self) -> list[str]:
        """The names of what cuts and numbers text, in the folder of a corpus, a checkpoint or an export."""
        return [*VOCABULARIES, *(pieces_file(side) for side in SIDES if self.has_pieces(side))]

    def load_pieces(self, folder: Path, sums: Mapping[str, str], remedy: str) -> dict[str, PieceModel]:
        """The piece models in a folder, by side. Raises ValueError that names what is not as it was written.

        sums: the SHA-256 of files by name
        """
        names = {side: pieces_file(side) for side in SIDES if self.has_pieces(side)}
        return {side: PieceModel.load(folder / name, sums.get(name), remedy) for side, name in names.items()}


class PrepareSettings(TextSettings):
    """What `prepare` is told: the files of a corpus, and how to cut and count them."""

    train_source: Path = Field(description="training text, one sentence a line; .gz and .xz are unpacked")
    train_target: Path = Field(description="its translation, line by line")
    dev_source: Path = Field(description="text to validate training on")
    dev_target: Path = Field(description="its translation")
    test_source: Path | None = Field(None, description="text to test the finished model on")
    test_target: Path | None = Field(None, description="its translation")
    source_vocab_size: int | None = Field(
        None,
        ge=4,
        description="known source words, three markers included; all unless given; of pieces so many are learnt, "
        f"{DEFAULT_SIZE:,} unless given, or fewer if the text has no more",
    )
    target_vocab_size: int | None = Field(None, ge=4, description="known target words or pieces, the same")
    min_count: int | None = Field(
        None,
        ge=1,
        description="words seen less often in training are unknown; unless given, 2 on a side where otherwise no "
        "training word would be unknown but words of dev are, so that a model learns of unknown words, and 1 elsewhere "
        "and for pieces",
    )
    min_length: int = Field(1, ge=1, description="drop training pairs with fewer tokens, words or pieces, on a side")
    max_length: int = Field(60, ge=1, description="drop training pairs with more tokens, words or pieces, on a side")
    bleu_tokenizer: str | None = Field(
        None,
        description="of a target in pieces: what cuts it into words for token BLEU, whitespace, moses, mecab or "
        "characters; by the language unless given",
    )

    @model_validator(mode="after")
    def _fields_agree(self) -> Self:
        if (self.test_source is None) != (self.test_target is None):
            raise ValueError("test_source, test_target: give both or neither")
        if self.min_length > self.max_length:
            raise ValueError(f"min_length: {self.min_length} is more than max_length, {self.max_length}")
        for side in SIDES:
            if self.has_pieces(side) and self.pieces(side) > MAX_SIZE:
                raise ValueError(
                    f"{side}_vocab_size: at most {MAX_SIZE:,} pieces can be learnt; give fewer, or cut words"
                )
        if self.bleu_tokenizer is not None and not self.has_pieces("target"):
            raise ValueError("bleu_tokenizer: the target is cut into words already, which BLEU compares; leave it out")
        if self.bleu_tokenizer is not None and is_of_pieces(check_tokenizer(self.bleu_tokenizer)):
            raise ValueError(
                f"bleu_tokenizer: BLEU compares words, not {self.bleu_tokenizer}; give whitespace or moses"
            )
        return self

    def pieces(self, side: str) -> int:
        """How many pieces a side has at most, three markers included."""
        size: int | None = getattr(self, f"{side}_vocab_size")
        return size or DEFAULT_SIZE

    def cut(self) -> str | None:
        """What tables call it if a side is cut into pieces: such as bpe 8192, or moses to bpe 8192."""
        if not any(map(self.has_pieces, SIDES)):
            return None
        names = (getattr(self, f"{side}_tokenizer") for side in SIDES)
        named = [
            f"{name} {self.pieces(side)}" if self.has_pieces(side) else name
            for side, name in zip(SIDES, names, strict=True)
        ]
        return " to ".join(dict.fromkeys(named))

    @property
    def words(self) -> str:
        """The name of the tokeniser that makes the target words which token BLEU compares."""
        if not self.has_pieces("target"):
            return self.target_tokenizer
        return self.bleu_tokenizer or default_tokenizer(self.target_language)

    def word_tokenizer(self) -> Tokenizer:
        """That tokeniser."""
        return build_tokenizer(self.words, self.target_language, self.target_lowercase)

    def check_word_tokenizer(self) -> None:
        """Raises ImportError if a package is missing that cuts what is made of pieces into words."""
        if self.has_pieces("target"):
            self.word_tokenizer()

    def inputs(self) -> dict[str, Path]:
        """The input files by the name of their setting, such as `train_source`."""
        names = [f"{split}_{side}" for split in self.splits() for side in SIDES]
        return {name: getattr(self, name) for name in names}

    def splits(self) -> tuple[str, ...]:
        """The names of the splits: train, dev and, if there is one, test."""
        return ("train", "dev") if self.test_source is None else ("train", "dev", "test")


class InputFile(Record, frozen=True):
    """A file that went into the corpus."""

    size: int = Field(ge=0)  # bytes
    sha256: str


class SideFacts(Record, frozen=True):
    """One side of a split. Corpora of older versions lack what may be None, here and below."""

    tokens: int = Field(ge=0)
    unknown_tokens: int = Field(ge=0)
    unknown_rate: float = Field(ge=0, le=1)
    unknown_to_other_side: float | None = Field(None, ge=0, le=1)  # the rate with the other side's vocabulary
    types: int | None = Field(None, ge=0)  # distinct words
    uncut_rate: float | None = Field(None, ge=0, le=1)  # of tokens that look like text that was not cut
    mean_length: float | None = Field(None, ge=0)  # tokens a sentence
    length_95: int | None = Field(None, ge=0)  # 95 % of the sentences are no longer
    max_length: int | None = Field(None, ge=0)


class SplitFacts(Record, frozen=True):
    """A split: training pairs outside the limits of length are dropped, of dev and test none is."""

    pairs: int = Field(ge=1)
    dropped_short: int = Field(ge=0)
    dropped_long: int = Field(ge=0)
    same_text: int | None = Field(None, ge=0)  # pairs whose sides are equal
    lopsided: int | None = Field(None, ge=0)  # pairs with far more tokens on one side
    in_train: int | None = Field(None, ge=0)  # pairs of dev or test that stand in train, too
    source: SideFacts
    target: SideFacts


class Manifest(Sealed, frozen=True):
    """The file `manifest.json` of a prepared corpus."""

    version: Literal[1] = 1
    settings: PrepareSettings
    inputs: dict[str, InputFile]  # by setting, such as train_source
    splits: dict[str, SplitFacts]
    source_vocabulary: int = Field(ge=3)
    target_vocabulary: int = Field(ge=3)
    source_min_count: int | None = Field(None, ge=1)  # words seen less often are unknown
    target_min_count: int | None = Field(None, ge=1)
    source_dtype: Literal["uint16", "uint32"]  # of the arrays of ids
    target_dtype: Literal["uint16", "uint32"]
    files: dict[str, int]  # bytes of every other file in the folder
    sha256: dict[str, str] | None = None  # of the same files

    @model_validator(mode="after")
    def _splits_agree(self) -> Self:
        if set(self.splits) != set(self.settings.splits()):
            raise ValueError("splits: not those of the settings")
        return self

    @model_validator(mode="after")
    def _files_agree(self) -> Self:
        if self.sha256 is not None and set(self.sha256) != set(self.files):
            raise ValueError("sha256: not of the same files as in files")
        return self

    def fingerprint(self) -> str:
        """The same for the same text, cut and counted in the same way, wherever its files are."""
        unused = {"bleu_tokenizer"} if self.settings.bleu_tokenizer is None else set()
        settings = self.settings.model_dump(mode="json", exclude={*self.settings.inputs(), "min_count", *unused})
        min_counts = [self.source_min_count or 1, self.target_min_count or 1]
        if max(min_counts) > 1:
            settings["min_counts"] = min_counts
        contents = {name: file.sha256 for name, file in self.inputs.items()}
        return hashlib.sha256(json.dumps([settings, contents], sort_keys=True).encode()).hexdigest()

    def save(self, folder: AnyPath) -> None:
        """Write it into the folder of the corpus, with its checksum."""
        self.save_json(Path(folder) / MANIFEST, indent=2)

    @classmethod
    def load(cls, folder: AnyPath) -> Self:
        """Read it from the folder of a corpus. Raises ValueError that names the file if there is none, or another."""
        check_kind(folder, CORPUS)
        if not Path(folder).exists():
            place = "" if Path(folder).is_absolute() else f" in {Path.cwd()}"
            raise ValueError(f"{folder}: there is no such corpus{place}; {REMEDIES[CORPUS]}")
        return cls.load_json(Path(folder) / MANIFEST, "the manifest of a prepared corpus", REMEDY)


def corpus_files(settings: PrepareSettings) -> list[str]:
    """The names of all files of a prepared corpus but the manifest."""
    return settings.files() + split_files(settings.splits())


def split_files(splits: tuple[str, ...]) -> list[str]:
    """Those of splits."""
    names = []
    for split in splits:
        names += [f"{split}.{side}.{kind}" for side in SIDES for kind in ("ids", "offsets")]
        if split != "train":
            names += [f"{split}.source.txt", f"{split}.target.txt", f"{split}.target.tokens.txt"]
    return names
