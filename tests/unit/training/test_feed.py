"""The batches of a training, apart from any steps on them."""

import numpy as np
import pytest


@pytest.fixture
def feed(recipe, trainer):
    """60 pairs in batches of 7."""
    return trainer(recipe(batch_sentences=7)).feed


def same(one, other):
    return len(one) == len(other) and all(np.array_equal(*pair) for pair in zip(one, other, strict=True))


def test_it_goes_on_after_any_step(feed):
    stream = feed.after(0)
    batches = [next(stream) for _ in range(30)]
    for step in (0, 1, 8, 9, 10, 27):
        resumed = feed.after(step)
        assert same([next(resumed) for _ in range(30 - step)], batches[step:])


def test_some_batches_have_about_as_many_tokens_as_are_asked_for(feed):
    epoch = feed.epoch(3)
    tokens = np.cumsum(list(map(feed.tokens_of, epoch)))
    for count in (1, 4):
        assert same(list(feed.some(3, tokens[count - 1])), epoch[:count])
        assert same(list(feed.some(3, tokens[count - 1] + 1)), epoch[: count + 1])
    assert same(list(feed.some(3, 10 * tokens[-1])), epoch)  # an epoch at most
    assert list(feed.some(3, 0)) == []


def test_no_batch_of_the_first_epoch_predicts_more_than_the_largest(feed):
    def words(rows):
        return feed.prepared(rows).ids[2].numel()

    feed._is_widened = True
    assert words(feed.largest()) == max(map(words, feed.epoch(0)))
