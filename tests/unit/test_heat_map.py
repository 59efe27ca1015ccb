"""Pictures of attention: what SVG holds, what PNG refuses, and how many are drawn."""

import sys
from xml.etree import ElementTree

import numpy as np
import pytest

from trellex.heat_map import CELL, MAX_PICTURES, MAX_WORDS, HeatMaps, as_svg, save_heat_map

SOURCE, TARGET = ["a", "<b>", "&\uffff"], ["駅", "どこ"]
SHARES = np.array([[0.25, 0.75, 0.0], [0.0, 0.0, 1.0]])
NAMES = {"s": "http://www.w3.org/2000/svg"}


def cells(svg):
    """Of every cell, row by row: where it is, its colour and what it tells."""
    return [
        (int(rect.get("x")), int(rect.get("y")), rect.get("fill"), rect.find("s:title", NAMES).text)
        for rect in svg.findall("s:rect", NAMES)
        if rect.find("s:title", NAMES) is not None
    ]


class TestSvg:
    @pytest.fixture
    def svg(self):
        return ElementTree.fromstring(as_svg(SOURCE, TARGET, SHARES))

    def test_words_are_text(self, svg):
        assert [text.text for text in svg.findall("s:text", NAMES)] == ["a", "<b>", "&\ufffd", "駅", "どこ"]

    def test_a_cell_for_every_pair_of_words(self, svg):
        found = cells(svg)
        left, top = found[0][:2]
        places = [(left + CELL * column, top + CELL * row) for row in range(2) for column in range(3)]
        assert [cell[:2] for cell in found] == places
        assert int(svg.get("width")) >= left + 3 * CELL
        assert int(svg.get("height")) >= top + 2 * CELL

    def test_the_more_a_word_counts_the_darker(self, svg):
        colours = [int(cell[2][1:], 16) for cell in cells(svg)]
        assert np.array_equal(np.argsort(colours, kind="stable"), np.argsort(-SHARES.ravel(), kind="stable"))
        assert colours[2] == 0xFFFFFF

    def test_cells_tell_their_share(self, svg):
        assert cells(svg)[1][3] == "<b> → 駅: 75.0%"

    def test_long_words_have_room(self):
        drawn = [as_svg(["a"], [word], SHARES[:1, :1]) for word in ("駅", "駅" * 9)]
        widths = [ElementTree.fromstring(svg).get("width") for svg in drawn]
        assert int(widths[1]) - int(widths[0]) >= 8 * 14


class TestPng:
    def test_is_a_picture(self, tmp_path):
        pytest.importorskip("matplotlib")
        save_heat_map(tmp_path / "a.png", ["one", "$2$", "."], ["un", "deux"], SHARES)
        assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")

    def test_a_word_without_a_font_is_refused_and_not_drawn_as_boxes(self, tmp_path, monkeypatch):
        font_manager = pytest.importorskip("matplotlib.font_manager")
        shipped = [font for font in font_manager.fontManager.ttflist if "mpl-data" in font.fname]
        monkeypatch.setattr(font_manager.fontManager, "ttflist", shipped)
        with pytest.raises(ValueError, match="no installed font has all of こど駅; save .svg"):
            save_heat_map(tmp_path / "a.png", ["one", "two", "three"], TARGET, SHARES)
        assert list(tmp_path.iterdir()) == []

    def test_without_matplotlib(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        with pytest.raises(ImportError, match=r"pip install 'trellex\[report\]', or save .svg"):
            HeatMaps(tmp_path / "a.png")
        HeatMaps(tmp_path / "a.svg").add(1, SOURCE, TARGET, SHARES)
        assert (tmp_path / "a.svg").exists()


class TestHeatMaps:
    def test_a_file_holds_the_first_line(self, tmp_path):
        maps = HeatMaps(tmp_path / "a.svg")
        maps.add(3, SOURCE, TARGET, SHARES)
        maps.add(4, ["other"], ["words"], np.ones((1, 1)))
        assert (tmp_path / "a.svg").read_text(encoding="utf-8") == as_svg(SOURCE, TARGET, SHARES)
        assert maps.left_out == 1

    def test_a_folder_holds_the_first_lines(self, tmp_path):
        maps = HeatMaps(tmp_path / "new" / "folder")
        for number in range(5, 5 + MAX_PICTURES + 2):
            maps.add(number, SOURCE, TARGET, SHARES)
        names = sorted(path.name for path in (tmp_path / "new" / "folder").iterdir())
        assert names == [f"line-{number:04}.svg" for number in range(5, 5 + MAX_PICTURES)]
        assert maps.left_out == 2

    def test_what_nobody_could_see_is_left_out(self, tmp_path):
        maps = HeatMaps(tmp_path / "a.svg")
        maps.add(1, ["w"] * (MAX_WORDS + 1), ["t"], np.ones((1, MAX_WORDS + 1)))
        assert (maps.left_out, list(tmp_path.iterdir())) == (1, [])

    def test_a_line_that_became_nothing_has_none(self, tmp_path):
        maps = HeatMaps(tmp_path / "a.svg")
        maps.add(1, SOURCE, [], np.zeros((0, 3)))
        assert (maps.left_out, list(tmp_path.iterdir())) == (0, [])

    @pytest.mark.parametrize("name", ["a.jpg", "a.pdf", "a.PNG"])
    def test_other_pictures_are_not_taken_for_folders(self, tmp_path, name):
        with pytest.raises(ValueError, match=f"{name}: pictures end in .svg or .png"):
            HeatMaps(tmp_path / name)

    @pytest.mark.parametrize(("name", "problem"), [("a.svg", "there is no folder"), ("a", "is a file, not a folder")])
    def test_that_it_cannot_be_written_is_told_before_lines_come(self, tmp_path, name, problem):
        (tmp_path / "text").write_text("mine")
        with pytest.raises(OSError, match=problem):
            HeatMaps(tmp_path / "text" / name)

    def test_a_file_in_the_place_of_a_folder(self, tmp_path):
        (tmp_path / "text").write_text("mine")
        with pytest.raises(NotADirectoryError, match="text: is a file; name a folder, or a picture that ends in"):
            HeatMaps(tmp_path / "text")

    @pytest.mark.parametrize("name", ["a.pdf", "a.SVG"])
    def test_pictures_of_other_kinds_are_no_folders(self, tmp_path, name):
        with pytest.raises(ValueError, match=f"{name}: pictures end in .svg or .png"):
            HeatMaps(tmp_path / name)
        (tmp_path / "run.2").mkdir()
        HeatMaps(tmp_path / "run.2").add(1, SOURCE, TARGET, SHARES)
        assert (tmp_path / "run.2" / "line-0001.svg").exists()

    def test_a_place_that_is_not_there_is_told_before_any_work(self, tmp_path):
        (tmp_path / "text").write_text("mine")
        with pytest.raises(FileNotFoundError, match="there is no folder .*none; make it first"):
            HeatMaps(tmp_path / "none" / "a.svg")
        with pytest.raises(NotADirectoryError, match="text: is a file, not a folder"):
            HeatMaps(tmp_path / "text" / "folder")
