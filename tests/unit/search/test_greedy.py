"""Greedy search over a scripted model in numpy and over networks."""

import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from trellex.heads import build_head
from trellex.nmt import ModelSettings, TranslationModel
from trellex.search import greedy, length_limit
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


class TestScripts:
    def test_translations_come_in_order_and_without_eos(self):
        sources = [np.array(source) for source in ([3, 4, 5], [9], [8, 7, 6, 5, 4], [11, 12])]
        assert greedy(Echo(), sources) == [[5, 4, 3], [9], [4, 5, 6, 7, 8], [12, 11]]

    def test_finished_sentences_leave_the_batch(self):
        model = Echo()
        greedy(model, [np.array(source) for source in ([3, 4, 5], [9], [8, 7, 6, 5, 4], [11, 12])])
        assert model.batch_sizes == [4, 4, 3, 2, 1, 1]

    def test_nothing_follows_an_end_of_sentence(self):
        assert greedy(Echo(), [np.array([7, 8, EOS, 5]), np.array([EOS])]) == [[5], []]

    def test_runaways_meet_the_limit_of_their_own_source(self):
        sources = [np.full(length, 5) for length in (3, 1, 8)]
        model = Babbler()
        translations = greedy(model, sources)
        assert [len(words) for words in translations] == [length_limit(3), length_limit(1), length_limit(8)]
        assert translations[1] == list(range(10, 10 + length_limit(1)))
        assert len(model.batch_sizes) == length_limit(8)
        assert model.batch_sizes[-1] == 1

    def test_the_limit_grows_with_the_source(self):
        assert [length_limit(length) for length in (1, 2, 50)] == [12, 14, 110]

    def test_unk_and_bos_are_words_like_others(self):
        assert greedy(Echo(), [np.array([BOS, 0])]) == [[0, BOS]]

    def test_no_sources(self):
        assert greedy(Echo(), []) == []


class Hasty(TranslationModel):
    """Stops where its hidden state says so, which with random weights happens sooner or later."""

    def topk(self, state, k):
        words, log_probs = super().topk(state, k)
        words[state.hidden[:, 0].numpy() > 0.8] = EOS
        return words, log_probs


def network(head, input_feeding=False):
    """Weights large enough that it says different things."""
    torch.manual_seed(0)
    settings = ModelSettings(embedding_size=16, hidden_size=16, input_feeding=input_feeding)
    model = Hasty(settings, 40, 40, build_head(head, hidden_size=16, vocab=40)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.5)
    return model


class TestNetworks:
    @pytest.fixture(autouse=True)
    def _no_gradients(self):
        with torch.inference_mode():
            yield

    @pytest.mark.parametrize("input_feeding", [False, True])
    @pytest.mark.parametrize("head", ["softmax", "binary", "binary-ec", "hybrid-9", "hybrid-9-ec"])
    def test_a_translation_does_not_depend_on_the_batch(self, head, input_feeding):
        rng = np.random.default_rng(0)
        sources = [rng.integers(3, 40, length) for length in (1, 9, 4, 2, 6, 3, 5, 12)]
        model = network(head, input_feeding)
        together = greedy(model, sources)
        assert [greedy(model, [source])[0] for source in sources] == together
        assert greedy(model, sources[::-1])[::-1] == together
        assert len({tuple(words) for words in together}) > 1
        limits = [length_limit(len(source)) for source in sources]
        assert all(len(words) <= limit for words, limit in zip(together, limits, strict=True))
        assert len(set(map(len, together))) > 1
        assert not any(EOS in words for words in together)

    def test_words_are_the_best_after_all_before_them(self):
        model, source = network("softmax"), np.array([5, 17, 30])
        state = model.start([source])
        for word in [*greedy(model, [source])[0], EOS][: length_limit(3)]:
            assert model.topk(state, 1)[0].item() == word
            state = model.step(state, np.array([word]))

    def test_no_sources(self):
        assert greedy(network("softmax"), []) == []


def test_searching_needs_no_torch():
    script = "import sys, trellex.search; sys.exit(bool({'torch', 'numba'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0
