"""Which output layer: all systems in one table and one figure, for results that have times in int8."""

import numpy as np
import pytest
from synthetic import make_result, save_all, timed_in_int8

from trellex.report import figures
from trellex.report.output_layers import output_layers
from trellex.report.page import write_report
from trellex.report.result_set import ResultSet
from trellex.report.sections import sections
from trellex.report.styles import method_styles
from trellex.report.systems import listed_methods, pareto_front, systems

TIED = {"type": "softmax", "tied": True}


def rows(table):
    return {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}


def direction_of(results, folder):
    [direction] = ResultSet.load(save_all(results, folder)).corpora[0].directions
    return direction


@pytest.fixture(scope="module")
def results():
    """Softmax of two seeds and a tied one, with lists; binary-ec in int8; hybrid-512 of an older version."""
    return [
        timed_in_int8(make_result(sentences=20, perplexity=20.0), 93.0, listed=12.0),
        timed_in_int8(make_result(sentences=20, perplexity=21.0, seed=2), 95.0, 26.5, listed=14.0),
        timed_in_int8(make_result(sentences=20, perplexity=19.5, head=TIED), 94.0, listed=13.5),
        timed_in_int8(make_result(sentences=20, perplexity=30.0, head="binary-ec", bleu=25.95), 7.0),
        make_result(sentences=20, head="hybrid-512", bleu=22.81),
    ]


@pytest.fixture(scope="module")
def direction(results, tmp_path_factory):
    return direction_of(results, tmp_path_factory.mktemp("output-layers"))


class TestTable:
    def test_all_systems_in_the_order_of_tables(self, direction):
        assert list(rows(output_layers(direction))) == [
            "softmax",
            "softmax + shortlist",
            "softmax (tied)",
            "softmax (tied) + shortlist",
            "hybrid-512",
            "binary-ec",
        ]

    def test_a_row(self, direction, results):
        [result] = direction.methods["binary-ec"].results
        bleus = [(result.scores[search].token_bleu, result.scores[search].text_bleu) for search in ("greedy", "beam 5")]
        assert rows(output_layers(direction))["binary-ec"] == [
            *(f"{bleu:.2f}" for of_unit in zip(*bleus, strict=True) for bleu in of_unit),
            "30.00",
            "44",
            "22,572",
            f"{result.size.all_parameters:,}",
            "20.0",
            "7.00",
            "24.5",
        ]

    def test_means_over_seeds(self, direction):
        assert rows(output_layers(direction))["softmax"][4:] == [
            "20.50 ± 0.50",
            "65,536",
            "33,619,968",
            f"{direction.methods['softmax'].first.size.all_parameters:,}",
            "52.8",
            "94.0",
            "25.5",
        ]

    def test_a_shortlist_changes_scores_outputs_and_time_alone(self, direction):
        found = rows(output_layers(direction))
        plain, listed = found["softmax (tied)"], found["softmax (tied) + shortlist"]
        lost = [float(before) - float(after) for before, after in zip(plain[:4], listed[:4], strict=True)]
        assert lost == pytest.approx([0.25, 0.25, 0.5, 0.5], abs=0.011)
        assert listed[4:6] == ["–", "812"]
        assert listed[6:9] == plain[6:9]
        assert listed[9:] == ["13.5", "23.5"]
        assert output_layers(direction).notes[0] == (
            "softmax + shortlist, softmax (tied) + shortlist: lists of 812 tokens on average have 96.25 % of the "
            "references' known tokens."
        )

    def test_sizes_of_exports_where_they_are_known(self, direction, tmp_path):
        plain = timed_in_int8(make_result(sentences=20), 93.0, listed=12.0, size=110_300_000)
        small = timed_in_int8(make_result(sentences=20, head="binary-ec"), 7.0, size=23_000_000, compact=8.5)
        table = output_layers(direction_of([plain, small], tmp_path))
        assert table.headings[-3:] == ["int8, MB", "compact, MB", "compact, ms a sentence"]
        assert {name: row[-3:] for name, row in rows(table).items()} == {
            "softmax": ["110", "–", "–"],
            "softmax + shortlist": ["–", "–", "–"],
            "binary-ec": ["23.0", "11.5", "8.50"],
        }
        assert output_layers(direction).headings[-1] == "steps a sentence"

    @pytest.mark.parametrize("begun", [("noon", "noon"), ("noon", "one")])
    def test_says_whether_all_took_turns(self, tmp_path, begun):
        results = [timed_in_int8(make_result(head=head, sentences=20), 9.0) for head in ("softmax", "binary-ec")]
        for result, when in zip(results, begun, strict=True):
            result.timing.begun = when
        found = output_layers(direction_of(results, tmp_path)).notes
        assert any("Not all systems took turns" in note for note in found) == (begun[0] != begun[1])

    def test_what_an_older_version_did_not_measure(self, direction):
        found = rows(output_layers(direction))["hybrid-512"]
        assert [place for place, cell in enumerate(found) if cell == "–"] == [4, 9, 10]

    def test_none_of_older_results(self, tmp_path):
        assert output_layers(direction_of([make_result(sentences=20)], tmp_path)) is None

    def test_results_stay_as_they_are(self, direction, results):
        systems(direction)
        assert sorted(direction.results, key=str) == sorted(results, key=str)


class TestFigure:
    @pytest.fixture
    def axes(self, direction):
        heads = {name: method.head for name, method in direction.methods.items()}
        [axes] = figures.cpu_time(direction, method_styles(heads | listed_methods(direction.results))).axes
        return axes

    @pytest.fixture
    def points(self, axes):
        """Of each system, by the number that the legend gives it."""
        names = dict(text.get_text().split("  ", 1) for text in axes.figure.legends[0].get_texts())
        return {names[text.get_text()]: text.xy for text in axes.texts}

    def test_a_numbered_point_a_system_from_the_best_on(self, axes, points):
        timed = ["binary-ec", "softmax", "softmax (tied)", "softmax (tied) + shortlist", "softmax + shortlist"]
        assert sorted(points) == timed
        assert len(axes.texts) == len(timed)
        bleu = [text.xy[1] for text in sorted(axes.texts, key=lambda text: int(text.get_text()))]
        assert bleu == sorted(bleu, reverse=True)

    def test_points_are_times_and_text_bleu_by_greedy_search(self, axes, points, direction):
        scores = [result.selection.scores["greedy"].text_bleu for result in direction.methods["softmax"].results]
        assert points["softmax + shortlist"] == pytest.approx((13.0, np.mean(scores)))
        assert "text as characters, greedy" in axes.get_ylabel()
        assert axes.get_xscale() == "log"

    def test_a_line_through_the_front(self, axes, points):
        front = axes.lines[0]
        assert list(zip(front.get_xdata(), front.get_ydata(), strict=True)) == pareto_front(points.values())
        assert tuple(front.get_xydata()[0]) == points["binary-ec"]

    def test_none_without_times(self, tmp_path):
        assert figures.cpu_time(direction_of([make_result(sentences=20)], tmp_path), {}) is None


class TestParetoFront:
    def test_those_that_no_other_beats(self):
        """By looking at all pairs."""
        random = np.random.default_rng(0)
        for size in range(1, 9):
            points = [tuple(map(float, point)) for point in random.integers(0, 5, (size, 2))]
            unbeaten = {
                one
                for one in points
                if not any(other != one and other[0] <= one[0] and other[1] >= one[1] for other in points)
            }
            assert pareto_front(points) == sorted(unbeaten)

    def test_of_none(self):
        assert pareto_front([]) == []


class TestSection:
    def test_a_table_and_a_figure_of_each_direction_that_has_times(self, results, tmp_path):
        others = [make_result(direction="ja-en", sentences=20)]
        blocks = sections(ResultSet.load(save_all([*results, *others], tmp_path / "results")))
        place = [getattr(block, "text", "") for block in blocks].index("Which output layer?")
        assert blocks[place + 2].caption == "KFTT en-ja: output layers (1 to 2 seeds)"
        assert blocks[place + 3].name == "cpu-time-kftt-en-ja"
        assert not any("ja-en: output layers" in getattr(block, "caption", "") for block in blocks)
        write_report(tmp_path / "results", tmp_path / "report")
        assert "softmax + shortlist" in (tmp_path / "report" / "report.md").read_text(encoding="utf-8")

    def test_nothing_of_older_results(self, tmp_path):
        blocks = sections(ResultSet.load(save_all([make_result(sentences=20)], tmp_path)))
        assert not any(getattr(block, "text", "") == "Which output layer?" for block in blocks)
