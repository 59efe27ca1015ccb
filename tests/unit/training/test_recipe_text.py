"""The text of a recipe is that recipe, and tells what every key means."""

from pathlib import Path

import pytest
import yaml
from pydantic import Field

from trellex.records import Record
from trellex.training.recipe import Recipe, load_recipe
from trellex.training.recipe_text import recipe_text

ODD = ["a b/c", "yes", "12", "x: y", "a #b", "- c", "'q'", '"', "{d}", "é/日本", "new\nline", "~", "&a", "c\\d"]


@pytest.mark.parametrize("name", ODD)
def test_is_read_as_it_was(tmp_path, name):
    head, model = {"type": "hybrid-64-ec", "loss": "trellis"}, {"embeddings": {"type": "composed", "residual": 16}}
    recipe = Recipe(data=Path(name), output=Path(name, "run"), head=head, model=model, training={"learning_rate": 1e-5})
    path = tmp_path / "recipe.yaml"
    path.write_text(recipe_text(recipe, f"About {name}"), encoding="utf-8")
    assert load_recipe(path) == recipe


def test_every_key_has_its_description():
    lines = recipe_text(Recipe(data="data", output="run"), "About.\n\nMore.").splitlines()
    assert lines[:4] == ["# About.", "#", "# More.", ""]
    recipe = Recipe(data="data", output="run")
    for settings in (recipe.model, recipe.training):
        for key, field in type(settings).model_fields.items():
            (line,) = (line for line in lines if line.startswith(f"  {key}:"))
            assert line.endswith(f" # {field.description}")


def test_settings_of_any_depth(monkeypatch):
    class Inner(Record):
        rate: float = Field(0.5, description="how fast")

    class Outer(Record):
        inner: Inner = Field(Inner(), description="within")
        names: list[str] = Field(["a", "b"], description="a few")

    text = recipe_text(Outer(), "About.")
    assert yaml.safe_load(text) == Outer().model_dump()
    assert "  rate: 0.5                     # how fast\n" in text
