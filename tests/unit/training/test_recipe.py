"""A recipe is checked before anything starts, and its errors name the key, the file and the remedy."""

from pathlib import Path

import pytest

from trellex.training.recipe import Recipe, TrainingSettings, load_recipe


@pytest.fixture
def load(tmp_path):
    """Loads a recipe from its text."""

    def load(text, **replaced):
        path = tmp_path / "recipe.yaml"
        path.write_text(text, encoding="utf-8")
        return load_recipe(path, **replaced)

    return load


MINIMAL = "data: corpus\noutput: run\n"
LAUGHS = "".join(
    f"l{depth}: &l{depth} [{', '.join([f'*l{depth - 1}' if depth else 'ha'] * 9)}]\n" for depth in range(10)
)
SECTIONS, FALSE = ("head", "model", "training"), ("0", "''", "[]", "false", "0.0")


class TestLoad:
    def test_defaults_are_the_papers(self, load):
        recipe = load(MINIMAL)
        assert (recipe.data, recipe.output) == (Path("corpus"), Path("run"))
        assert (recipe.model.embedding_size, recipe.model.hidden_size, recipe.model.dropout) == (512, 512, 0.3)
        assert (recipe.training.batch_sentences, recipe.training.learning_rate) == (64, 0.001)
        assert recipe.training.validate_every == 1000

    def test_keys_are_read(self, load):
        recipe = load(MINIMAL + "head: {type: binary-ec, loss: trellis}\ntraining: {learning_rate: 1e-2}\n")
        assert recipe.head.model_dump() == {"type": "binary-ec", "loss": "trellis"}
        assert recipe.training.learning_rate == 0.01

    def test_options_replace_keys_and_leave_the_others(self, load):
        text = MINIMAL + "head: softmax\ntraining: {seed: 1, max_steps: 9, patience: 3}\n"
        recipe = load(text, head="binary", output=Path("other"), seed=5, max_steps=7)
        assert (recipe.head.model_dump(), recipe.output) == ("binary", Path("other"))
        assert (recipe.training.seed, recipe.training.max_steps, recipe.training.patience) == (5, 7, 3)
        assert load(MINIMAL + "training:\n", seed=5).training.seed == 5

    def test_a_head_in_place_of_the_recipes_may_be_a_mapping(self, load):
        text = MINIMAL + "head: {type: hybrid-64, bits_weight: 2.0}\n"
        head = {"type": "binary-ec", "loss": "trellis", "mixtures": 4}
        for given, expected in (
            ("{type: binary-ec, loss: trellis, mixtures: 4}", head),  # nothing of the old one
            (" binary-ec ", "binary-ec"),
            ("type: binary-ec\nloss: trellis\nmixtures: 4\n", head),
            (None, {"type": "hybrid-64", "bits_weight": 2.0}),
        ):
            assert load(text, head=given).head.model_dump() == expected

    def test_every_key_is_described(self):
        for model in (Recipe, TrainingSettings, Recipe.model_fields["model"].annotation):
            assert all(field.description for field in model.model_fields.values())

    def test_what_is_dumped_is_a_recipe(self, load):
        recipe = load(MINIMAL + "head: {type: hybrid-64, bits_weight: 2.0}\n")
        assert Recipe.model_validate(recipe.model_dump(mode="json")) == recipe


class TestIdentity:
    @pytest.mark.parametrize(
        ("changed", "differs"),
        [
            ({"head": "binary"}, ["head"]),
            ({"model": {"dropout": 0.5}}, ["model"]),
            ({"training": {"seed": 2}}, ["seed"]),
            ({"training": {"batch_sentences": None, "batch_tokens": 9}}, ["batch_sentences", "batch_tokens"]),
            ({"head": {"type": "shelves", "label_smoothing": 0.1}}, []),
            ({"training": {"learning_rate": 1e-4, "max_steps": 9, "decay_steps": 3, "validate_every": 5}}, []),
            ({"data": "elsewhere", "output": "there"}, []),
        ],
    )
    def test_what_a_run_cannot_change_on_its_way(self, changed, differs):
        ours, theirs = (Recipe(**{"data": "corpus", "output": "run"} | keys).identity() for keys in ({}, changed))
        assert [key for key in ours if ours[key] != theirs[key]] == differs


class TestErrors:
    @pytest.mark.parametrize(
        ("text", "parts"),
        [
            ("dta: corpus\noutput: run\n", ["dta: unknown key", "'data'", "data: Field required"]),
            (MINIMAL + "haed: softmax\n", ["haed: unknown key", "'head'"]),
            (
                MINIMAL + "training: {batch_sentence: 8}\n",
                ["training.batch_sentence: unknown key", "'batch_sentences'"],
            ),
            (MINIMAL + "model: {hiden_size: 8}\n", ["model.hiden_size: unknown key", "'hidden_size'"]),
            (MINIMAL + "zzz: 1\n", ["zzz: unknown key", "known: data, output, head, model, training"]),
            (MINIMAL + "training: {max_steps: many}\n", ["training.max_steps", "integer"]),
            (MINIMAL + "training: {max_steps: 0}\n", ["training.max_steps", "greater than or equal to 1"]),
            (MINIMAL + "training: {keep_checkpoints: 0}\n", ["training.keep_checkpoints"]),
            (MINIMAL + "training: {precision: float16}\n", ["training.precision", "'bfloat16'"]),
            (MINIMAL + "training: {device: gpu}\n", ["training.device", "'cuda'"]),
            (MINIMAL + "training: {batch_tokens: 100}\n", ["training: ", "batch_sentences and batch_tokens"]),
            (MINIMAL + "training: 3\n", ["training: "]),
            (MINIMAL + "model: {dropout: 1.0}\n", ["model.dropout", "less than 1"]),
            (MINIMAL + "head: 5\n", ["head: spec: expected a name or a mapping, got 5"]),
            (MINIMAL + "head: sofmax\n", ["head: type: expected softmax", "got 'sofmax'"]),
            (MINIMAL + "head: {type: binary, los: 1}\n", ["head: los: not an option of binary; did you mean 'loss'?"]),
            ("data: corpus\n", ["output: Field required"]),
            ("- data\n", ["expected keys and values, got list"]),
            ("", ["expected keys and values"]),
            ("data: [\n", ["not valid YAML"]),
            ("[" * 10_000, ["not valid YAML: nested too deeply"]),
            (MINIMAL + "model: " + "{a: " * 10_000, ["not valid YAML: nested too deeply"]),
            (MINIMAL + LAUGHS + "head: *l9\n", ["not valid YAML: too large with its aliases written out"]),
            (MINIMAL + "training: &t {seed: *t}\n", ["not valid YAML: too large with its aliases written out"]),
            (MINIMAL + "# " + "x" * (1 << 20), ["not valid YAML: has more than 1,048,576 bytes"]),
            (MINIMAL + "\0", ["not valid YAML: unacceptable character"]),
            (MINIMAL + "training: {seed: " + "9" * 5000 + "}", ["not valid YAML", "digits"]),
            (MINIMAL + "training: {seed: 2020-13-01}", ["not valid YAML", "month"]),
            (MINIMAL + "data: other\n", ["not valid YAML: the key 'data' is there twice in line 3"]),
            (MINIMAL + "training: {seed: 1, seed: 2}", ["not valid YAML: the key 'seed' is there twice"]),
            (MINIMAL + "training: {learning_rate: .inf}\n", ["training.learning_rate", "finite"]),
            *((MINIMAL + f"{key}: {value}\n", [f"{key}: "]) for key in SECTIONS for value in FALSE),
        ],
    )
    @pytest.mark.parametrize("changes", [{}, {"seed": 5}], ids=["", "changed"])
    def test_message_names_file_key_and_what_to_write(self, load, tmp_path, text, parts, changes):
        with pytest.raises(ValueError, match=r"recipe.yaml: ") as caught:
            load(text, **changes)
        message = str(caught.value)
        assert "\n" not in message
        assert message.startswith(f"{tmp_path / 'recipe.yaml'}: ")
        assert all(part in message for part in parts), message

    @pytest.mark.parametrize(
        "head",
        [
            *("{type: binary-ec", "type: a: b", "]", "{type: binary-ec, !!python/name:os.system }"),
            *("", "null", "5", "[binary-ec]"),
        ],
    )
    def test_a_head_that_is_neither_a_name_nor_a_mapping(self, load, head):
        with pytest.raises(ValueError, match="^head: ") as error:
            load(MINIMAL, head=head)
        example = "{type: binary-ec, loss: trellis}"
        assert str(error.value) == f"head: expected a name or a mapping, such as {example}, got {head!r}"

    def test_a_head_whose_keys_are_no_words(self, load):
        with pytest.raises(ValueError, match="head"):
            load(MINIMAL, head="{1: 2}")

    def test_a_section_with_nothing_in_it_is_all_defaults(self, load):
        assert load(MINIMAL + "model:\ntraining:\n") == load(MINIMAL)

    def test_aliases_and_merged_keys(self, load):
        text = "training: &t {seed: 4, max_steps: 9}\nmodel: {<<: &m {hidden_size: 3}, embedding_size: 5}\n"
        recipe = load(MINIMAL + text)
        assert (recipe.training.seed, recipe.model.hidden_size, recipe.model.embedding_size) == (4, 3, 5)

    def test_several_mistakes_are_told_at_once(self, load):
        with pytest.raises(ValueError, match=r"training.sed: unknown key.*; trainin: unknown key") as caught:
            load(MINIMAL + "trainin: {}\ntraining: {sed: 1}\n")
        assert "pydantic" not in str(caught.value)

    def test_bytes_that_are_no_text(self, tmp_path):
        (tmp_path / "recipe.yaml").write_bytes(b"data: \xff\n")
        with pytest.raises(ValueError, match="recipe.yaml: not valid YAML"):
            load_recipe(tmp_path / "recipe.yaml")

    def test_missing(self, tmp_path):
        for path in (tmp_path / "none.yaml", tmp_path):
            with pytest.raises(FileNotFoundError, match=f"{path}: there is no such recipe$"):
                load_recipe(path)

    def test_a_folder_that_has_it(self, tmp_path):
        (tmp_path / "recipe.yaml").touch()
        with pytest.raises(FileNotFoundError, match=f"it is a folder: give a file, such as {tmp_path}/recipe.yaml$"):
            load_recipe(tmp_path)
