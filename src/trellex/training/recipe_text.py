"""The text of a recipe: YAML in which every key has a comment, as in the recipes that come with Trellex."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml
from pydantic import BaseModel

from trellex.heads.spec import HeadSpec
from trellex.nmt.settings import EmbeddingSettings
from trellex.training.recipe import Recipe

COMMENTS_AT = 32  # the column


def recipe_text(recipe: Recipe, introduction: str) -> str:
    """All keys of a recipe with what they mean, after an introduction that stands in comments."""
    comments = [f"# {line}".rstrip() for line in introduction.splitlines()]
    return "\n".join([*comments, "", *_lines(recipe, "")]) + "\n"


def _lines(settings: BaseModel, indent: str) -> Iterator[str]:
    """A line a key; of settings within settings a section."""
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        if isinstance(value, BaseModel) and not isinstance(value, HeadSpec | EmbeddingSettings):
            yield ""
            yield f"{indent}{name}:"
            yield from _lines(value, indent + "  ")
        else:
            written = f"{indent}{name}: {_yaml(settings.model_dump(mode='json')[name])}"
            yield f"{written:<{COMMENTS_AT - 1}} # {field.description}"


def _yaml(value: Any) -> str:
    """A value in one line."""
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=float("inf"))
    return text.removesuffix("...\n").strip()
