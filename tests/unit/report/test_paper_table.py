"""The numbers of the paper's table: ours and the paper's."""

import pytest
from synthetic import METHODS, all_results, make_result, save_all

from trellex.evaluation.curve import Evaluation
from trellex.report import paper_table
from trellex.report.blocks import best_two
from trellex.report.formatting import one_in, signed, significant, spread
from trellex.report.paper import PAPER
from trellex.report.result_set import ResultSet
from trellex.report.sections import sections

FIGURES = ("gpu_sentence", "cpu_sentence")


def rows(table):
    """Cells by the name of the row."""
    return {row[0].text: row[1:] for row in table.rows}


def texts(cells):
    return [cell.text for cell in cells]


@pytest.fixture(scope="module")
def kftt(tmp_path_factory):
    """All methods in one direction; of ja-en only softmax and binary-ec, without times."""
    results = [result for result in all_results(sentences=20) if result.cell.corpus == "KFTT"]
    kept = [x for x in results if x.cell.direction == "en-ja" or x.cell.method in ("softmax", "binary-ec")]
    for result in kept:
        if result.cell.direction == "ja-en" or result.cell.method == "hybrid-512":
            result.timing = None
    return ResultSet.load(save_all(kept, tmp_path_factory.mktemp("kftt"))).corpora[0]


class TestQualityAndSize:
    def test_a_row(self, kftt):
        """16 bits of 513 parameters each, where softmax has 65,536 such outputs."""
        table = paper_table.quality_and_size(kftt)
        assert table.headings[:5] == ["method", "BLEU en-ja", "BLEU ja-en", "ASPEC en-ja", "ASPEC ja-en"]
        everything = 2 * 512 * 65536 + 10_000_000
        share = f"{(everything + 513 * 16) / (everything + 513 * 65536):.3f}"
        expected = ["13.78", "–", "13.78", "6.95", "16", "16", "8,208", "1/4,100", "1/4,100", share, "0.698"]
        assert texts(rows(table)["binary"]) == expected

    def test_all_methods_are_there_in_order(self, kftt):
        assert list(rows(paper_table.quality_and_size(kftt))) == list(METHODS)

    def test_softmax_is_its_own_measure(self, kftt):
        assert texts(rows(paper_table.quality_and_size(kftt))["softmax"])[4:] == [
            "–", "65,536", "33,619,968", "1/1", "1/1", "1.000", "1.000",
        ]  # fmt: skip

    def test_a_variant_of_other_sizes_is_compared_with_the_softmax_that_was_trained(self, tmp_path):
        """Not with a softmax model of its own sizes, which nobody has trained."""
        small, pieces = make_result(head="binary", sentences=9), make_result(head="binary-ec", sentences=9)
        small.cell.variant, small.size.all_parameters = "small", 20_000_000
        pieces.cell.cut, pieces.rarest, pieces.bands = "bpe 64", [], []
        corpus = ResultSet.load(save_all([make_result(sentences=9), small, pieces], tmp_path)).corpora[0]
        found = rows(paper_table.quality_and_size(corpus))
        softmax = 2 * 512 * 65536 + 10_000_000 + 513 * 65536
        assert texts(found["binary, small"])[-2] == f"{20_000_000 / softmax:.3f}"
        assert texts(found["binary-ec, bpe 64"])[-2] == f"{pieces.size.share_of_all:.3f}"

    def test_what_is_larger_than_a_softmax_is_told_as_so_many_times_that(self, tmp_path):
        larger = make_result(head="binary", sentences=9)
        larger.size.output_parameters = 2 * larger.size.softmax_parameters
        corpus = ResultSet.load(save_all([make_result(sentences=9), larger], tmp_path)).corpora[0]
        assert texts(rows(paper_table.quality_and_size(corpus))["binary"])[5] == "2.00 ×"

    def test_best_and_second(self, kftt):
        found = rows(paper_table.quality_and_size(kftt))
        assert {name: cells[0].emphasis for name, cells in found.items() if cells[0].emphasis} == {
            "softmax": "bold",
            "hybrid-2048-ec": "italic",
        }
        assert {name: cells[1].emphasis for name, cells in found.items() if cells[1].emphasis} == {
            "softmax": "bold",
            "binary-ec": "italic",
        }

    def test_one_seed_is_told(self, kftt):
        assert "(one seed)" in paper_table.quality_and_size(kftt).caption

    def test_several_seeds(self, tmp_path):
        results = [make_result(sentences=9), make_result(seed=2, sentences=9), make_result(head="binary", sentences=9)]
        for result, bleu in zip(results, (30.0, 31.0, 12.5), strict=True):
            result.averaged_test_bleu = bleu
        table = paper_table.quality_and_size(ResultSet.load(save_all(results, tmp_path)).corpora[0])
        assert "(1 to 2 seeds)" in table.caption
        assert rows(table)["softmax"][0].text == "30.50 ± 0.50"
        assert rows(table)["binary"][0].text == "12.50"

    def test_of_few_evaluations_the_best_checkpoints_are_compared(self, tmp_path):
        """In all rows of that direction, for a mean and a best are no match."""
        short = make_result(head="binary", sentences=9)
        short.curve = short.curve[:9]
        results = [make_result(sentences=9), short, make_result(direction="ja-en", bleu=21.14, sentences=9)]
        for result, bleu in zip(results, (30.5, 20.25, 21.5), strict=True):
            result.best = Evaluation(1000, 9.0, bleu)
        found = rows(paper_table.quality_and_size(ResultSet.load(save_all(results, tmp_path)).corpora[0]))
        assert texts(found["softmax"][:2]) == ["30.50", "21.14"]
        assert texts(found["binary"][:2]) == ["20.25", "–"]

    def test_without_a_place_in_the_paper_there_are_no_paper_columns(self, tmp_path):
        results = [make_result(sentences=9), make_result(head="binary", sentences=9)]
        for result in results:
            result.cell.stands_for = None
        corpus = ResultSet.load(save_all(results, tmp_path)).corpora[0]
        for table in (paper_table.quality_and_size(corpus), *paper_table.times_of(corpus)):
            assert not any("paper" in heading or "ASPEC" in heading for heading in table.headings)
            assert not any("paper's" in note for note in table.notes)

    def test_variants_have_no_paper_figures(self, tmp_path):
        trellis = make_result(head={"type": "binary", "loss": "trellis"}, sentences=9)
        table = paper_table.quality_and_size(
            ResultSet.load(save_all([make_result(sentences=9), trellis], tmp_path)).corpora[0]
        )
        cells = texts(rows(table)["binary (trellis)"])
        assert [cells[1], cells[6], cells[8]] == ["–", "–", "–"]


class TestTime:
    def test_a_row(self, kftt):
        """Ours by the formulas of the synthetic timing; the paper's 712.0 of 1026, 121.6 of 78.75, 2539 of 164.0 ms."""
        train, gpu, cpu = 20 + 44 / 2000, 15 + 44 / 10000, 12 + 44 / 200
        softmax_train, softmax_gpu, softmax_cpu = 20 + 65536 / 2000, 15 + 65536 / 10000, 12 + 65536 / 200
        assert texts(rows(paper_table.times_of(kftt)[0])["binary-ec"]) == [
            f"{train:.1f}", f"{train / softmax_train:.3f} ×", "0.694 ×",
            f"{gpu:.1f}", f"{softmax_gpu / gpu:.2f} ×", "1.54 ×",
            f"{cpu:.1f}", f"{softmax_cpu / cpu:.1f} ×", "15.5 ×",
        ]  # fmt: skip

    def test_what_was_not_timed(self, kftt):
        assert texts(rows(paper_table.times_of(kftt)[0])["hybrid-512"]) == [
            "–", "–", "0.822 ×", "–", "–", "1.50 ×", "–", "–", "19.9 ×",
        ]  # fmt: skip

    @pytest.mark.parametrize(
        ("absent", "where"),
        [(set(), ["on the GPU", "on one CPU thread"]), ({"cpu_sentence"}, ["on the GPU"]), (set(FIGURES), [])],
    )
    def test_text_and_table_tell_of_the_same_times(self, tmp_path, absent, where):
        result = make_result(sentences=9)
        for figure in absent:
            setattr(result.timing, figure, None)
        loaded = ResultSet.load(save_all([result], tmp_path))
        [table], told = paper_table.times_of(loaded.corpora[0]), paper_table.where_timed(loaded.corpora[0])
        assert table.headings.count("faster") == len(told)
        assert [words.split(" (")[0] for words in told] == where
        text = next(block.text for block in sections(loaded) if getattr(block, "text", "").startswith("Measured after"))
        assert all(words in text for words in told)
        assert ("by greedy search" in text) == bool(told)

    def test_what_neither_timed(self, tmp_path):
        untimed = make_result(head={"type": "shelves"}, sentences=9)
        untimed.timing = None
        (table,) = paper_table.times_of(
            ResultSet.load(save_all([make_result(sentences=9), untimed], tmp_path)).corpora[0]
        )
        assert list(rows(table)) == ["softmax"]

    def test_a_direction_that_the_paper_did_not_time(self, tmp_path):
        results = [result for result in all_results(sentences=9) if result.cell.method in ("softmax", "binary-ec")]
        kept = [x for x in results if x.cell.direction == "en-ja" or x.cell.method == "softmax"]
        found = paper_table.times_of(ResultSet.load(save_all(kept, tmp_path)).corpora[0])
        assert [table.caption for table in found] == ["KFTT: time (en-ja)", "KFTT: time (ja-en)"]
        assert [table.headings.count("paper's") for table in found] == [3, 0]
        assert [list(rows(table)) for table in found] == [["softmax", "binary-ec"], ["softmax"]]

    def test_without_a_gpu(self, tmp_path):
        result = make_result(sentences=9)
        result.timing.gpu_sentence = result.timing.gpu = None
        [table] = paper_table.times_of(ResultSet.load(save_all([result], tmp_path)).corpora[0])
        assert "GPU, ms a sentence" not in table.headings
        cells = dict(zip(table.headings[1:], texts(rows(table)["softmax"]), strict=True))
        assert cells["CPU, ms a sentence"] == "340"

    def test_nothing_was_timed(self, tmp_path):
        corpus = ResultSet.load(save_all([make_result(sentences=9, timing=None)], tmp_path)).corpora[0]
        assert paper_table.times_of(corpus) == []


class TestMeanwhile:
    @pytest.mark.parametrize(
        ("cores", "said"),
        [
            ([None, None], " (what else ran meanwhile was not recorded)"),
            ([0.0, None], " (what else ran meanwhile was not always recorded)"),
            ([0.0, 0.04], ", with nothing else running on the CPU"),
            ([0.0, 1.26], ", while other processes kept up to 1.3 CPU cores busy"),
        ],
    )
    def test_only_what_is_known_is_said(self, tmp_path, cores, said):
        results = [make_result(head=head, sentences=9) for head in ("softmax", "binary")]
        for result, other_cores in zip(results, cores, strict=True):
            result.timing.other_cores = other_cores
        results.append(make_result(head="binary-ec", sentences=9, timing=None))
        assert paper_table.meanwhile(ResultSet.load(save_all(results, tmp_path)).corpora[0]) == said


class TestPaper:
    def test_ratios_follow_from_its_sizes(self):
        """#out as printed in the paper, from which its ratios of parameters can be computed."""
        outputs = {
            "ASPEC": (65536, 16, 528, 2064, 44, 556, 2092),
            "BTEC": (25000, 15, 527, 2063, 42, 554, 2090),
        }
        for corpus, methods in PAPER.items():
            assert tuple(methods) == METHODS
            for row, own in zip(methods.values(), outputs[corpus], strict=True):
                assert row.output_ratio == pytest.approx(outputs[corpus][0] / own, rel=0.004)


class TestNumbers:
    def test_best_two_as_printed(self):
        assert best_two([1.0, 3.001, None, 2.0, 3.004]) == ["", "bold", "", "italic", "bold"]
        assert best_two([1.0, None]) == ["", ""]

    def test_written(self):
        assert [significant(value) for value in (1234.5, 12.34, 0.1234, 0, None)] == [
            "1,234",
            "12.3",
            "0.123",
            "0.00",
            "–",
        ]
        assert [one_in(value) for value in (4096, 31.84, 1, None)] == ["1/4,100", "1/31.8", "1/1", "–"]
        assert [signed(value) for value in (1.234, -1.236, -0.001)] == ["+1.23", "−1.24", "+0.00"]
        assert [spread(values) for values in ([], [2], [1, 2, 4])] == ["–", "2.00", "2.33 ± 1.50"]
