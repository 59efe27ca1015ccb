"""The recipes that come with the project are valid, and every key of theirs has a comment."""

from pathlib import Path

import pytest

from trellex.training.recipe import Recipe, load_recipe

RECIPES = sorted((Path(__file__).parents[3] / "recipes").glob("*.yaml"))


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_shipped_recipes(path):
    load_recipe(path)
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    for line in lines:
        assert "#" in line or line in ("model:", "training:"), line
    keys = {line.split(":")[0].strip() for line in lines}
    sections = (Recipe, Recipe.model_fields["model"].annotation, Recipe.model_fields["training"].annotation)
    assert keys == {key for section in sections for key in section.model_fields}


def test_they_are_found_by_name_where_there_are_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert load_recipe(Path("recipes/phrasebook.yaml")) == load_recipe(RECIPES[0].with_name("phrasebook.yaml"))
    with pytest.raises(FileNotFoundError, match=r"^recipes/unknown\.yaml: there is no such recipe"):
        load_recipe(Path("recipes/unknown.yaml"))
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes" / "phrasebook.yaml").write_text("data: mine\noutput: run\n", encoding="utf-8")
    assert load_recipe(Path("recipes/phrasebook.yaml")).data == Path("mine")
