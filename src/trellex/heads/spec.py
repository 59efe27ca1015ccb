"""What an output layer is, without computing it: its type and options, as recipes, models and results hold them.

Every family of heads has a class here, free codes in `free_spec` and rivals in `rival_spec`; a subclass of `HeadSpec`
with forms of its name is known from then on.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, ConfigDict, Field, ValidationError, model_serializer, model_validator

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
from trellex.records import Record, brief, problems
from trellex.trellis import CompleteCode, ConvolutionalCode, IdentityCode

CODES = ("frequency", "random", "huffman", "clusters", "brown")
FROM_TEXT = ("clusters", "brown")  # those that are learned from the text of a training
MEMORY = 8  # of complete trellises
MAX_DIGITS = 18  # of N in a type such as hybrid-N
SAMPLES = 1024  # words that are drawn for all tokens of a batch


class HeadSpec(Record):
    """An output layer by its type and options; `parse` gives the class of its family.

    As data it is what it was written as: a name, or a mapping with the options that were given.
    """

    model_config = ConfigDict(frozen=True)

    type: str = Field(description="the name of the output layer")
    ignore_index: int = Field(-100, description="targets with this id cost nothing")
    reduction: Literal["none", "mean", "sum"] = Field("none", description="of the loss of all tokens")
    label_smoothing: float = Field(0.0, ge=0, lt=1, description="the share of the loss that is the mean over all words")

    forms: ClassVar[tuple[str, ...]] = ()  # of the type, such as hybrid-N-ec
    is_apart: ClassVar[bool] = False  # from the paper's: last in tables, with options that are not as by default
    families: ClassVar[list[Any]] = []  # subclasses that have forms, in the order of tables

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        if cls.forms:
            HeadSpec.families.append(cls)

    @staticmethod
    def parse(spec: Any) -> HeadSpec:
        """From a name, or a mapping with a type and options. Raises ValueError that names the option and the remedy."""
        if isinstance(spec, HeadSpec):
            return spec
        if not isinstance(spec, str | Mapping):
            raise ValueError(f"spec: expected a name or a mapping, got {brief(spec)}")
        options = {"type": spec} if isinstance(spec, str) else {str(key): value for key, value in spec.items()}
        name = options.get("type")
        for family in HeadSpec.families:
            if isinstance(name, str) and any(_has_form(form, name) for form in family.forms):
                try:
                    return family.model_validate(options)
                except ValidationError as error:
                    raise ValueError("; ".join(problems(error, family, f"not an option of {name}"))) from None
        *forms, last = (form for family in HeadSpec.families for form in family.forms)
        raise ValueError(
            f"type: expected {', '.join(forms)} or {last}, got {brief(name)}{_suggestion(name, *forms, last)}"
        )

    def with_options(self, **options: Any) -> HeadSpec:
        """The same with some options replaced, checked again."""
        return self.parse({**self.options(), **options})

    def is_unusual(self, name: str) -> bool:
        """Whether an option was given, and is not as by default."""
        return name in self.model_fields_set and getattr(self, name) != type(self).model_fields[name].default

    def options(self) -> dict[str, Any]:
        """What was given, the type first."""
        return {name: getattr(self, name) for name in type(self).model_fields if name in self.model_fields_set}

    @model_serializer
    def _as_written(self) -> str | dict[str, Any]:
        options = {name: _plain(value) for name, value in self.options().items()}
        return options if len(options) > 1 else self.type

    def as_text(self) -> str:
        """The same in a line: a name, or JSON."""
        written = self.model_dump()
        return written if isinstance(written, str) else json.dumps(written)

    def stand_in(self, vocab: Any) -> Code | None:
        """A code of the same size as the one that a text is needed for; None for heads without that."""
        return None

    @property
    def size(self) -> int:
        """N of a type such as hybrid-N, otherwise 0."""
        found = re.search("-([0-9]+)", self.type)
        return int(found[1]) if found else 0

    @property
    def base(self) -> str:
        """The type without error correction."""
        return self.type.removesuffix("-ec")

    @property
    def is_corrected(self) -> bool:
        """Whether an error-correcting code protects bits."""
        return self.type.endswith("-ec")

    @property
    def uses_embedding(self) -> bool:
        """Whether it is built on the decoder's word vectors."""
        return False

    @property
    def variant(self) -> str:
        """What is not as in the paper, in words; nothing if all is."""
        return ", ".join(self._peculiarities())

    def _peculiarities(self, *as_usual: str) -> list[str]:
        options = {name: value for name, value in self.options().items() if name not in ("type", *as_usual)}
        if self.is_apart:
            fields = type(self).model_fields
            options = {name: value for name, value in options.items() if value != fields[name].default}
        return [_in_label(name, value) for name, value in options.items() if value is not False]

    @property
    def label(self) -> str:
        """The name of the method in tables: the type and, in brackets, what is not as in the paper."""
        return f"{self.type} ({self.variant})" if self.variant else self.type

    @property
    def order(self) -> tuple[Any, ...]:
        """A key to sort by: families by size, then the same with error correction; variants follow their method."""
        return self.is_corrected or self.is_apart, self.families.index(type(self)), self.size, self.variant


AnyHeadSpec = Annotated[HeadSpec, BeforeValidator(HeadSpec.parse)]


def _as_code(code: Any) -> str | Path | Code:
    if isinstance(code, Mapping):
        is_file = set(code) == {"file"} and isinstance(code["file"], str | Path)
        return Path(code["file"]) if is_file else code_from_dict(code)
    if isinstance(code, Code | Path) or code in CODES:
        return code
    raise ValueError(f"expected one of {', '.join(CODES)}, got {code!r}")


AnyCode = Annotated[Any, BeforeValidator(_as_code)]


def _as_generators(generators: Any) -> tuple[str, ...] | str | None:
    if generators is None or generators == "complete":
        return generators
    if isinstance(generators, list | tuple) and all(isinstance(each, str) for each in generators):
        return tuple(generators)
    raise ValueError(f"expected a list of generators, such as ['101', '111'], or complete, got {brief(generators)}")


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


class SoftmaxSpec(CodedSpec):
    """A score for every word. Which loss trains it is no part of what it computes afterwards."""

    code: AnyCode = Field("frequency", description="of the code head that proposes words, as above")
    tied: bool = Field(False, strict=True, description="whether scores are products with the decoder's word vectors")
    loss: Literal["full", "sampled", "nce", "negative"] = Field(
        "full",
        description="full, −log P; or by the scores of drawn words alone: sampled, an estimate of −log P, nce, "
        "noise-contrastive estimation, or negative, negative sampling",
    )
    samples: int | None = Field(
        None,
        ge=1,
        strict=True,
        description="words to draw: 1024 for all tokens of a batch unless given, of the code 64 for each",
    )
    proposal: Literal["log-uniform", "code"] = Field(
        "log-uniform",
        description="which words are drawn: log-uniform, by their frequency alone, or code, by a small code head "
        "that learns beside",
    )
    memory: int | None = Field(
        None, ge=3, le=10, strict=True, description="of the complete trellis of that code head, 6 unless given"
    )

    forms = ("softmax",)

    @model_validator(mode="after")
    def _sampling_fits(self) -> Self:
        check_drawn(self, "samples", "proposal")
        for name in ("memory", "code", "seed"):
            if self.is_unusual(name) and not self.has_code:
                raise ValueError(f"{name}: is of the code that proposes words; add proposal: code, or leave it out")
        if self.has_code and self.loss == "negative":
            raise ValueError(
                "proposal: negative sampling learns how P differs from the proposal, and the code is to differ little; "
                "use log-uniform, or loss: nce"
            )
        return self

    @property
    def uses_embedding(self) -> bool:
        return self.tied

    @property
    def has_code(self) -> bool:
        return self.proposal == "code"

    @property
    def num_samples(self) -> int:
        return self.samples or (64 if self.proposal == "code" else SAMPLES)

    def _peculiarities(self, *as_usual: str) -> list[str]:
        return super()._peculiarities(*as_usual, *(["loss", "proposal"] if self.loss == "full" else []))


class CodeSpec(CodedSpec):
    """What all heads have that predict the bits of words."""

    loss: Literal["squared", "cross_entropy", "trellis"] | None = Field(
        None, description="squared, as in the paper, cross_entropy of the bits, or trellis: −log P"
    )
    decoding: Literal["exact", "paper"] = Field(
        "exact", description="exact, the most probable word, or paper, in which bits may spell no word, hence UNK"
    )
    generators: Annotated[Any, BeforeValidator(_as_generators)] = Field(
        None, description="of the error-correcting code: a list, or complete, every function of the newest bits"
    )
    memory: int | None = Field(
        None,
        ge=3,
        le=10,
        strict=True,
        description=f"of a complete trellis: how many earlier bits, {MEMORY} unless given",
    )
    mixtures: int = Field(1, ge=1, strict=True, description="sets of bits; their loss is trellis")
    hidden_layer: int | None = Field(None, ge=1, strict=True, description="the size of a layer before the bits, if any")

    @model_validator(mode="after")
    def _options_agree(self) -> Self:
        if self.generators is not None and not self.is_corrected:
            raise ValueError(f"generators: {self.type} has no error-correcting code; add -ec to its type")
        if self.memory is not None and not self.is_complete:
            raise ValueError("memory: is of a complete trellis; add generators: complete, or leave it out")
        if self.is_complete and self.loss not in (None, "trellis"):
            raise ValueError(f"loss: a complete trellis needs the loss 'trellis', got {self.loss!r}; leave it out")
        if self.is_complete and self.decoding == "paper":
            raise ValueError("decoding: the paper's is not defined for a complete trellis; use 'exact'")
        self.error_correction()
        if self.mixtures > 1 and self.loss not in (None, "trellis"):
            raise ValueError(
                f"loss: a mixture needs the loss 'trellis', got {self.loss!r}; leave it out, or set mixtures 1"
            )
        if self.mixtures > 1 and self.decoding == "paper":
            raise ValueError("decoding: the paper's is not defined for a mixture; use 'exact', or set mixtures 1")
        if self.mixtures > 1 and self.label_smoothing:
            raise ValueError(
                "label_smoothing: a mixture's mean over all words is not in its mean code word; set it to 0"
            )
        return self

    @property
    def is_complete(self) -> bool:
        """Whether bits are read by a complete trellis."""
        return self.generators == "complete"

    @property
    def can_renumber(self) -> bool:
        return self.loss_name == "trellis" and self.mixtures == 1 and self.code != "huffman"

    @property
    def loss_name(self) -> str:
        return self.loss or ("trellis" if self.is_complete or self.mixtures > 1 else "squared")

    def _peculiarities(self, *as_usual: str) -> list[str]:
        is_mixed = "mixtures" in self.model_fields_set
        has_the_papers_loss = self.loss in (None, "squared") and not is_mixed and not self.is_complete
        tells_no_loss = has_the_papers_loss or self.loss is None or self.is_complete
        trellis = ["complete", f"memory {self.memory or MEMORY}"] if self.is_complete else []
        told = ["decoding", *(["loss"] if tells_no_loss else []), *(["generators", "memory"] if trellis else [])]
        found = [*trellis, *super()._peculiarities(*told)]
        is_as_expected = self.decoding == ("paper" if has_the_papers_loss else "exact")
        return found if is_as_expected else [*found, f"{self.decoding} decoding"]

    def error_correction(self) -> ConvolutionalCode:
        """The code that adds redundant bits, or none."""
        if not self.is_corrected:
            return IdentityCode()
        if self.is_complete:
            return CompleteCode(self.memory or MEMORY)
        return ConvolutionalCode() if self.generators is None else ConvolutionalCode(self.generators)


class BinarySpec(CodeSpec):
    """Every word by its code alone."""

    forms = ("binary", "binary-ec")


class HybridSpec(CodeSpec):
    """A softmax over the N − 1 most frequent words and the marker OTHER; codes for the rest."""

    numbering: Literal["paper", "rare"] | None = Field(
        None,
        description="paper, the code spans the whole vocabulary, or rare, the rare words alone; unless given, paper "
        "for the frequency code and the paper's losses, rare otherwise",
    )
    softmax_weight: float = Field(1.0, ge=0, allow_inf_nan=False, description="λ_H, of the softmax's loss")
    bits_weight: float = Field(1.0, ge=0, allow_inf_nan=False, description="λ_B, of the bits' loss")

    forms = ("hybrid-N", "hybrid-N-ec")

    @model_validator(mode="after")
    def _numbering_fits(self) -> Self:
        by_frequency = self.code == "frequency" or isinstance(self.code, FrequencyCode)
        if self.numbering == "paper" and not by_frequency:
            raise ValueError("numbering: the paper's is for the frequency code; use rare, or leave it out")
        return self

    @property
    def can_renumber(self) -> bool:
        return super().can_renumber and self.numbering != "paper"

    @property
    def first_rare(self) -> int:
        """The first rare word's id, and the place of OTHER in the softmax."""
        return self.size - 1

    def _first_coded(self) -> int:
        as_paper = self.code == "frequency" and self.loss_name != "trellis"
        return 0 if (self.numbering or ("paper" if as_paper else "rare")) == "paper" else self.first_rare

    def build_code(self, vocab: Any, vectors: Any = None, order: Any = None) -> Code:
        if not 2 <= self.size < size_of(vocab):
            raise ValueError(
                f"type: N = {self.size} does not fit a vocabulary of {size_of(vocab)} words: "
                "it must be at least 2 and leave at least 2 rare words; choose a smaller N or plain softmax"
            )
        return super().build_code(vocab, vectors, order)

    def check_code(self, code: Code, vocab_size: int) -> Code:
        """A frequency code may also be one of the whole vocabulary, as in the paper."""
        spans_all = isinstance(code, FrequencyCode) and code.vocab_size == vocab_size and self.numbering != "rare"
        return code if spans_all else super().check_code(code, vocab_size)


class ShelvesSpec(CodedSpec):
    """The first bits of a word's code find a shelf of words, the decoder's word vectors one of them."""

    code: AnyCode = Field("clusters", description="which words share a shelf, as above, but no Huffman code")
    words: int = Field(64, ge=2, le=4096, strict=True, description="on a shelf, at most; a power of 2")
    visit: int = Field(16, ge=1, strict=True, description="how many of the most probable shelves share one softmax")
    memory: int = Field(7, ge=3, le=10, strict=True, description="of the complete trellis that finds shelves")
    shelf_weight: float = Field(1.0, ge=0, allow_inf_nan=False, description="of −log P(shelf) in the loss")
    label_smoothing: float = Field(
        0.0, ge=0, lt=1, description="the share of the loss that is the mean over all visited words, and all shelves"
    )

    forms, is_apart = ("shelves",), True

    @property
    def uses_embedding(self) -> bool:
        return True

    @model_validator(mode="after")
    def _words_fit(self) -> Self:
        if self.words & (self.words - 1):
            raise ValueError(f"words: expected a power of 2, such as 64, got {self.words}")
        return self

    def build_code(self, vocab: Any, vectors: Any = None, order: Any = None) -> Code:
        return self.check_code(super().build_code(vocab, vectors, order), size_of(vocab))

    def check_code(self, code: Code, vocab_size: int) -> Code:
        """Its numbers have no gaps, so that shelves are full."""
        if code.automaton is not None:
            raise ValueError(
                f"code: shelves need numbers without gaps, got {code}; use clusters, brown, frequency or random"
            )
        return super().check_code(code, vocab_size)

    def shelf_bits(self, num_bits: int) -> int:
        """How many of the B bits of a code find the shelf; there are at least two."""
        return max(1, num_bits - (self.words.bit_length() - 1))


def check_drawn(spec: Any, *names: str) -> None:
    """Raises ValueError if options of these names, which drawn words have, or label smoothing do not fit the loss."""
    for name in names:
        if spec.is_unusual(name) and spec.loss == "full":
            raise ValueError(f"{name}: is of a loss by drawn words; add loss: sampled, or leave it out")
    if spec.loss != "full" and spec.label_smoothing:
        raise ValueError(
            "label_smoothing: the mean over all words would take the scores of all; set it to 0, or loss to full"
        )


def size_of(vocab: Any) -> int:
    """V of a vocabulary, or of its size."""
    return vocab if isinstance(vocab, int) else len(vocab)


def _has_form(form: str, name: str) -> bool:
    return re.fullmatch(form.replace("N", f"[0-9]{{1,{MAX_DIGITS}}}"), name) is not None


def _suggestion(name: Any, *forms: str) -> str:
    """The name that is nearest to a misspelt one, if any is near, with its own N or the one that is usual."""
    number = re.search("[0-9]+", str(name))
    if number and len(number[0]) > MAX_DIGITS:
        return f"; its N has more than {MAX_DIGITS} digits"
    known = [form.replace("N", number[0] if number else "512") for form in forms]
    nearest = difflib.get_close_matches(str(name).lower().replace("_", "-"), known, 1)
    return f"; did you mean {nearest[0]!r}?" if nearest else ""


def _plain(value: Any) -> Any:
    """An option as JSON and YAML hold it."""
    if isinstance(value, Path):
        return {"file": str(value)}
    if isinstance(value, Code):
        return value.to_dict()
    return list(value) if isinstance(value, tuple) else value


def _in_label(name: str, value: Any) -> str:
    """An option as a label holds it: losses and codes by their own names, what is simply so by the option's."""
    name = name.replace("_", " ")
    if value is True:
        return name
    if isinstance(value, Path):  # whatever its name, it may hold any code
        return f"{name} {value.stem}"
    if isinstance(value, Code):
        value = value.kind
    elif isinstance(value, float):
        value = f"{value:g}"
    else:
        value = _plain(value)
    return value if name == "loss" or value in CODES else f"{name} {value}"
