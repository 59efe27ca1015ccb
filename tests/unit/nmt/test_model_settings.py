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
