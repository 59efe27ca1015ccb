"""Greedy search over models in numpy, scripted and tabular, and over networks."""

import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest
from networks import MIXTURE, network
from tabular import Table, as_found, plain_greedy

from trellex.nmt.model import TranslationModel
from trellex.search import beam, greedy, length_limit
from trellex.text.vocabulary import BOS, EOS


@dataclass
class ScriptedState:
    scripts: list[list[int]]
    place: int

    def select(self, rows):
        return ScriptedState([self.scripts[row] for row in rows], self.place)


class Echo:
    """Says the source backwards, then EOS."""

    def __init__(self):
        self.batch_sizes = []

    def start(self, sources):
        return ScriptedState([source[::-1].tolist() for source in sources], 0)

    def step(self, state, words):
        assert words.tolist() == [self.word(script, state.place) for script in state.scripts]
        return ScriptedState(state.scripts, state.place + 1)

    def topk(self, state, k):
        self.batch_sizes.append(len(state.scripts))
        words = np.array([[self.word(script, state.place)] * k for script in state.scripts])
        return words, np.zeros(words.shape)

    def word(self, script, place):
        return script[place] if place < len(script) else EOS


class Babbler(Echo):
    """Never stops of its own accord."""

    def word(self, script, place):
        return 10 + place


def words_of(hypotheses):
    return [hypothesis.words for hypothesis in hypotheses]


class TestScripts:
    def test_translations_come_in_order_and_without_eos(self):
        sources = [np.array(source) for source in ([3, 4, 5], [9], [8, 7, 6, 5, 4], [11, 12])]
        assert words_of(greedy(Echo(), sources)) == [[5, 4, 3], [9], [4, 5, 6, 7, 8], [12, 11]]

    def test_finished_sentences_leave_the_batch(self):
        model = Echo()
        greedy(model, [np.array(source) for source in ([3, 4, 5], [9], [8, 7, 6, 5, 4], [11, 12])])
        assert model.batch_sizes == [4, 4, 3, 2, 1, 1]

    def test_nothing_follows_an_end_of_sentence(self):
        translations = greedy(Echo(), [np.array([7, 8, EOS, 5]), np.array([EOS])])
        assert words_of(translations) == [[5], []]
        assert [len(translation.log_probs) for translation in translations] == [2, 1]

    def test_runaways_meet_the_limit_of_their_own_source(self):
        sources = [np.full(length, 5) for length in (3, 1, 8)]
        model = Babbler()
        translations = greedy(model, sources)
        limits = [length_limit(3), length_limit(1), length_limit(8)]
        assert [len(translation.words) for translation in translations] == limits
        assert [len(translation.log_probs) for translation in translations] == limits
        assert not any(translation.is_finished for translation in translations)
        assert translations[1].words == list(range(10, 10 + length_limit(1)))
        assert len(model.batch_sizes) == length_limit(8)
        assert model.batch_sizes[-1] == 1

    def test_a_sentence_that_ends_within_the_limit_is_finished(self):
        fits = Echo().start([np.full(length_limit(1), 5)])
        for length, is_finished in ((length_limit(1) - 1, True), (length_limit(1), False)):
            model = Echo()
            model.start = lambda sources, length=length: ScriptedState([fits.scripts[0][:length]], 0)
            (translation,) = greedy(model, [np.array([5])])
            assert len(translation.words) == length
            assert translation.is_finished == is_finished

    def test_the_limit_grows_with_the_source(self):
        assert [length_limit(length) for length in (1, 2, 50)] == [12, 14, 110]

    def test_unk_and_bos_are_words_like_others(self):
        assert words_of(greedy(Echo(), [np.array([BOS, 0])])) == [[0, BOS]]

    def test_no_sources(self):
        assert greedy(Echo(), []) == []


class TestTables:
    @pytest.mark.parametrize("impossible", [0.0, 0.4])
    def test_the_best_word_again_and_again(self, impossible):
        lengths = set()
        for seed in range(100):
            model, sources = Table(seed, 5, impossible=impossible), [np.array([7]), np.array([4, 4])]
            expected = [plain_greedy(model, source, length_limit(len(source))) for source in sources]
            found = greedy(model, sources)
            assert as_found(found) == expected
            assert [one for (one,) in beam(model, sources, 1)] == found
            lengths |= {len(one.words) for one in found}
        assert {0, 1, 2, 5} < lengths

    @pytest.mark.parametrize("options", [{}, {"length_penalty": 0.0}, {"length_penalty": 0.6}])
    def test_the_score_is_the_log_probability_over_a_power_of_the_length(self, options):
        sources = [np.full(length, 4) for length in range(1, 9)]
        found = greedy(Table(3, 5), sources, **options)
        for hypothesis in found:
            divisor = len(hypothesis.log_probs) ** options.get("length_penalty", 1.0)
            assert hypothesis.score == pytest.approx(sum(hypothesis.log_probs) / divisor, rel=1e-12)
            assert hypothesis.log_prob == sum(hypothesis.log_probs)
        assert [one for (one,) in beam(Table(3, 5), sources, 1, **options)] == found

    def test_without_scores_the_words_are_the_same(self):
        for seed in range(20):
            sources = [np.full(length, 4) for length in range(1, 9)]
            with_scores = greedy(Table(seed, 5), sources)
            without = greedy(Table(seed, 5), sources, scores=False)
            assert words_of(without) == words_of(with_scores)
            assert [one.is_finished for one in without] == [one.is_finished for one in with_scores]
            assert all(np.isnan(one.log_probs).all() for one in without)


class Hasty(TranslationModel):
    """Stops where its hidden state says so, which with random weights happens sooner or later."""

    def topk(self, state, k):
        words, log_probs = super().topk(state, k)
        words[state.hidden[:, 0].numpy() > 0.8] = EOS
        return words, log_probs


class TestNetworks:
    @pytest.mark.parametrize("input_feeding", [False, True])
    @pytest.mark.parametrize(
        "head",
        [
            "softmax",
            "binary",
            "binary-ec",
            "hybrid-9",
            "hybrid-9-ec",
            {"type": "hybrid-9-ec", "decoding": "paper"},
            MIXTURE,
        ],
        ids=str,
    )
    def test_a_translation_does_not_depend_on_the_batch(self, head, input_feeding):
        rng = np.random.default_rng(0)
        sources = [rng.integers(3, 40, length) for length in (1, 9, 4, 2, 6, 3, 5, 12)]
        model = network(head, input_feeding=input_feeding, kind=Hasty)
        together = words_of(greedy(model, sources))
        assert [greedy(model, [source])[0].words for source in sources] == together
        assert words_of(greedy(model, sources[::-1]))[::-1] == together
        assert len({tuple(words) for words in together}) > 1
        limits = [length_limit(len(source)) for source in sources]
        assert all(len(words) <= limit for words, limit in zip(together, limits, strict=True))
        assert len(set(map(len, together))) > 1
        assert not any(EOS in words for words in together)

    def test_words_are_the_best_after_all_before_them(self):
        model, source = network("softmax", kind=Hasty), np.array([5, 17, 30])
        (found,) = greedy(model, [source])
        state = model.start([source])
        for word, log_prob in zip([*found.words, EOS], found.log_probs, strict=False):
            best, value = model.topk(state, 1)
            assert (best.item(), value.item()) == (word, pytest.approx(log_prob, abs=1e-5))
            state = model.step(state, np.array([word]))

    def test_no_sources(self):
        assert greedy(network("softmax"), []) == []


def test_searching_needs_no_torch():
    script = "import sys, trellex.search; sys.exit(bool({'torch', 'numba'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0
