"""Any key of a recipe can be replaced, and a mistyped one is told with the nearest."""

import pytest

from trellex.training.changes import parse_changes
from trellex.training.recipe import load_recipe

RECIPE = """
data: corpus
output: run
head: binary-ec
training: {seed: 3, decay_steps: 9, warmup_steps: 2}
"""


@pytest.fixture
def load(tmp_path):
    """Loads the recipe with lines as they stand behind --set."""

    def load(*lines, text=RECIPE, **named):
        path = tmp_path / "recipe.yaml"
        path.write_text(text, encoding="utf-8")
        return load_recipe(path, parse_changes(lines), **named)

    return load


class TestValues:
    def test_are_yaml(self):
        lines = ("a=0.5", "b=null", "c={type: binary}", "d=x=y", "e=", "f=true", "g=[1, 2]", "h.i=word")
        expected = {"a": 0.5, "b": None, "c": {"type": "binary"}, "d": "x=y", "e": None, "f": True, "g": [1, 2]}
        assert parse_changes(lines) == {**expected, "h.i": "word"}

    def test_replace_those_of_sections_and_leave_the_others(self, load):
        recipe = load("training.learning_rate=1e-2", "training.decay_steps=null", "model.hidden_size=7", "data=other")
        training = recipe.training
        assert (training.learning_rate, training.decay_steps, training.seed, training.warmup_steps) == (
            0.01,
            None,
            3,
            2,
        )
        assert (recipe.model.hidden_size, recipe.model.embedding_size, str(recipe.data)) == (7, 512, "other")

    def test_of_a_section_that_the_recipe_leaves_empty_or_out(self, load):
        for text in ("data: a\noutput: b\n", "data: a\noutput: b\ntraining:\n"):
            assert load("training.seed=5", text=text).training.seed == 5

    def test_a_section_as_a_whole(self, load):
        training = load("training={seed: 8}").training
        assert (training.seed, training.warmup_steps) == (8, 0)

    def test_a_section_as_a_whole_undoes_no_key_that_is_set_before_it(self, load):
        recipe = load("head.loss=trellis", "training.warmup_steps=7", "head=binary", "training={seed: 8}")
        assert recipe.head.model_dump() == {"type": "binary", "loss": "trellis"}
        assert (recipe.training.seed, recipe.training.warmup_steps) == (8, 7)

    def test_of_a_section_within_a_section(self, load):
        lines = ("model.embeddings.residual=9", "model.hidden_size=7", "model.embeddings.type=composed")
        for text in (RECIPE, RECIPE + "model: {embeddings: {type: table}}\n"):
            model = load(*lines, text=text).model
            assert (model.hidden_size, model.embeddings.type, model.embeddings.residual) == (7, "composed", 9)
        whole = load("model.embeddings={type: composed, memory: 3}").model.embeddings
        assert (whole.memory, whole.residual) == (3, 32)

    def test_options_of_the_head(self, load):
        assert load("head.loss=trellis").head.model_dump() == {"type": "binary-ec", "loss": "trellis"}
        assert load("head=softmax").head.model_dump() == "softmax"
        both = load("head.mixtures=2", "head.loss=trellis", head="hybrid-9-ec").head.model_dump()
        assert both == {"type": "hybrid-9-ec", "mixtures": 2, "loss": "trellis"}
        mapping = RECIPE.replace("binary-ec", "{type: binary-ec, mixtures: 2}")
        assert load("head.type=binary", text=mapping).head.model_dump() == {"type": "binary", "mixtures": 2}

    def test_programs_give_values(self, tmp_path):
        (tmp_path / "recipe.yaml").write_text(RECIPE)
        recipe = load_recipe(tmp_path / "recipe.yaml", {"training.learning_rate": 0.5, "output": tmp_path}, seed=4)
        assert (recipe.training.learning_rate, recipe.training.seed, recipe.output) == (0.5, 4, tmp_path)


class TestErrors:
    @pytest.mark.parametrize(
        ("key", "nearest"),
        [
            ("training.lerning_rate", "training.learning_rate"),
            ("learning_rate", "training.learning_rate"),
            ("seed", "training.seed"),
            ("trainin.seed", "training.seed"),
            ("model.hiden_size", "model.hidden_size"),
            ("haed", "head"),
            ("model.embeddings.typ", "model.embeddings.type"),
        ],
    )
    def test_a_mistyped_key_is_told_with_the_nearest(self, load, key, nearest):
        with pytest.raises(ValueError, match="unknown key") as caught:
            load(f"{key}=1")
        assert str(caught.value) == f"{key}: unknown key; did you mean {nearest!r}?"

    @pytest.mark.parametrize("key", ["training.seed.x", "head.", ".", "training.", "head.code.file.name"])
    def test_a_key_of_no_section(self, load, key):
        with pytest.raises(ValueError, match="unknown key"):
            load(f"{key}=1")

    def test_a_key_like_no_other(self, load):
        with pytest.raises(ValueError, match=r"^qqq: unknown key; known: data, output, head, model, model.type, .*"):
            load("qqq=1")

    def test_a_mistyped_option_of_the_head(self, load):
        with pytest.raises(ValueError, match=r"head: los: not an option of binary-ec; did you mean 'loss'\?"):
            load("head.los=trellis")

    @pytest.mark.parametrize("line", ["training.seed", "", "=5", "training.seed: 5"])
    def test_no_value(self, line):
        with pytest.raises(ValueError, match=r"^set: expected key=value, such as training.learning_rate=0.002, got "):
            parse_changes([line])

    def test_no_yaml(self):
        with pytest.raises(ValueError, match=r"^head: expected a value in YAML, got '\{type: binary'$"):
            parse_changes(["head={type: binary"])

    def test_a_wrong_value(self, load):
        with pytest.raises(ValueError, match=r"recipe.yaml: training.max_steps: .*integer.*got 'many'"):
            load("training.max_steps=many")
        with pytest.raises(ValueError, match=r"recipe.yaml: training: "):
            load("training.seed=1", text=RECIPE[: RECIPE.index("training")] + "training: 3\n")

    def test_twice(self, load):
        with pytest.raises(ValueError, match=r"^training.seed: was set twice"):
            load("training.seed=1", "training.seed=2")
        with pytest.raises(ValueError, match=r"^training.seed: was set twice"):
            load("training.seed=1", seed=2)
