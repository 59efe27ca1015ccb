"""Figures: the formats, what is drawn, and the styles of methods."""

import io
import xml.etree.ElementTree as ElementTree

import pytest
from matplotlib import image
from matplotlib.figure import Figure
from matplotlib.text import Text
from synthetic import METHODS, all_results, as_in_the_paper, make_result, save_all

from trellex.heads.spec import HeadSpec
from trellex.report import figures
from trellex.report.annotations import Point, annotate_points
from trellex.report.figures import draw
from trellex.report.result_set import ResultSet
from trellex.report.styles import method_styles

PLOTS = (figures.curves, figures.hybrid_sizes, figures.output_size, figures.frequency_bands)
STYLES = method_styles({name: HeadSpec.parse(as_in_the_paper(name)) for name in METHODS})


@pytest.fixture(scope="module")
def direction(tmp_path_factory):
    results = [result for result in all_results(sentences=50) if result.cell.corpus == "KFTT"]
    results.append(make_result(head="binary", bleu=13.78, seed=2, sentences=50))
    return ResultSet.load(save_all(results, tmp_path_factory.mktemp("figures"))).corpora[0].directions[0]


class TestFiles:
    @pytest.mark.parametrize("plot", PLOTS)
    def test_are_valid_and_the_same_again(self, direction, plot):
        picture = draw(plot, direction, STYLES)
        assert picture == draw(plot, direction, STYLES)
        assert ElementTree.fromstring(picture.svg).tag == "{http://www.w3.org/2000/svg}svg"
        pixels = image.imread(io.BytesIO(picture.png))
        assert pixels.shape[1] > 1000
        assert pixels[..., :3].min() < 0.2
        assert "KFTT en-ja" in picture.svg.decode()

    @pytest.mark.parametrize("plot", PLOTS)
    def test_tell_neither_when_nor_by_what_they_were_made(self, direction, plot):
        picture = draw(plot, direction, STYLES)
        for data in (picture.svg, picture.png):
            assert b"atplotlib v" not in data
            assert b"Matplotlib" not in data
            assert b"dc:date" not in data
            assert b"tEXt" not in data


class TestContents:
    def test_a_curve_for_each_training(self, direction):
        (axes,) = figures.curves(direction, STYLES).axes
        lines = [
            line for line in axes.lines if line.get_color() == STYLES["binary"].color and line.get_linestyle() == "--"
        ]
        assert len(axes.lines) == len(METHODS) + 1
        assert len(lines) == 2
        for line, result in zip(lines, direction.methods["binary"].results, strict=True):
            assert list(line.get_ydata()) == [evaluation.test for evaluation in result.curve]

    def test_hybrids_between_softmax_and_binary(self, direction):
        (axes,) = figures.hybrid_sizes(direction, STYLES).axes
        lines = {line.get_label(): line for line in axes.lines}
        assert list(lines["hybrid-N"].get_xdata()) == [512, 2048]
        assert list(lines["hybrid-N-ec"].get_ydata()) == [29.07, 30.05]
        assert set(lines["softmax"].get_ydata()) == {31.13}

    def test_one_size_is_no_curve(self, tmp_path):
        results = [make_result(head=head, sentences=9) for head in ("softmax", "hybrid-512", "hybrid-512-ec")]
        direction = ResultSet.load(save_all(results, tmp_path)).corpora[0].directions[0]
        assert draw(figures.hybrid_sizes, direction, STYLES) is None

    def test_every_point_has_its_name(self, direction):
        (axes,) = figures.output_size(direction, STYLES).axes
        assert sorted(text.get_text() for text in axes.texts) == sorted(METHODS)


class TestAnnotations:
    def test_do_not_cover_each_other(self):
        figure = Figure(figsize=(8, 4), layout="constrained")
        axes = figure.subplots()
        points = [Point(0.02 * place, 0.5 + 0.01 * (place % 3), f"label {place}", "black") for place in range(12)]
        axes.set(xlim=(-0.5, 0.7), ylim=(0, 1))
        annotate_points(figure, axes, points)
        figure.draw_without_rendering()
        boxes = [Text.get_window_extent(text) for text in axes.texts]  # without the lines to the points
        assert len(boxes) == 12
        for place, box in enumerate(boxes):
            assert axes.get_window_extent().contains(*box.min)
            assert not any(box.overlaps(other.padded(-1)) for other in boxes[:place])


class TestStyles:
    @staticmethod
    def styles(*specs):
        heads = [HeadSpec.parse(as_in_the_paper(spec)) for spec in specs]
        return method_styles({head.label: head for head in heads})

    def test_differ_and_pairs_share_their_colour(self):
        trellis, hybrid = ({"type": name, "loss": "trellis"} for name in ("binary-ec", "hybrid-512"))
        found = self.styles(*METHODS, trellis, {**trellis, "mixtures": 4}, hybrid)
        assert len(set(found.values())) == len(found) == len(METHODS) + 3
        assert found["hybrid-512"].color == found["hybrid-512-ec"].color != found["hybrid-2048"].color
        assert found["softmax"].color == "#000000"

    def test_softmax_keeps_its_colour_to_itself(self):
        assert self.styles("binary", "hybrid-512")["binary"].color != "#000000"
