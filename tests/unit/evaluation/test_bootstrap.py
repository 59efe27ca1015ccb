"""Statistics, scores, intervals and p-values against sacreBLEU's own, which needs the text."""

import tracemalloc

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest

from trellex.evaluation import token_bleu
from trellex.evaluation.bootstrap import (
    _draws,
    _scores,
    bleu_of,
    bootstrap,
    paired_bootstrap,
    sentence_statistics,
)


def noisy(lines, share, seed):
    """Lines in which a share of the words is replaced, and now and then the last one left out."""
    random = np.random.default_rng(seed)
    changed = []
    for line in lines:
        words = [word if random.random() > share else f"x{random.integers(9)}" for word in line.split()]
        changed.append(" ".join(words[: len(words) - (random.random() < share)]))
    return changed


@pytest.fixture(scope="module")
def references():
    random = np.random.default_rng(7)
    return [" ".join(f"W{word}" for word in random.zipf(1.6, length) % 50) for length in random.integers(1, 15, 60)]


@pytest.fixture(autouse=True)
def _sacrebleu_s_default_seed(monkeypatch):
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)


class TestStatistics:
    def test_counted_by_hand(self):
        """Right are 5 of 6 words, 3 of 5 pairs, 2 of 4 triples and 1 of 3 quadruples."""
        (counted,) = sentence_statistics(["The cat sat on the mat"], ["the CAT sat on a mat ."])
        assert counted == [6, 7, 5, 3, 2, 1, 6, 5, 4, 3]

    def test_matches_are_clipped(self):
        assert sentence_statistics(["a a a"], ["a b"]) == [[3, 2, 1, 0, 0, 0, 3, 2, 1, 0]]

    def test_tokens_are_what_spaces_separate(self):
        assert sentence_statistics(["a cat."], ["a cat ."])[0][:3] == [2, 3, 1]

    def test_empty_lines(self):
        nothing = [0] * 8
        assert sentence_statistics(["", "a"], ["a b", ""]) == [[0, 2, *nothing], [1, 0, 0, 0, 0, 0, 1, 0, 0, 0]]

    def test_plain_numbers_without_a_warning(self, references, caplog):
        statistics = sentence_statistics(noisy(references, 0.3, 0), references)
        assert {type(number) for row in statistics for number in row} == {int}
        assert caplog.records == []

    def test_different_numbers_of_lines(self):
        with pytest.raises(ValueError, match="differ in number: 1 and 2 lines"):
            sentence_statistics(["a"], ["a", "b"])


class TestBleuOf:
    @pytest.mark.parametrize("share", [0, 0.1, 0.4, 0.9, 1])
    def test_is_token_bleu(self, references, share):
        hypotheses = noisy(references, share, 1)
        expected = token_bleu(hypotheses, references).score
        assert bleu_of(sentence_statistics(hypotheses, references)) == pytest.approx(expected, abs=1e-9)

    @pytest.mark.parametrize(
        ("hypotheses", "references"),
        [
            (["a b c x e f"], ["a b c d e f"]),  # no quadruple is right
            (["a x c y e"], ["a b c d e"]),  # only words are
            (["a b c"], ["a b c"]),  # there is no quadruple
            (["", "a b c d e"], ["a b c", "a b c d e"]),
            (["", ""], ["a b c d", "e"]),
            (["x y z w v"], ["a b c d e"]),
            (["a b c d", "a"], ["", "a b"]),
        ],
    )
    def test_degenerate_cases(self, hypotheses, references):
        expected = token_bleu(hypotheses, references).score
        statistics = np.array(sentence_statistics(hypotheses, references))
        assert bleu_of(statistics) == pytest.approx(expected, abs=1e-9)
        assert _scores(statistics.sum(0)[None])[0] == pytest.approx(expected, abs=1e-9)

    @pytest.mark.parametrize("statistics", [np.zeros((0, 10)), np.zeros((3, 9)), np.zeros(10)])
    def test_what_is_no_statistics(self, statistics):
        with pytest.raises(ValueError, match="statistics: expected 10 numbers"):
            bleu_of(statistics)


@pytest.mark.parametrize("sentences", [1, 2, 4, 60])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_scores_of_resamples_are_those_of_the_sentences_drawn(references, sentences, share):
    """Few sentences, of which many resamples lack matches, and many."""
    statistics = np.array(sentence_statistics(noisy(references, share, 2), references))[:sentences]
    draws = np.stack(list(_draws(sentences, 40, seed=3)))
    assert (draws.sum(-1) == sentences).all()
    one_by_one = [bleu_of(np.repeat(statistics, times, axis=0)) for times in draws]
    np.testing.assert_allclose(_scores(draws @ statistics), one_by_one, rtol=1e-12, atol=1e-12)


def test_memory_holds_one_resample_at_a_time():
    statistics = np.ones((20_000, 10), np.int64)
    tracemalloc.start()
    paired_bootstrap(statistics, statistics, resamples=100)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * 2 * statistics.nbytes  # all draws would take five times as much as that


class TestInterval:
    def test_is_as_wide_as_sacrebleu_s(self, references):
        hypotheses = noisy(references, 0.3, 4)
        low, high = bootstrap(sentence_statistics(hypotheses, references), resamples=200)
        bleu = token_bleu(hypotheses, references, resamples=200)
        assert (high - low) / 2 == pytest.approx(bleu.interval, abs=1e-6)
        assert low < bleu.score < high

    def test_a_fortieth_is_left_out_at_either_end(self, references):
        statistics = np.array(sentence_statistics(noisy(references, 0.3, 4), references))
        scores = sorted(_scores(np.stack(list(_draws(60, 80, seed=9))) @ statistics))
        assert bootstrap(statistics, resamples=80, seed=9) == (scores[2], scores[77])

    def test_the_seed_decides(self, references):
        statistics = sentence_statistics(noisy(references, 0.3, 4), references)
        assert bootstrap(statistics, 100) == bootstrap(statistics, 100, seed=12345) != bootstrap(statistics, 100, 1)

    def test_one_resample_at_least(self):
        with pytest.raises(ValueError, match="resamples: expected at least 1, got 0"):
            bootstrap([[1] * 10], resamples=0)


class TestPaired:
    @pytest.mark.parametrize("shares", [(0.3, 0.3), (0.3, 0.33), (0.3, 0.4), (0.2, 0.6)])
    def test_p_value_is_sacrebleu_s(self, references, shares):
        theirs, ours = (noisy(references, share, seed) for seed, share in enumerate(shares))
        metrics = {"BLEU": BLEU(tokenize="none", lowercase=True, force=True)}
        test = PairedTest([("theirs", theirs), ("ours", ours)], metrics, [references], "bs", n_samples=200)
        baseline, compared = test()[1]["BLEU"]
        found = paired_bootstrap(
            sentence_statistics(ours, references), sentence_statistics(theirs, references), resamples=200
        )
        assert found.p_value == compared.p_value
        assert found.difference == pytest.approx(compared.score - baseline.score, abs=1e-9)

    def test_two_directions(self, references):
        ours, theirs = (sentence_statistics(noisy(references, share, 5), references) for share in (0.2, 0.4))
        forth, back = paired_bootstrap(ours, theirs, 200), paired_bootstrap(theirs, ours, 200)
        assert 0 < forth.low < forth.difference < forth.high
        assert back == (-forth.difference, -forth.high, -forth.low, forth.p_value)
        assert forth.p_value < 0.01

    def test_the_same_sentences_are_drawn_for_both(self, references):
        """The better system has one word more right in every sentence: no draw makes it the worse one."""
        longer = [f"{line} end end end end" for line in references]
        worse = [f"{line} end end end x" for line in noisy(references, 0.4, 6)]
        better = [line[:-1] + "end" for line in worse]
        found = paired_bootstrap(sentence_statistics(better, longer), sentence_statistics(worse, longer), 300)
        alone = bootstrap(sentence_statistics(better, longer), 300)
        assert found.low > 0
        assert found.high - found.low < alone.high - alone.low

    def test_a_system_does_not_differ_from_itself(self, references):
        statistics = sentence_statistics(noisy(references, 0.3, 4), references)
        assert paired_bootstrap(statistics, statistics, 100) == (0, 0, 0, 1)

    def test_other_numbers_of_sentences(self):
        with pytest.raises(ValueError, match="theirs: expected the statistics of 2 sentences, as ours has, got 1"):
            paired_bootstrap([[1] * 10] * 2, [[1] * 10])
