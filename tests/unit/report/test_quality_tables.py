"""Tables beyond the paper's: BLEU with intervals, wrong bits, training and settings."""

import numpy as np
import pytest
from synthetic import all_results, make_result, save_all

from trellex.evaluation.bootstrap import bootstrap, paired_bootstrap
from trellex.report import quality_tables, training_tables
from trellex.report.result_set import ResultSet


def rows(table):
    return {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}


def sentences(method, search, seed=0):
    return np.array(method.results[seed].scores[search].sentences)


@pytest.fixture(scope="module")
def result_set(tmp_path_factory):
    """Two seeds of softmax, one of binary, of which beam search was not asked."""
    results = [make_result(sentences=60), make_result(seed=2, sentences=60)]
    results += [make_result(head="hybrid-512-ec", bleu=29.07, sentences=60)]
    results += [make_result(head="binary", bleu=13.78, sentences=60)]
    del results[3].scores["beam 5"]
    results[3].training.side_by_side = 3
    return ResultSet.load(save_all(results, tmp_path_factory.mktemp("quality")))


@pytest.fixture(scope="module")
def direction(result_set):
    return result_set.corpora[0].directions[0]


class TestScores:
    def test_a_row(self, direction):
        ours, softmax = direction.methods["hybrid-512-ec"], direction.methods["softmax"]
        low, high = bootstrap(sentences(ours, "greedy"))
        paired = paired_bootstrap(sentences(ours, "beam 5"), sentences(softmax, "beam 5"))
        found = rows(quality_tables.scores(direction))["hybrid-512-ec"]
        greedy, beam = ours.first.scores["greedy"], ours.first.scores["beam 5"]
        assert found[:2] == [f"{ours.first.best.dev:.2f}", f"{greedy.token_bleu:.2f}"]
        assert found[2] == f"{low:.2f}–{high:.2f}"
        assert found[3:5] == [f"{beam.token_bleu:.2f}", f"{beam.text_bleu:.2f}"]
        tokens = np.array(beam.sentences)[:, :2].sum(0)
        assert found[5] == f"{100 * tokens[0] / tokens[1]:.2f}"
        assert found[6] == f"{paired.difference:+.2f}".replace("-", "−")
        assert found[8] == f"{paired.p_value:.3f}"
        assert low < greedy.token_bleu < high

    def test_softmax_is_not_compared_with_itself(self, direction):
        assert rows(quality_tables.scores(direction))["softmax"][6:] == ["–", "–", "–"]

    def test_several_seeds_are_averaged_and_the_first_has_the_interval(self, direction):
        method = direction.methods["softmax"]
        one, two = (result.scores["greedy"].token_bleu for result in method.results)
        found = rows(quality_tables.scores(direction))["softmax"]
        assert found[1] == f"{(one + two) / 2:.2f} ± {abs(one - two) / 2:.2f}"
        low, high = bootstrap(sentences(method, "greedy"))
        assert found[2] == f"{low:.2f}–{high:.2f}"

    def test_a_search_that_was_not_made(self, direction):
        found = rows(quality_tables.scores(direction))["binary"]
        assert found[3:] == ["–"] * 6
        assert found[1] != "–"

    def test_the_text_column_tells_its_tokens(self, direction, tmp_path):
        assert "text (characters), beam 5" in quality_tables.scores(direction).headings
        other = (
            ResultSet.load(save_all([make_result(direction="ja-en", sentences=9)], tmp_path)).corpora[0].directions[0]
        )
        assert "text (13a), beam 5" in quality_tables.scores(other).headings


class TestBitErrors:
    def test_in_percent_and_without_softmax(self, direction):
        table = quality_tables.bit_errors(direction)
        assert rows(table) == {
            "binary": ["6.80", "6.80", "27.20", "18,200"],
            "hybrid-512-ec": ["6.80", "2.10", "8.40", "4,100"],
        }

    def test_none_without_bits(self, tmp_path):
        alone = ResultSet.load(save_all([make_result(sentences=9)], tmp_path)).corpora[0].directions[0]
        assert quality_tables.bit_errors(alone) is None


class TestTraining:
    def test_a_row(self, result_set):
        table = training_tables.trainings(result_set.corpora[0])
        assert rows(table)["binary"] == ["en-ja", "1", "40,000", "12.3", "64.0", "58,000", "3", "5.10"]
        assert rows(table)["softmax"][1] == "1, 2"

    def test_memory_that_is_not_known(self, tmp_path):
        result = make_result(sentences=9)
        result.training.peak_memory = None
        corpus = ResultSet.load(save_all([result], tmp_path)).corpora[0]
        assert rows(training_tables.trainings(corpus))["softmax"][-1] == "–"

    def test_settings_by_corpus_with_all_values_that_occur(self, tmp_path):
        results = all_results(methods=("softmax", "binary"), sentences=9)
        results[0].recipe["model"]["dropout"] = 0.1
        found = rows(training_tables.settings(ResultSet.load(save_all(results, tmp_path))))
        assert found["model.dropout"] == ["0.1, 0.3", "0.3"]
        assert found["training.max_steps"] == ["40,000", "40,000"]
        assert not {"data", "output", "head", "training.seed"} & set(found)

    def test_software(self, result_set):
        assert rows(training_tables.software(result_set))["torch"] == ["2.11.0"]
