"""What a training run shows."""

import io

import pytest
from rich.console import Console

from trellex.training.display import Display


def shown(display):
    file = io.StringIO()
    Console(file=file, width=100).print(display.progress)
    return file.getvalue()


class TestDoing:
    def test_the_bar_tells_what_keeps_it_from_going_on(self):
        display = Display("binary-ec")
        with display.doing("words exchange their numbers"):
            assert "binary-ec: words exchange their numbers" in shown(display)
        assert shown(display).startswith("binary-ec ")

    def test_and_no_longer_once_that_has_failed(self):
        display = Display("binary-ec")
        with pytest.raises(RuntimeError), display.doing("translating dev and test"):
            raise RuntimeError
        assert "translating" not in shown(display)

    def test_nothing_is_printed_where_there_is_no_terminal(self, capsys):
        with Display("binary-ec") as display, display.doing("translating dev and test"):
            pass
        assert capsys.readouterr().err == ""
