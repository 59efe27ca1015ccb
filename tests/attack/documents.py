"""Documents: JSON and YAML, alone or at the head of a file of tensors, with one of their values changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

SUFFIXES = (".json", ".jsonl", ".yaml", ".safetensors")
VALUES = {  # what may stand in place of a value, by name; JSON, or nearly
    "null": "null",
    "true": "true",
    "empty text": '""',
    "empty list": "[]",
    "empty mapping": "{}",
    "minus one": "-1",
    "zero": "0",
    "one": "1",
    "a half": "0.5",
    "beyond floats": "1e400",
    "beyond floats, below": "-1e400",
    "NaN": "NaN",
    "beyond int64": str(2**63),
    "a million": "1000000",
    "a billion": "1000000000",
    "a quintillion": "1000000000000000000",
    "400 digits": "1" + "0" * 400,
    "5000 digits": "1" + "0" * 5000,
    "text": '"x"',
    "a list": "[1, 2]",
    "a mapping": '{"x": 1}',
    "a rather deep list": "[" * 150 + "]" * 150,
    "a deep list": "[" * 20_000 + "]" * 20_000,
    "a deep mapping": '{"x":' * 20_000 + "1" + "}" * 20_000,
    "a long text": '"' + "x" * 20_000 + '"',
    "a place above": '"../x"',
    "a device": '"/dev/zero"',
    "a null byte": '"x\\u0000"',
    "half a character": '"\\ud800"',
}
_HOLE = "\ue000"  # stands where a raw value goes


def set_value(name: str, content: bytes, path: list[Any], value: str) -> bytes:
    document, write = _open(name, content)
    if not path:
        return write(_HOLE, VALUES[value])
    _at(document, path[:-1])[path[-1]] = _HOLE
    return write(document, VALUES[value])


def add_value(name: str, content: bytes, path: list[Any], value: str) -> bytes:
    """A key or an entry more in what stands at a path, or beside it."""
    document, write = _open(name, content)
    part = _at(document, path)
    part = part if isinstance(part, dict | list) else _at(document, path[:-1])
    if isinstance(part, list):
        part.append(_HOLE)
    elif isinstance(part, dict):
        part["more"] = _HOLE
    return write(document, VALUES[value])


def drop_value(name: str, content: bytes, path: list[Any]) -> bytes:
    document, write = _open(name, content)
    if path:
        del _at(document, path[:-1])[path[-1]]
    return write(document if path else {}, "")


def nudge_value(name: str, content: bytes, path: list[Any]) -> bytes:
    """Another value of the same type."""
    document, write = _open(name, content)
    if path:
        parent = _at(document, path[:-1])
        value = parent[path[-1]]
        if isinstance(value, bool):
            parent[path[-1]] = not value
        elif isinstance(value, int | float):
            parent[path[-1]] = value + 1
        elif isinstance(value, str | list):
            parent[path[-1]] = value[::-1]
    return write(document, "")


def _open(name: str, content: bytes) -> tuple[Any, Callable[[Any, str], bytes]]:
    """What a document holds, and a function that writes it with raw text where the hole is."""

    def text(document: Any, raw: str) -> bytes:
        return json.dumps(document).replace(json.dumps(_HOLE), raw).encode()

    kind = Path(name).suffix
    if kind == ".yaml":
        return yaml.safe_load(content), text
    if kind == ".jsonl":
        lines = [json.loads(line) for line in content.splitlines()]
        return lines, lambda document, raw: b"\n".join(text(line, raw) for line in document) + b"\n"
    if kind == ".safetensors":
        end = 8 + int.from_bytes(content[:8], "little")
        header = json.loads(content[8:end])
        return (
            header,
            lambda document, raw: len(text(document, raw)).to_bytes(8, "little") + text(document, raw) + content[end:],
        )
    return json.loads(content), text


def _at(document: Any, path: list[Any]) -> Any:
    for key in path:
        document = document[key]
    return document


def paths(name: str, content: bytes) -> list[list[Any]]:
    """The paths of all values of a document, none if it is damaged already; of long lists their ends."""
    try:
        document, write = _open(name, content)
        write(document, "")
        return list(_paths(document))
    except (ValueError, TypeError, yaml.YAMLError, RecursionError, OverflowError):
        return []


def _paths(part: Any) -> Iterator[list[Any]]:
    yield []
    if isinstance(part, dict):
        items: list[Any] = list(part.items())
    else:
        items = list(enumerate(part)) if isinstance(part, list) else []
    for key, value in items if len(items) <= 100 else items[:3] + items[-3:]:
        yield from ([key, *path] for path in _paths(value))
