"""The sizes of a network are checked before it is built."""

import json
import subprocess
import sys

import pytest

from trellex.nmt.settings import ModelSettings


def test_the_papers_are_the_default():
    settings = ModelSettings()
    assert (settings.embedding_size, settings.hidden_size, settings.dropout) == (512, 512, 0.3)
    assert (settings.type, settings.input_feeding) == ("lstm", False)


def test_settings_without_a_type_are_of_an_lstm():
    settings = ModelSettings(hidden_size=8)
    assert ModelSettings.model_validate(settings.model_dump(exclude={"type"})) == settings
    assert json.loads(settings.model_dump_json())["type"] == "lstm"


@pytest.mark.parametrize(
    "wrong", [{"hiden_size": 5}, {"hidden_size": 0}, {"dropout": 1.0}, {"dropout": -0.1}, {"type": "lstn"}], ids=str
)
def test_unknown_keys_and_impossible_sizes_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ModelSettings(**wrong)


def test_they_need_no_torch():
    script = "import sys; sys.modules['torch'] = None; import trellex.nmt.settings"
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0


class TestEmbeddings:
    def test_a_table_is_the_default_of_older_settings_too(self):
        assert ModelSettings().model_dump()["embeddings"] == {"type": "table"}
        assert ModelSettings.model_validate(ModelSettings().model_dump(exclude={"embeddings"})) == ModelSettings()

    def test_composed_ones_have_all_options(self):
        settings = ModelSettings(embeddings={"type": "composed", "residual": 16})
        written = {"type": "composed", "code": "clusters", "memory": 6, "residual": 16, "frequent": 0}
        assert settings.model_dump()["embeddings"] == written
        assert ModelSettings.model_validate_json(settings.model_dump_json()) == settings

    @pytest.mark.parametrize(
        ("wrong", "told"),
        [
            ({"type": "tabel"}, "embeddings.type: Input should be 'table' or 'composed', got 'tabel'"),
            ({"type": "composed", "residual": 0}, "embeddings.residual: .* greater than or equal to 1, got 0"),
            ({"type": "composed", "residual": "many"}, "embeddings.residual: .* integer, got 'many'"),
            ({"type": "composed", "residual": 512}, "embeddings.residual: expected less than embedding_size 512"),
            ({"type": "composed", "frequent": -1}, "embeddings.frequent: .* greater than or equal to 0, got -1"),
            ({"type": "composed", "memory": 11}, "embeddings.memory: .* less than or equal to 10, got 11"),
            ({"type": "composed", "code": "huffman"}, "embeddings.code: Input should be 'frequency', 'random' or"),
            ({"type": "composed", "memry": 3}, r"embeddings.memry: unknown key; did you mean 'memory'\?"),
            ({"residual": 3}, "embeddings: residual: is of composed vectors; add type: composed, or leave it out"),
        ],
        ids=str,
    )
    def test_errors_name_the_key(self, wrong, told):
        with pytest.raises(ValueError, match=f"^recipe: {told}"):
            ModelSettings.checked({"embeddings": wrong}, "recipe")
