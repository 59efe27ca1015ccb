"""Records: settings and facts that are checked when they are read, and what users read if they are wrong."""

from __future__ import annotations

import difflib
import hashlib
import json
import reprlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self, get_args

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from trellex.files import atomic_writer, denied
from trellex.packed import open_unpacked

MAX_JSON = 1 << 26  # bytes of a file
SEAL = "checksum"  # of all else in a file


class Record(BaseModel):
    """Values by name, of known types. A name that is not known is an error."""

    model_config = ConfigDict(extra="forbid")

    @classmethod
    def checked(cls, data: Any, where: Path | str) -> Self:
        """A record of what was read. Raises ValueError that begins with `where` and tells all problems."""
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise ValueError(f"{where}: {'; '.join(problems(error, cls))}") from None

    @classmethod
    def load_json(cls, path: Path, what: str, remedy: str) -> Self:
        """Read a file. Raises ValueError that names it, the first problem and the remedy if it is not `what`.

        Raises PermissionError that names it if this user may not read it.
        """
        try:
            return cls.model_validate_json(read_bounded(path, MAX_JSON))
        except (OSError, ValueError) as error:
            raise _unlike(path, what, remedy, error, cls) from error

    def save_json(self, path: Path, indent: int | None = None) -> None:
        """Write a file that `load_json` reads, whole or not at all."""
        with atomic_writer(path) as file:
            file.write(self.model_dump_json(indent=indent) + "\n")


class Sealed(Record):
    """A record whose file has a checksum of all else in it, unless an older version wrote it."""

    @model_validator(mode="before")
    @classmethod
    def _is_as_saved(cls, data: Any) -> Any:
        if not isinstance(data, dict) or SEAL not in data:
            return data
        told = {name: value for name, value in data.items() if name != SEAL}
        if data != sealed(told):
            raise ValueError("damaged, its checksum differs")
        return told

    def save_json(self, path: Path, indent: int | None = None) -> None:
        """Write a file that `load_json` reads, with its checksum, whole or not at all."""
        with atomic_writer(path) as file:
            file.write(json.dumps(sealed(self.model_dump(mode="json")), indent=indent, ensure_ascii=False) + "\n")


def sealed(told: dict[str, Any]) -> dict[str, Any]:
    """Data for JSON with its checksum, which does not depend on spaces and the order of keys."""
    return {**told, SEAL: hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()}


def read_json(path: Path, what: str, remedy: str) -> Any:
    """The data of a file. Raises as `Record.load_json` does if it is no JSON."""
    try:
        return json.loads(read_bounded(path, MAX_JSON))
    except (OSError, ValueError, RecursionError) as error:
        raise _unlike(path, what, remedy, error) from error


def read_bounded(path: Path, max_bytes: int) -> bytes:
    """A whole file, unpacked. Raises ValueError, before more memory is taken, if it has more bytes than that."""
    if path.exists() and not path.is_file():
        raise ValueError("not a file")
    data = bytearray()
    with open_unpacked(path) as (read, _):
        while piece := read(max_bytes + 1 - len(data)):
            data += piece
            if len(data) > max_bytes:
                raise ValueError(f"has more than {max_bytes:,} bytes")
    return bytes(data)


def _unlike(path: Path, what: str, remedy: str, error: Exception, model: type[BaseModel] | None = None) -> Exception:
    """The error for a file that is not what it should be."""
    if isinstance(error, PermissionError):
        return denied(path)
    if isinstance(error, RecursionError):
        problem = "nested too deeply"
    elif isinstance(error, ValidationError):
        problem = problems(error, model)[0]
    else:
        problem = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return ValueError(f"{path}: not {what} ({problem}); {remedy}")


def problems(error: ValidationError, model: type[BaseModel] | None = None, unknown: str = "unknown key") -> list[str]:
    """What is wrong, each with its place, such as training.seed; an unknown key with the nearest that `model` has."""
    lines = []
    for problem in error.errors():
        if problem["type"] == "default_factory_not_called":
            continue  # a default that depends on a value which is wrong itself
        message = problem["msg"].removeprefix("Value error, ")
        if message.startswith("Input should be") and isinstance(problem["input"], str | int | float | None):
            message += f", got {problem['input']!r}"
        if model is not None and problem["type"] == "extra_forbidden":
            *parents, key = problem["loc"]
            known = _part(model, parents).model_fields
            message = f"{unknown}; {nearest_of(str(key), {name: name for name in known})}"
        lines.append(": ".join(filter(None, (".".join(map(str, problem["loc"])), message))))
    return lines


def brief(value: Any) -> str:
    """A value as it is written, or the beginning of that."""
    return repr(value) if isinstance(value, str) and len(value) < 100 else reprlib.repr(value)


def nearest_of(word: str, known: Mapping[str, str]) -> str:
    """The advice after an unknown word: the nearest of those that are known, by what it is called; or all."""
    nearest = difflib.get_close_matches(word, known, 1, cutoff=0.4)
    return f"did you mean {known[nearest[0]]!r}?" if nearest else f"known: {', '.join(known.values())}"


def _part(model: type[BaseModel], place: list[int | str]) -> type[BaseModel]:
    """The model of what stands at a place in data of a model."""
    for name in place:
        if name in model.model_fields:  # else it is a place in a list or a key of a mapping
            annotation = model.model_fields[str(name)].annotation
            kinds = (kind for kind in (annotation, *get_args(annotation)) if isinstance(kind, type))
            model = next((kind for kind in kinds if issubclass(kind, BaseModel)), model)
    return model
