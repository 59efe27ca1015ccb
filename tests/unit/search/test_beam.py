"""Beam search against enumeration and against a beam in plain Python, and that batches change nothing."""

import importlib

import numpy as np
import pytest
from networks import MIXTURE, network
from tabular import Table, as_found, every_translation, plain_beam, ranked

from trellex.search import beam, greedy, length_limit, score
from trellex.text.vocabulary import EOS

SOURCE = np.array([3])


@pytest.fixture
def limit_to(monkeypatch):
    """Sets the limit of length of all sentences."""
    module = importlib.import_module("trellex.search.beam_search")
    return lambda limit: monkeypatch.setattr(module, "length_limit", lambda length: limit)


@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.0])
class TestEnumeration:
    """A beam that has room for everything finds the best of everything."""

    def test_all_translations_in_order(self, length_penalty):
        for seed in range(5):
            model = Table(seed, last=4)
            every = ranked(every_translation(model, SOURCE, length_limit(1)), length_penalty)
            assert len(every) == 1 + 3 + 9 + 27 + 81
            found = beam(model, [SOURCE], len(every), len(every), length_penalty)[0]
            assert as_found(found) == every
            assert all(one.is_finished for one in found)

    @pytest.mark.parametrize("nbest", [1, 2, 10, 50])
    def test_the_best_few(self, length_penalty, nbest):
        for seed in range(10):
            model = Table(seed, last=4, end=1.0)
            every = ranked(every_translation(model, SOURCE, length_limit(1)), length_penalty)
            assert as_found(beam(model, [SOURCE], 150, nbest, length_penalty)[0]) == every[:nbest]

    @pytest.mark.parametrize("nbest", [1, 3, 40, 60, 121])
    def test_those_cut_off_come_last(self, length_penalty, nbest, limit_to):
        limit_to(4)
        for seed in range(3):
            model = Table(seed, end=-2.0)
            every = ranked(every_translation(model, SOURCE, 4), length_penalty)
            assert [one.is_finished for one in every] == [True] * 40 + [False] * 81
            assert as_found(beam(model, [SOURCE], 121, nbest, length_penalty)[0]) == every[:nbest]

    def test_impossible_words_are_never_said(self, length_penalty):
        for seed in range(10):
            model = Table(seed, 5, last=4, impossible=0.5)
            every = ranked(every_translation(model, SOURCE, length_limit(1)), length_penalty)
            assert as_found(beam(model, [SOURCE], 350, 350, length_penalty)[0]) == every


def test_the_penalty_decides_between_short_and_long():
    lengths = {}
    for length_penalty in (0.0, 1.0):
        models = [Table(seed, last=4, end=-0.5) for seed in range(20)]
        best = [beam(model, [SOURCE], 150, length_penalty=length_penalty)[0][0] for model in models]
        lengths[length_penalty] = np.mean([len(one.words) for one in best])
    assert lengths[0.0] < lengths[1.0] - 0.5


def test_a_wide_beam_finds_nothing_less_probable_than_greedy():
    gains = []
    for seed in range(50):
        model = Table(seed, last=4)
        ((best,),) = beam(model, [SOURCE], 121, length_penalty=0.0)
        gains.append(best.log_prob - greedy(model, [SOURCE])[0].log_prob)
    assert min(gains) >= 0
    assert max(gains) > 0.1


class TestHypotheses:
    @pytest.fixture(params=range(20))
    def case(self, request):
        """A model, sources, settings and what was found."""
        random = np.random.default_rng(request.param)
        model = Table(request.param, 5, end=random.normal() - 1)
        sources = [np.array([4, 9]), np.array([3]), np.array([6, 6, 6])]
        width = int(random.integers(2, 7))
        settings = {"width": width, "nbest": int(random.integers(2, width + 1)), "length_penalty": random.random()}
        return model, sources, settings, beam(model, sources, **settings)

    def test_scores_follow_from_log_probs(self, case):
        _, _, settings, found = case
        for one in (one for best in found for one in best):
            assert one.score == pytest.approx(sum(one.log_probs) / len(one.log_probs) ** settings["length_penalty"])
            assert one.log_prob == pytest.approx(sum(one.log_probs))
            assert len(one.log_probs) == len(one.words) + one.is_finished

    def test_as_many_as_asked_for_best_first_and_distinct(self, case):
        _, _, settings, found = case
        for best in found:
            assert len(best) == settings["nbest"]
            assert [one.is_finished for one in best] == sorted((one.is_finished for one in best), reverse=True)
            for is_finished in (True, False):
                scores = [one.score for one in best if one.is_finished == is_finished]
                assert scores == sorted(scores, reverse=True)
            assert len({(tuple(one.words), one.is_finished) for one in best}) == len(best)
            assert not any(EOS in one.words for one in best)

    def test_log_probs_are_those_of_the_words(self, case):
        model, sources, _, found = case
        for source, best in zip(sources, found, strict=True):
            scored = score(model, [source] * len(best), [np.array(one.words, int) for one in best])
            for one, forced in zip(best, scored, strict=True):
                assert one.log_probs == forced.log_probs[: len(one.log_probs)]

    def test_unfinished_ones_have_as_many_words_as_the_limit_allows(self, case):
        _, sources, _, found = case
        for source, best in zip(sources, found, strict=True):
            limit = length_limit(len(source))
            assert all(len(one.log_probs) <= limit if one.is_finished else len(one.words) == limit for one in best)


class Scripted(Table):
    """Given probabilities after some beginnings, EOS after all others."""

    def __init__(self, probabilities):
        super().__init__(0, 5)
        self.probabilities = probabilities

    def log_probs(self, source, words):
        chosen = self.probabilities.get(tuple(words), {EOS: 1.0})
        with np.errstate(divide="ignore"):
            return np.log([chosen.get(word, 0.0) for word in range(5)])


class TestEarlyEnd:
    def test_changes_nothing_and_saves_steps(self, limit_to):
        saved = 0
        for seed in range(600):
            random = np.random.default_rng(seed)
            width, limit = int(random.integers(1, 7)), int(random.integers(4, 13))
            nbest = int(random.integers(1, width + 1))
            length_penalty = float(random.choice([0.0, 0.3, 0.6, 1.0, 1.5]))
            model = Table(
                seed,
                size=int(random.integers(4, 7)),
                end=2 * random.normal(),
                impossible=random.choice([0.0, 0.3]),
                scale=random.choice([0.5, 1.5, 3.0]),
            )
            limit_to(limit)
            expected, steps, rows = plain_beam(model, SOURCE, width, length_penalty, limit)
            assert as_found(beam(model, [SOURCE], width, nbest, length_penalty)[0]) == expected[:nbest], seed
            assert model.steps <= steps
            assert model.rows_read <= rows
            saved += steps - model.steps
        assert saved > 100

    def test_nothing_is_saved_where_all_are_wanted(self):
        for seed in range(20):
            model = Table(seed, 5)
            expected, steps, rows = plain_beam(model, SOURCE, 4, 1.0, length_limit(1))
            assert as_found(beam(model, [SOURCE], 4, 4)[0]) == expected
            assert (model.steps, model.rows_read) == (steps, rows)

    @pytest.mark.parametrize(("nbest", "steps"), [(1, 0), (2, 1), (3, 2), (4, 3)])
    def test_comes_as_soon_as_nothing_open_can_be_better(self, nbest, steps):
        model = Scripted({(): {0: 0.4, EOS: 0.6}, (0,): {0: 0.1, 1: 0.1, EOS: 0.8}, (0, 0): {0: 0.5, EOS: 0.5}})
        beam(model, [SOURCE], 4, nbest, length_penalty=0.0)
        assert model.steps == steps

    def test_a_hopeless_hypothesis_keeps_its_place_while_others_go_on(self):
        """The room that 1 takes when it ends decides between 0 0 3, better at first, and 0 0 4."""
        model = Scripted(
            {
                (): {0: 0.85, 1: 0.05, EOS: 0.1},
                (0,): {0: 0.96, 1: 0.02, EOS: 0.02},
                (1,): {3: 0.1, EOS: 0.9},
                (0, 0): {3: 0.5, 4: 0.45, EOS: 0.05},
                (0, 0, 3): {0: 0.3, 1: 0.3, EOS: 0.4},
                (0, 0, 4): {3: 0.05, EOS: 0.95},
            }
        )
        expected, _, _ = plain_beam(model, SOURCE, 3, 0.0, length_limit(1))
        assert expected[0].words == (0, 0, 3)
        assert as_found(beam(model, [SOURCE], 3, length_penalty=0.0)[0]) == expected[:1]


def sources_of(*lengths):
    random = np.random.default_rng(0)
    return [random.integers(3, 40, length) for length in lengths]


class TestBatches:
    """A sentence's translations do not depend on those beside it."""

    @pytest.mark.parametrize(("width", "nbest", "length_penalty"), [(1, 1, 0.0), (3, 1, 1.0), (4, 4, 0.6), (6, 2, 0.0)])
    def test_tables(self, width, nbest, length_penalty):
        sources = sources_of(1, 5, 2, 1, 3, 2)
        for seed in range(10):
            settings = (width, nbest, length_penalty)
            alone_models = [Table(seed, 5, end=-1.0) for _ in sources]
            alone = [beam(model, [x], *settings)[0] for model, x in zip(alone_models, sources, strict=True)]
            model = Table(seed, 5, end=-1.0)
            assert beam(model, sources, *settings) == alone
            assert model.steps == max(one.steps for one in alone_models)
            assert model.rows_read == sum(one.rows_read for one in alone_models)
            assert beam(model, sources[::-1], *settings)[::-1] == alone
            assert beam(model, [*sources, *sources], *settings) == alone + alone

    @pytest.mark.parametrize("head", ["softmax", "binary-ec", MIXTURE], ids=str)
    def test_networks(self, head):
        sources, every = sources_of(1, 6, 4, 2, 3), []
        for seed in range(3):
            model = network(head, 12, seed=seed)
            alone = [beam(model, [source], 4, 3, 0.6)[0] for source in sources]
            every += [one for best in alone for one in best]
            for order in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 4, 1, 3]):
                together = beam(model, [sources[row] for row in order], 4, 3, 0.6)
                for row, best in zip(order, together, strict=True):
                    assert [one.words for one in best] == [one.words for one in alone[row]]
                    for one, other in zip(best, alone[row], strict=True):
                        np.testing.assert_allclose(one.log_probs, other.log_probs, atol=1e-5)
                        assert one.score == pytest.approx(other.score, abs=1e-5)
        assert 0 < sum(one.is_finished for one in every) < len(every)
        assert len({tuple(one.words) for one in every}) > 10

    def test_no_sources(self):
        assert beam(Table(0), [], 4, 2) == []


class TestFewWords:
    """Where there are fewer words than the beam is wide, a model's best words end in −1."""

    def test_tables(self):
        for seed in range(20):
            model = Table(seed, 3, impossible=0.3)
            found = beam(model, [SOURCE, np.array([4, 4])], 8, 8)
            assert {word for best in found for one in best for word in one.words} <= {0, 1}
            assert np.isfinite([one.score for best in found for one in best]).all()
            assert [as_found(found[0])] == [plain_beam(model, SOURCE, 8, 1.0, length_limit(1))[0]]

    @pytest.mark.parametrize(
        "head", ["softmax", "binary-ec", "hybrid-3-ec", {**MIXTURE, "type": "hybrid-3-ec"}], ids=str
    )
    def test_networks(self, head):
        (found,) = beam(network(head, 5), [np.array([5, 17])], 9, 9)
        assert len(found) == 9
        assert {word for one in found for word in one.words} <= {0, 1, 3, 4}
        assert np.isfinite([one.score for one in found]).all()


@pytest.mark.parametrize("head", ["softmax", "binary-ec", MIXTURE], ids=str)
def test_networks_score_what_they_found_alike(head):
    model, sources = network(head, 12), sources_of(2, 5, 3)
    for source, best in zip(sources, beam(model, sources, 5, 5), strict=True):
        scored = score(model, [source] * 5, [np.array(one.words, int) for one in best])
        for one, forced in zip(best, scored, strict=True):
            np.testing.assert_allclose(one.log_probs, forced.log_probs[: len(one.log_probs)], atol=1e-5)


class Broken(Table):
    """A model whose probabilities are NaN, which no head finds a word for."""

    def topk(self, state, k):
        words, log_probs = super().topk(state, k)
        return np.full_like(words, -1), np.full_like(log_probs, np.nan)


@pytest.mark.parametrize("width", [1, 3])
def test_probabilities_that_are_none_end_the_search(width):
    with pytest.raises(ValueError, match="weights are damaged"):
        beam(Broken(0), [np.array([5])], width)


@pytest.mark.parametrize("width", [2, 3])
def test_so_do_those_of_one_sentence_beside_others(width):
    class PartlyBroken(Table):
        def topk(self, state, k):
            words, log_probs = super().topk(state, k)
            is_broken = np.array([source == (6,) for source, _ in state.rows])
            words[is_broken], log_probs[is_broken] = -1, np.nan
            return words, log_probs

    with pytest.raises(ValueError, match="weights are damaged"):
        beam(PartlyBroken(0), [np.array([5]), np.array([6])], width)
