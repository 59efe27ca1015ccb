"""The overview: cost, perplexity and quality in one table, for results that have a perplexity."""

import pytest
from synthetic import make_result, save_all

from trellex.report.overview import overview
from trellex.report.result_set import ResultSet
from trellex.report.sections import sections

TIED = {"type": "softmax", "tied": True}


def rows(table):
    return {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}


def directions(results, folder):
    return ResultSet.load(save_all(results, folder)).corpora[0].directions


def measured(multiply_adds, perplexity, **options):
    result = make_result(sentences=20, perplexity=perplexity, **options)
    result.size.multiply_adds = multiply_adds
    return result


@pytest.fixture(scope="module")
def direction(tmp_path_factory):
    """Two seeds of softmax, tied softmax, shelves, and binary-ec of an older version."""
    results = [measured(512 * 65536, 20.0), measured(512 * 65536, 21.0, seed=2)]
    results += [
        measured(512 * 512 + 512 * 65536, 19.5, head=TIED),
        measured(512 * 1024, 22.0, head={"type": "shelves"}),
    ]
    results += [make_result(head="binary-ec", bleu=25.95, sentences=20)]
    (found,) = directions(results, tmp_path_factory.mktemp("overview"))
    return found


class TestRow:
    def test_costs(self, direction):
        found = rows(overview(direction))
        assert found["softmax"][:4] == ["33,619,968", "1/1", "33,554,432", "1/1"]
        assert found["softmax (tied)"][2:4] == ["33,816,576", "1.01 ×"]  # more than a softmax's
        assert found["shelves"][2:4] == ["524,288", "1/64"]

    def test_costs_of_a_seed_that_has_them(self, tmp_path):
        results = [make_result(sentences=20), measured(512 * 65536, 21.0, seed=2)]
        (found,) = directions(results, tmp_path)
        assert rows(overview(found))["softmax"][2:5] == ["33,554,432", "1/1", "21.00"]

    def test_qualities_over_seeds(self, direction):
        one, two = direction.methods["softmax"].results
        greedy, beam = ([each.scores[search].token_bleu for each in (one, two)] for search in ("greedy", "beam 5"))
        assert rows(overview(direction))["softmax"][4:] == [
            "20.50 ± 0.50",
            *(
                f"{sum(values) / 2:.2f} ± {abs(values[0] - values[1]) / 2:.2f}"
                for values in ([one.best.dev, two.best.dev], greedy, beam, [one.bands[3].f1, two.bands[3].f1])
            ),
        ]
        assert one.bands[3].first_rank == 10_000

    def test_what_an_older_version_did_not_measure(self, direction):
        found = rows(overview(direction))["binary-ec"]
        assert found[2:5] == ["–", "–", "–"]
        assert "–" not in found[5:]


def test_a_vocabulary_without_rare_words(tmp_path):
    result = measured(1, 20.0)
    result.bands[2:] = []
    (direction,) = directions([result], tmp_path)
    assert rows(overview(direction))["softmax"][-1] == "–"


@pytest.mark.parametrize("head", ["binary-ec", {"type": "shelves", "visit": 2}], ids=str)
def test_shelves_are_explained_where_they_are(tmp_path, head):
    introduction, *_ = sections(ResultSet.load(save_all([make_result(head=head, sentences=20)], tmp_path)))
    assert ("with shelves the first bits" in introduction.text) == (head != "binary-ec")


class TestSection:
    @staticmethod
    def captions(results, folder):
        return [getattr(block, "caption", "") for block in sections(ResultSet.load(save_all(results, folder)))]

    def test_a_table_for_each_direction_that_has_a_perplexity(self, tmp_path):
        results = [measured(1, 20.0), make_result(direction="ja-en", sentences=20)]
        found = [caption for caption in self.captions(results, tmp_path) if "cost and quality" in caption]
        assert found == ["KFTT en-ja: cost and quality (one seed)"]

    def test_nothing_of_older_results(self, tmp_path):
        results = [make_result(sentences=20), make_result(direction="ja-en", sentences=20)]
        assert not any("cost and quality" in caption for caption in self.captions(results, tmp_path))
