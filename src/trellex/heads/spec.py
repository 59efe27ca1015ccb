"""What an output layer is, without computing it: its type and options, as recipes, models and results hold them.

Every family of heads is described in a file beside this one; a subclass of `HeadSpec` with forms of its name is known
from then on.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, ConfigDict, Field, ValidationError, model_serializer

from trellex.codes import Code
from trellex.records import Record, brief, problems

CODES = ("frequency", "random", "huffman", "clusters", "brown")
MAX_DIGITS = 18  # of N in a type such as hybrid-N


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
