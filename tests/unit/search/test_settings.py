"""Settings: what they refuse and which search they choose; and batches."""

import numpy as np
import pytest
from tabular import Table

from trellex.search import SearchSettings, beam, greedy, in_batches, sample

SOURCES = [np.array([3]), np.array([8, 5])]


class TestSettings:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"beam": 0}, "beam and nbest: expected 1 to 10,000, got 0 and 1"),
            ({"beam": 1 << 62}, f"beam and nbest: expected 1 to 10,000, got {1 << 62} and 1"),
            ({"nbest": 10_001, "sample": True}, "beam and nbest: expected 1 to 10,000, got 1 and 10001"),
            ({"nbest": 0}, "beam and nbest: expected 1 to 10,000, got 1 and 0"),
            ({"nbest": -3, "sample": True}, "beam and nbest: expected 1 to 10,000, got 1 and -3"),
            ({"beam": 4, "sample": True}, "beam: sampling has no beam, got 4; leave one of sample and beam out"),
            ({"nbest": 2}, "nbest: a beam of 1 finds no more, got 2; widen the beam"),
            ({"beam": 4, "nbest": 5}, "nbest: a beam of 4 finds no more, got 5; widen the beam"),
            ({"temperature": 0.5}, "temperature: only sampling has one, got 0.5; add sample"),
            ({"temperature": float("nan")}, "temperature: only sampling has one, got nan; add sample"),
            *(
                ({"length_penalty": penalty}, f"length_penalty: expected 0 to 10, got {penalty}")
                for penalty in (-0.1, 10.5, float("inf"), float("nan"))
            ),
            *(
                (
                    {"sample": True, "temperature": temperature},
                    f"temperature: expected 0.001 to 1,000, got {temperature}; greedy is its limit at 0",
                )
                for temperature in (0.0, -1.0, 1e-4, 1001.0, float("inf"), float("nan"))
            ),
        ],
        ids=str,
    )
    def test_what_cannot_be_is_refused(self, options, message):
        with pytest.raises(ValueError) as error:  # noqa: PT011, the whole message is compared
            SearchSettings(**options)
        assert str(error.value) == message

    def test_what_can_be_is_not(self):
        for options in (
            {"beam": 4, "nbest": 4, "length_penalty": 0},
            {"sample": True, "nbest": 10, "temperature": 0.1},
            {"length_penalty": 2.5},
            {"length_penalty": 10},
            {"sample": True, "temperature": 1e-3},
            {"sample": True, "temperature": 1e3},
        ):
            SearchSettings(**options)

    def test_greedy_search_is_the_default(self):
        model = Table(0, 5)
        found = SearchSettings().search(model, SOURCES, np.random.default_rng(0))
        assert [one for (one,) in found] == greedy(model, SOURCES)
        found = SearchSettings(length_penalty=0.3).search(model, SOURCES, np.random.default_rng(0))
        assert [one for (one,) in found] == greedy(model, SOURCES, length_penalty=0.3)

    def test_a_beam(self):
        model = Table(0, 5)
        for length_penalty in (0.0, 1.0):
            settings = SearchSettings(beam=5, nbest=3, length_penalty=length_penalty)
            found = settings.search(model, SOURCES, np.random.default_rng(0))
            assert found == beam(model, SOURCES, 5, 3, length_penalty)
        assert SearchSettings(beam=5).search(model, SOURCES, np.random.default_rng(0)) == beam(model, SOURCES, 5)

    def test_samples(self):
        model, random = Table(0, 5), np.random.default_rng(1)
        settings = SearchSettings(sample=True, nbest=3, temperature=0.7)
        found = settings.search(model, SOURCES, random)
        assert found == sample(model, SOURCES, 3, 0.7, seed=1)
        assert settings.search(model, SOURCES, random) != found


class TestBatches:
    LENGTHS = (4, 0, 1, 7, 0, 2, 3, 1)

    @pytest.fixture
    def sources(self):
        return [np.arange(10 * row, 10 * row + length) for row, length in enumerate(self.LENGTHS)]

    @pytest.mark.parametrize("batch_tokens", [1, 2, 4, 6, 100])
    def test_the_order_is_kept_and_empty_gives_none(self, sources, batch_tokens):
        found = in_batches(lambda batch: [source.tolist() for source in batch], batch_tokens, sources)
        assert found == [source.tolist() if len(source) else None for source in sources]

    @pytest.mark.parametrize(
        ("batch_tokens", "expected"),
        [(3, [[7], [4], [3], [2], [1, 1]]), (8, [[7], [3, 4], [1, 1, 2]]), (14, [[4, 7], [1, 1, 2, 3]])],
    )
    def test_like_lengths_are_together_the_longest_first(self, sources, batch_tokens, expected):
        seen = []

        def search(batch):
            seen.append([len(source) for source in batch])
            return batch

        in_batches(search, batch_tokens, sources)
        assert seen == expected

    def test_others_stay_with_their_sources(self, sources):
        names, numbers = [f"name {row}" for row in range(8)], list(range(8))
        found = in_batches(lambda *columns: list(zip(*columns, strict=True)), 3, sources, names, numbers)
        for row, result in enumerate(found):
            if self.LENGTHS[row]:
                assert result == (sources[row], names[row], numbers[row])
            else:
                assert result is None

    def test_a_search_that_loses_one_is_refused(self, sources):
        with pytest.raises(ValueError, match="zip"):
            in_batches(lambda batch: batch[1:], 3, sources)

    def test_nothing_to_search(self):
        def search(batch):
            raise AssertionError

        assert in_batches(search, 4, []) == []
        assert in_batches(search, 4, [np.array([], int)] * 2) == [None, None]
