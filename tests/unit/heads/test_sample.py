"""Words are drawn with just their tempered probabilities, from the generator that is given."""

import numpy as np
import pytest
import torch
from by_hand import (
    ADAPTIVE,
    DIFFERENTIATED,
    FREE,
    HIERARCHICAL,
    SHELVES,
    TIED,
    ByHand,
    hidden_states,
    name_of,
    random_head,
)
from scipy.stats import chisquare

HYBRIDS = ["hybrid-6", "hybrid-6-ec", {"type": "hybrid-6-ec", "numbering": "rare"}]
SINGLE = ["softmax", TIED, "binary", "binary-ec", *HYBRIDS]
LAYERED = [{"type": "hybrid-6-ec", "hidden_layer": 7}]
MIXED = [{"type": kind, "mixtures": 3} for kind in ("binary", "binary-ec", "hybrid-6", "hybrid-6-ec")] + [
    {"type": "hybrid-6-ec", "mixtures": 2, "hidden_layer": 7},
    {"type": "hybrid-6-ec", "mixtures": 2, "numbering": "paper"},
]
COMPLETE = [{"type": kind, "generators": "complete", "memory": 3} for kind in ("binary-ec", "hybrid-6-ec")]
RIVALS = [*HIERARCHICAL, *DIFFERENTIATED, *FREE, ADAPTIVE[0], {"type": "adaptive", "cutoffs": [6], "div_value": 1.5}]
ALL = SINGLE + LAYERED + MIXED + COMPLETE + SHELVES + RIVALS


def p_value(words, probs):
    """Of the chi-squared test, with the words that are seldom expected as one. words [N], probs [V]"""
    counts, expected = np.bincount(words, minlength=len(probs)), probs * len(words)
    assert len(counts) == len(probs)
    seldom = expected < 10
    counts = [*counts[~seldom], *([counts[seldom].sum()] if seldom.any() else [])]
    expected = [*expected[~seldom], *([expected[seldom].sum()] if seldom.any() else [])]
    assert len(counts) > 5
    return chisquare(counts, expected).pvalue


class TestDistribution:
    @pytest.mark.parametrize("temperature", [1.0, 0.3, 0.5, 2.0])
    @pytest.mark.parametrize("spec", ALL, ids=name_of)
    def test_follows_the_tempered_probabilities(self, spec, temperature):
        draws = 20_000
        head, h = random_head(spec, 20, scale=0.3, dtype=torch.float32), hidden_states(1).float()
        words = head.sample(h.expand(draws, -1), temperature, torch.Generator().manual_seed(0))
        assert words.shape == (draws,)
        assert words.dtype == torch.int64
        assert p_value(words, ByHand(head, spec, h).tempered_probs(temperature)[0]) > 1e-3

    @pytest.mark.parametrize("spec", MIXED, ids=name_of)
    def test_the_temperature_is_that_of_part_and_word_together(self, spec):
        """Not that of the word alone, whose distribution the same test tells apart."""
        head, h = random_head(spec, 20, scale=0.3, dtype=torch.float32), hidden_states(1).float()
        words = head.sample(h.expand(20_000, -1), 0.5, torch.Generator().manual_seed(0))
        of_words_alone = np.exp(2 * ByHand(head, spec, h).log_probs()[0])
        assert p_value(words, of_words_alone / of_words_alone.sum()) < 1e-6

    @pytest.mark.parametrize("spec", ALL, ids=name_of)
    def test_a_low_temperature_takes_the_best_part_and_word(self, spec):
        head, h = random_head(spec, 20, dtype=torch.float32), hidden_states(50).float()
        expected = ByHand(head, spec, h).tempered_probs(0.02)
        words = head.sample(h, 0.02, torch.Generator().manual_seed(0)).numpy()
        clear = expected.max(-1) > 0.9999
        assert clear.sum() > 25
        assert np.array_equal(words[clear], expected.argmax(-1)[clear])


class TestGenerator:
    @pytest.mark.parametrize("temperature", [1.0, 0.7])
    @pytest.mark.parametrize("spec", ALL, ids=name_of)
    def test_the_same_seed_draws_the_same_words(self, spec, temperature):
        head, h = random_head(spec, 20, scale=0.3), hidden_states(1).expand(200, -1)

        def sample(seed):
            return head.sample(h, temperature, torch.Generator().manual_seed(seed))

        assert torch.equal(sample(1), sample(1))
        assert not torch.equal(sample(1), sample(2))

    @pytest.mark.parametrize("spec", ALL, ids=name_of)
    def test_leaves_the_global_one_alone(self, spec):
        head, h = random_head(spec, 20), hidden_states(5)
        before = torch.get_rng_state()
        head.sample(h, 0.7, generator=torch.Generator().manual_seed(1))
        assert torch.equal(torch.get_rng_state(), before)

    @pytest.mark.parametrize("spec", ALL, ids=name_of)
    def test_is_the_global_one_by_default(self, spec):
        head, h = random_head(spec, 20, scale=0.3), hidden_states(1).expand(200, -1)
        torch.manual_seed(1)
        words = head.sample(h, 0.7)
        assert torch.equal(words, head.sample(h, 0.7, torch.Generator().manual_seed(1)))
