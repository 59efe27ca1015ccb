"""Recorded greedy search finds what the common search does; where there is no GPU, by steps that are not recorded."""

import copy
import pickle
import threading
import time

import numpy as np
import pytest
import torch
from recordable import (
    DEVICES,
    OTHERS,
    RECORDABLE,
    SHELVES,
    Tape,
    composed_model,
    model_on,
    on_tape,
    sentences,
    take_weights,
)

from trellex.nmt import recorded_search, steps_ahead
from trellex.nmt.recorded_greedy import RecordedGreedy
from trellex.nmt.recorder import WARM_UP
from trellex.search import greedy, length_limit
from trellex.search.loop import Choice, grow
from trellex.text.vocabulary import EOS


def common(model, sources, limits):
    """What the common search finds: words, and EOS where that was reached."""

    def choose(rows):
        words = model.best(rows.state)
        return Choice(None, words, np.full(len(words), np.nan))

    with model.inference():
        found = grow(model, sources, choose, limits=limits)
    return [[*best.words, *[EOS] * best.is_finished] for (best,) in found]


def search_of(model):
    return RecordedGreedy(model.network, model.head, is_recorded=model.device.type == "cuda")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("feeds", [False, True], ids=["no feeding", "input feeding"])
@pytest.mark.parametrize("head", [*RECORDABLE, *OTHERS], ids=str)
def test_words_are_those_of_the_common_search_in_main_memory(model_of, head, feeds, device):
    here, there = (model_on(model_of, each, head, input_feeding=feeds) for each in ("cpu", device))
    search = search_of(there)
    for count in (70, 1, 17, 2, 70):
        sources, limits = sentences(count, seed=count)
        expected = common(here, sources, limits)
        for found, words in zip(search(sources, limits), expected, strict=True):
            assert found == words or (found is None and (head == SHELVES or (device == "cuda" and head in OTHERS)))
    if device == "cuda":
        assert any(desk.is_recorded for desk in search._desks.values()) == (head in RECORDABLE)


@pytest.mark.parametrize("device", DEVICES)
def test_ends_of_all_kinds(model_of, device):
    """At once, later, and by the limit; many rows become few."""
    model = model_on(model_of, device)
    model.head.linear.bias[EOS] += 4
    sources, limits = sentences(70)
    search = search_of(model)
    found = search(sources, limits)
    assert found == common(model, sources, limits)
    assert [EOS] in found
    assert any(words[-1] == EOS and len(words) > 1 for words in found)
    assert any(words[-1] != EOS and len(words) == limit for words, limit in zip(found, limits, strict=True))
    assert {rows for rows, *_ in search._desks} == {128, 64, 32, 16, 8}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("bias", [-1e4, 1e4])
def test_never_and_always_the_end(model_of, bias, device):
    model = model_on(model_of, device)
    model.head.linear.bias[EOS] = bias
    sources, limits = sentences(30)
    found = search_of(model)(sources, limits)
    assert [len(words) for words in found] == (limits if bias < 0 else [1] * 30)
    assert found == common(model, sources, limits)


@pytest.mark.parametrize("device", DEVICES)
def test_one_row_left_and_few_desks(model_of, device, monkeypatch):
    monkeypatch.setattr(steps_ahead, "FEW_ROWS", 1)
    monkeypatch.setattr(recorded_search, "MOST_DESKS", 2)
    model = model_on(model_of, device)
    search = search_of(model)
    for longest in (5, 40, 20):  # more memory, and less
        sources, limits = sentences(33, longest)
        assert search(sources, limits) == common(model, sources, limits)
        assert len(search._desks) <= 2


def test_more_rows_than_a_desk_has(model_of, monkeypatch):
    monkeypatch.setattr(recorded_search, "MOST_ROWS", 16)
    model = model_on(model_of, "cpu")
    search = search_of(model)
    sources, limits = sentences(50)
    assert search(sources, limits) == common(model, sources, limits)
    assert {rows for rows, *_ in search._desks} <= {16, 8, 2}


@pytest.mark.parametrize("device", DEVICES)
def test_weights_that_change_in_their_place_are_read_anew(model_of, device):
    model, other = model_on(model_of, device), model_on(model_of, device, seed=1)
    search = search_of(model)
    sources, limits = sentences(20)
    before = search(sources, limits)
    desks = [*search._desks.values()]
    model.load_state_dict(other.state_dict())
    after = search(sources, limits)
    assert [*search._desks.values()] == desks
    assert after == common(other, sources, limits) != before


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("move", [lambda model, _: model.double(), take_weights], ids=["kind", "place"])
def test_weights_that_move_are_found(model_of, move, device):
    model, other = model_on(model_of, device), model_on(model_of, device, seed=1)
    search = search_of(model)
    sources, limits = sentences(20)
    search(sources, limits)
    desks = [*search._desks.values()]
    move(model, other)
    assert search(sources, limits) == common(model, sources, limits)
    assert not set(search._desks.values()) & set(desks)


@pytest.mark.parametrize("device", DEVICES)
def test_what_cannot_be_told_is_left_to_the_common_search(model_of, device, monkeypatch):
    """Shelves that are not visited may hold the best word, and kernels read but few more."""
    if device == "cuda":
        monkeypatch.setattr("trellex.heads.fused_choices.MOST_FURTHER", 0)
    model = model_on(model_of, device, SHELVES | {"visit": 1})
    sources, limits = sentences(40)
    search = search_of(model)
    found = search(sources, limits)
    expected = common(model, sources, limits)
    assert 0 < found.count(None) < 40
    assert all(words in (None, best) for words, best in zip(found, expected, strict=True))
    model.greedy = search
    with model.inference():
        found = greedy(model, sources, scores=False)
    expected = common(model, sources, [length_limit(len(source)) for source in sources])
    assert [[*best.words, *[EOS] * best.is_finished] for best in found] == expected


@pytest.mark.parametrize("device", DEVICES)
def test_damaged_weights_are_an_error(model_of, device):
    model = model_on(model_of, device, {"type": "binary-ec", "loss": "trellis"})
    model.head.bits.linear.weight.fill_(torch.nan)
    model.greedy = search_of(model)
    with model.inference(), pytest.raises(ValueError, match="NaN|no word can follow"):
        greedy(model, *sentences(3)[:1], scores=False)


@pytest.mark.parametrize(("device", "training"), [("cpu", False), ("cuda", True)])
def test_in_main_memory_and_in_training_the_common_search_is_asked(model_of, monkeypatch, device, training):
    model = model_on(model_of, "cpu").train(training)
    monkeypatch.setattr(type(model), "device", torch.device(device))
    assert model.greedy(*sentences(3)) == [None] * 3
    assert not model._recorded


def test_copies_have_no_recordings(model_of):
    model = model_on(model_of, "cpu")
    model._recorded[RecordedGreedy] = search_of(model)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert not other._recorded
        assert other.greedy(*sentences(1)) == [None]


def test_no_sentences(model_of):
    assert search_of(model_on(model_of, "cpu"))([], []) == []


def test_recordings_follow_what_was_computed_directly(model_of):
    model, tape = model_on(model_of, "cpu"), Tape()
    model.head.linear.bias[EOS] = -1e4
    search = on_tape(RecordedGreedy, model, tape)
    sources, _ = sentences(1)
    assert search(sources, [20]) == common(model, sources, [20])
    assert tape.played == 20 - WARM_UP
    assert search(sources, [20]) == common(model, sources, [20])
    assert tape.played == 40 - WARM_UP


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("head", ["softmax", {"type": "softmax", "tied": True}, SHELVES], ids=str)
def test_composed_vectors_are_composed_anew_where_recordings_look_for_them(head, device):
    models = [composed_model(head, seed).to(device) for seed in (0, 1)]
    model, other = models
    with torch.inference_mode():
        search = on_tape(RecordedGreedy, model, Tape()) if device == "cpu" else search_of(model)
    sources, limits = sentences(20)
    for expected in models:
        model.load_state_dict(expected.state_dict())
        found = [search(sources, limits) for _ in range(WARM_UP + 1)][-1]
        assert any(found)
        assert all(words in (None, best) for words, best in zip(found, common(expected, sources, limits), strict=True))
    assert common(model, sources, limits) == common(other, sources, limits)


def test_what_another_thread_refused_is_recorded_the_next_time(model_of, recwarn):
    """While one sees to it that nothing waits, waiting is an error in all of them."""
    model = model_on(model_of, "cpu")
    model.head.linear.bias[EOS] = -1e4
    tape = Tape(fails=RuntimeError("called a synchronizing CUDA operation"))
    search, (sources, _) = on_tape(RecordedGreedy, model, tape), sentences(5)
    assert search(sources, [9] * 5) == [None] * 5
    tape.fails = None
    assert search(sources, [9] * 5) == common(model, sources, [9] * 5)
    assert tape.played
    assert not recwarn


def test_what_another_thread_finds_to_wait_is_not_recorded(model_of, recwarn):
    """Both have come before either has looked."""
    model = model_on(model_of, "cpu")
    tape = Tape(waits=True, fails=RuntimeError("recorded although it waits"))
    search, (sources, limits) = on_tape(RecordedGreedy, model, tape), sentences(5)
    found = []
    with search._lock:
        threads = [threading.Thread(target=lambda: found.append(search(sources, limits))) for _ in range(2)]
        for thread in threads:
            thread.start()
        time.sleep(0.1)
    for thread in threads:
        thread.join()
    assert found == [[None] * 5] * 2
    assert not search._given_up
    assert not recwarn


@pytest.mark.parametrize("error", [None, torch.OutOfMemoryError("none left"), RuntimeError("capturing")], ids=str)
def test_what_cannot_be_recorded_is_left_to_the_common_search_for_good(model_of, error, recwarn):
    model = model_on(model_of, "cpu")
    model.head.linear.bias[EOS] = -1e4
    search = on_tape(RecordedGreedy, model, Tape(waits=error is None, fails=error))
    sources, _ = sentences(5)
    assert search(sources, [9] * 5) == [None] * 5
    assert not search._desks
    search._recorder = Tape()
    assert search(sources, [9] * 5) == [None] * 5
    assert [str(each.message) for each in recwarn] == (
        ["greedy search cannot be recorded, and is slower without: capturing"] if type(error) is RuntimeError else []
    )
