"""Groups of sentences and words by frequency and by length."""

from itertools import pairwise

import numpy as np
import pytest
from synthetic import make_result, save_all

from trellex.evaluation.bootstrap import bleu_of
from trellex.report.bands import (
    SMALLEST_SHARE,
    bleu_by_length,
    bleu_by_rarest_word,
    bleu_by_unknown_words,
    length_groups,
    length_label,
    rank_label,
    sentence_groups,
    spelled_word_f1,
    word_f1,
)
from trellex.report.result_set import ResultSet


class TestGroups:
    def test_every_sentence_is_in_one_group_and_none_is_tiny(self):
        random = np.random.default_rng(0)
        for vocabulary in (50, 2000, 65536):
            for sentences in (1, 7, 500):
                rarest = random.integers(0, vocabulary + 1, sentences)
                groups = sentence_groups(rarest.tolist(), vocabulary)
                assert groups[0].first == 0
                assert groups[-1].end == vocabulary + 1
                assert all(one.end == two.first for one, two in pairwise(groups))
                assert sum(group.size for group in groups) == sentences
                assert all(group.size >= SMALLEST_SHARE * sentences for group in groups)

    def test_by_hand(self):
        rarest = [50] * 4 + [500] * 1 + [2000] * 5 + [20000] * 4 + [65536] * 6
        found = [(group.label, group.size) for group in sentence_groups(rarest, 65536)]
        assert found == [("< 100", 4), ("100–2,999", 6), ("≥ 3,000", 4), ("unknown", 6)]

    def test_few_unknown_words_join_the_rarest(self):
        assert [group.label for group in sentence_groups([50] * 50 + [2000] * 49 + [8192], 8192)] == [
            "< 100",
            "≥ 100 or unknown",
        ]

    @pytest.mark.parametrize(
        ("first", "end", "label"),
        [
            (0, 100, "< 100"),
            (100, 1000, "100–999"),
            (100, 5000, "≥ 100"),
            (5000, 5000, "unknown"),
            (5000, 5001, "unknown"),
            (100, 5001, "≥ 100 or unknown"),
            (0, 5000, "all known"),
            (0, 5001, "all"),
        ],
    )
    def test_labels(self, first, end, label):
        assert rank_label(first, end, 5000) == label

    def test_of_lengths_by_hand(self):
        lengths = np.array([0] * 2 + [5] * 10 + [11] * 9 + [21] + [50] * 2)  # 50, 99, 21 and 100 tokens
        assert [(group.label, group.size) for group in length_groups(lengths)] == [
            ("≤ 10 tokens", 12),
            ("11–20 tokens", 9),
            ("> 20 tokens", 3),
        ]

    @pytest.mark.parametrize("lengths", [[0], [7], [3] * 5 + [200]])
    def test_of_lengths_that_are_alike(self, lengths):
        assert [(group.label, group.size) for group in length_groups(np.array(lengths[:5]))] == [
            ("all", len(lengths[:5]))
        ]

    @pytest.mark.parametrize(
        ("first", "end", "label"),
        [(0, 11, "≤ 10 tokens"), (21, 41, "21–40 tokens"), (41, 91, "> 40 tokens"), (0, 91, "all")],
    )
    def test_labels_of_lengths(self, first, end, label):
        assert length_label(first, end, 90) == label


@pytest.fixture(scope="module")
def direction(tmp_path_factory):
    results = [make_result(), make_result(head="binary", bleu=13.78)]
    return ResultSet.load(save_all(results, tmp_path_factory.mktemp("bands"))).corpora[0].directions[0]


class TestValues:
    def test_bleu_of_a_group_is_that_of_its_sentences(self, direction):
        bands = bleu_by_rarest_word(direction)
        result = direction.methods["binary"].first
        for group, value in zip(bands.groups, bands.values["binary"][0], strict=True):
            own = [
                row
                for row, rank in zip(result.scores["greedy"].sentences, result.rarest, strict=True)
                if group.first <= rank < group.end
            ]
            assert len(own) == group.size
            assert value == bleu_of(np.array(own))

    def test_bleu_of_a_length_is_that_of_its_sentences(self, direction):
        bands = bleu_by_length(direction, "beam 5")
        sentences = direction.methods["binary"].first.scores["beam 5"].sentences
        for group, value in zip(bands.groups, bands.values["binary"][0], strict=True):
            own = [row for row in sentences if group.first <= row[1] < group.end]
            assert len(own) == group.size
            assert value == bleu_of(np.array(own))
        assert sum(group.size for group in bands.groups) == len(sentences)
        assert bleu_by_length(direction, "beam 50") is None

    def test_bleu_by_unknown_words_with_and_without_spelling(self, direction, tmp_path):
        plain, other = make_result(head="binary", seed=2), make_result(bleu=20.0)
        spelled = {"greedy": other.scores["greedy"]}
        unknown = [place % 5 // 3 * (place % 3) for place in range(len(plain.rarest))]
        results = [make_result(), plain.model_copy(update={"unknown": unknown, "spelled": spelled})]
        found = bleu_by_unknown_words(
            ResultSet.load(save_all(results, tmp_path)).corpora[0].directions[0],
        )
        some = np.array(unknown) > 0
        assert [(group.label, group.size) for group in found.groups] == [
            ("all known", (~some).sum()),
            ("some unknown", some.sum()),
        ]
        assert found.values == {
            name: [[bleu_of(np.array(score.sentences)[members]) for members in (~some, some)]]
            for name, score in (("binary", plain.scores["greedy"]), ("binary + spelling", spelled["greedy"]))
        }
        assert bleu_by_unknown_words(direction) is None

    def test_f1_with_and_without_spelling(self, direction, tmp_path):
        plain, other = make_result(head="binary"), make_result(bleu=20.0)
        spelled = plain.model_copy(update={"spelled": other.scores, "spelled_bands": other.bands})
        found = spelled_word_f1(ResultSet.load(save_all([other, spelled], tmp_path)).corpora[0].directions[0])
        assert found.values == {
            name: [[band.f1 for band in result.bands[:4]]]
            for name, result in (("binary", plain), ("binary + spelling", other))
        }
        assert found.values["binary"] != found.values["binary + spelling"]
        assert spelled_word_f1(direction) is None

    def test_f1(self, direction):
        """Of the first band 2 · right / (translated + expected); unknown words are left out."""
        bands = word_f1(direction)
        result = direction.methods["softmax"].first
        assert [group.label for group in bands.groups] == ["< 100", "100–999", "1,000–9,999", "≥ 10,000"]
        first = result.bands[0]
        assert bands.values["softmax"][0][0] == pytest.approx(200 * first.right / (first.translated + first.expected))
        assert bands.groups[0].size == first.expected
