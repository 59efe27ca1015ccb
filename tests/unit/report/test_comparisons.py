"""Differences to softmax and to tied softmax, by both ways of searching."""

import pytest
from synthetic import make_result, save_all, timed_in_int8

from trellex.evaluation.bootstrap import paired_bootstrap
from trellex.report.comparisons import comparisons, shortlists
from trellex.report.formatting import signed
from trellex.report.result_set import ResultSet
from trellex.report.sections import sections

TIED = {"type": "softmax", "tied": True}
SEARCHES = ("greedy", "beam 5")


def rows(table):
    return {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}


def load(results, folder):
    return ResultSet.load(save_all(results, folder))


def tables_of(results, folder):
    return comparisons(load(results, folder).corpora[0].directions[0])


@pytest.fixture(scope="module")
def made():
    """Tied softmax and hybrid-512-ec have two seeds, softmax and binary have one; binary is far below."""
    results = [make_result(sentences=60), make_result(head=TIED, bleu=31.2, sentences=60)]
    results += [make_result(head=TIED, bleu=31.2, seed=2, sentences=60)]
    results += [make_result(head="hybrid-512-ec", bleu=31.2, seed=seed, sentences=60) for seed in (1, 2)]
    return [*results, make_result(head="binary", bleu=13.78, sentences=60)]


@pytest.fixture(scope="module")
def tables(made, tmp_path_factory):
    return tables_of(made, tmp_path_factory.mktemp("comparisons"))


class TestTables:
    def test_one_for_softmax_and_one_for_tied_softmax(self, tables):
        assert [table.caption for table in tables] == [
            f"KFTT en-ja: BLEU above that of {base} (1 to 2 seeds)" for base in ("softmax", "softmax (tied)")
        ]
        assert [set(rows(table)) for table in tables] == [
            {"softmax (tied)", "hybrid-512-ec", "binary"},
            {"softmax", "hybrid-512-ec", "binary"},
        ]

    @pytest.mark.parametrize("place", [0, 1])
    def test_a_row_is_the_paired_bootstrap_of_the_first_seeds(self, made, tables, place):
        expected = []
        for search in SEARCHES:
            found = paired_bootstrap(*(made[each].scores[search].sentences for each in (3, place)))
            expected += [signed(found.difference), f"{signed(found.low)} to {signed(found.high)}"]
            expected += [f"{found.p_value:.3f}"]
        row = rows(tables[place])["hybrid-512-ec"]
        assert (row if place == 0 else [*row[:3], *row[4:7]]) == expected

    def test_further_seeds_that_both_have(self, made, tables):
        assert "further seeds" not in tables[0].headings
        assert [place for place, heading in enumerate(tables[1].headings) if heading == "further seeds"] == [4, 8]
        ours = [signed(made[4].scores[search].token_bleu - made[2].scores[search].token_bleu) for search in SEARCHES]
        assert rows(tables[1])["hybrid-512-ec"][3::4] == ours
        assert rows(tables[1])["binary"][3::4] == ["–", "–"]

    def test_notes_say_what_is_significant(self, tables):
        assert [note.split(";")[0] for note in tables[1].notes] == [
            f"{search}: significantly below softmax (tied): binary" for search in ("Greedy", "Beam 5")
        ]

    def test_none_below_and_one_above(self, tmp_path):
        results = [make_result(head=TIED, bleu=13.0, sentences=60), make_result(bleu=31.0, sentences=60)]
        _, against_tied = tables_of(results, tmp_path)
        assert against_tied.notes == [
            "Greedy: significantly below softmax (tied): none; above: softmax.",
            "Beam 5: significantly below softmax (tied): none; above: softmax.",
        ]

    def test_a_search_that_was_not_made(self, tmp_path):
        results = [make_result(sentences=9), make_result(head=TIED, sentences=9)]
        del results[0].scores["beam 5"]
        against_softmax, against_tied = tables_of(results, tmp_path)
        assert rows(against_softmax)["softmax (tied)"][3:] == ["–"] * 3
        assert rows(against_tied)["softmax"][3:] == ["–"] * 3
        assert rows(against_tied)["softmax"][0] != "–"


class TestWithoutOneOfThem:
    def test_without_tied_softmax_there_is_none(self, tmp_path):
        results = [make_result(sentences=9), make_result(head="hybrid-512-ec", sentences=9)]
        found = load(results, tmp_path)
        assert comparisons(found.corpora[0].directions[0]) == []
        assert not any("BLEU above" in getattr(block, "caption", "") for block in sections(found))

    def test_without_softmax(self, tmp_path):
        results = [make_result(head=TIED, sentences=9), make_result(head="hybrid-512-ec", sentences=9)]
        found = load(results, tmp_path)
        captions = [getattr(block, "caption", "") for block in sections(found)]
        assert [caption for caption in captions if "BLEU above" in caption] == [
            "KFTT en-ja: BLEU above that of softmax (tied) (one seed)"
        ]


class TestShortlists:
    @pytest.fixture
    def listed(self):
        """A softmax whose translations with a shortlist are others."""
        result = timed_in_int8(make_result(sentences=60), 93.0, listed=12.0)
        result.selection.scores = make_result(bleu=33.0, sentences=60).scores
        return result

    @pytest.fixture
    def found(self, listed, tmp_path):
        return load([listed, make_result(head=TIED, sentences=60)], tmp_path)

    @staticmethod
    def row(one, other):
        paired = [paired_bootstrap(one[search].sentences, other[search].sentences) for search in SEARCHES]
        return [
            text
            for each in paired
            for text in (signed(each.difference), f"{signed(each.low)} to {signed(each.high)}", f"{each.p_value:.3f}")
        ]

    def test_against_the_same_without(self, listed, found):
        table = shortlists(found.corpora[0].directions[0])
        assert table.caption == "KFTT en-ja: BLEU with a shortlist above that without (first seeds)"
        assert rows(table) == {"softmax": self.row(listed.selection.scores, listed.scores)}
        assert rows(table)["softmax"][0] != "+0.00"
        assert table in sections(found)

    def test_against_a_tied_softmax(self, listed, found):
        _, against_tied = comparisons(found.corpora[0].directions[0])
        [tied] = found.corpora[0].directions[0].methods["softmax (tied)"].results
        assert rows(against_tied)["softmax + shortlist"] == self.row(listed.selection.scores, tied.scores)

    def test_none_where_there_are_none(self, made, tmp_path):
        assert shortlists(load(made, tmp_path).corpora[0].directions[0]) is None
