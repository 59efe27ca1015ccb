"""What a training run shows."""

import io

import pytest
from rich.console import Console

from trellex.training.display import Display


def shown(display):
    """What a terminal would show now."""
    file = io.StringIO()
    Console(file=file, width=100).print(display.live.get_renderable())
    return file.getvalue()


@pytest.fixture
def display():
    display = Display("binary-ec")
    display.is_live = True
    display.start(0, 100, [])
    return display


class TestOnATerminal:
    def test_there_is_a_bar_from_the_beginning_on(self, display):
        assert "0/100" in shown(display)
        assert "nan" not in shown(display)
        display.update(50, {"loss": 4.5, "tokens_per_second": 1234.5})
        assert "50/100" in shown(display)
        assert "4.500" in shown(display)

    def test_it_is_full_in_the_end(self, display):
        display.end(100)
        assert "100/100" in shown(display)


class TestDoing:
    def test_the_bar_tells_what_keeps_it_from_going_on(self, display):
        with display.doing("words exchange their numbers"):
            assert "binary-ec: words exchange their numbers" in shown(display)
        assert shown(display).startswith("binary-ec ")

    def test_and_no_longer_once_that_has_failed(self, display):
        with pytest.raises(RuntimeError), display.doing("translating dev and test"):
            raise RuntimeError
        assert "translating" not in shown(display)

    def test_nothing_is_printed_where_there_is_no_terminal(self, capsys):
        with Display("binary-ec") as display, display.doing("translating dev and test"):
            pass
        assert capsys.readouterr().err == ""
