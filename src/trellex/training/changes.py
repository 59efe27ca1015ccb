"""Changes: values in place of a recipe's, by key, such as training.learning_rate."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from trellex.records import nearest_of
from trellex.training.yaml_data import parse_yaml

FREE = "head"  # its keys depend on its type, so that they are checked with it
DEEPEST = 2  # dots in such a key, as in head.code.file


def parse_changes(texts: Iterable[str]) -> dict[str, Any]:
    """Values by key of lines such as training.learning_rate=0.002; they are YAML."""
    changes: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (key and equals):
            raise ValueError(f"set: expected key=value, such as training.learning_rate=0.002, got {text!r}")
        if key in changes:
            raise ValueError(f"{key}: was set twice; give one value")
        try:
            changes[key] = parse_yaml(value)
        except ValueError:
            raise ValueError(f"{key}: expected a value in YAML, got {value!r}") from None
    return changes


def apply_changes(data: dict[str, Any], changes: Mapping[str, Any], model: type[BaseModel]) -> None:
    """Put values into data of a model, whole sections first. Raises ValueError that names the nearest known key."""
    known = _keys(model)
    for key, value in sorted(changes.items(), key=lambda change: change[0].count(".")):
        section, _, name = key.partition(".")
        if key not in known and not (section == FREE and name and key.count(".") <= DEEPEST):
            raise ValueError(f"{key}: unknown key; {_nearest(key, known)}")
        if section == FREE and isinstance(data.get(FREE), str) and name:
            data[FREE] = {"type": data[FREE]}
        _put(data, key, value)


def _nearest(key: str, known: Sequence[str]) -> str:
    """Advice for an unknown key: one that is written nearly so or, whatever its section is, has nearly its name."""
    if alike := difflib.get_close_matches(key, known, 1, cutoff=0.85):
        return f"did you mean {alike[0]!r}?"
    by_name: dict[str, str] = {}
    for each in known:
        name = each.rpartition(".")[2]
        by_name[each if name in by_name else name] = each
    return nearest_of(key.rpartition(".")[2], by_name)


def _put(data: dict[str, Any], key: str, value: Any) -> None:
    """Put a value into data, or into a section of it."""
    section, dot, name = key.partition(".")
    if not dot:
        data[key] = value
        return
    inside = data.get(section)
    inside = {} if inside is None else inside
    if isinstance(inside, dict):  # else it is a mistake, which is found when the data is checked
        data[section] = dict(inside)
        _put(data[section], name, value)


def _keys(model: type[BaseModel], prefix: str = "") -> list[str]:
    """All keys of a model, those of its sections after a dot."""
    keys = []
    for name, field in model.model_fields.items():
        keys.append(prefix + name)
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel) and name != FREE:
            keys += _keys(field.annotation, f"{prefix}{name}.")
    return keys
