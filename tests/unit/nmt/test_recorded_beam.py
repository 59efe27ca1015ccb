"""Recorded beams are those of the common search; where there is no GPU, by steps that are not recorded."""

import copy
import pickle
from itertools import chain
from unittest.mock import Mock

import numpy as np
import pytest
import recordable
import torch
from recordable import (
    DEVICES,
    OTHERS,
    RECORDABLE,
    SHELVES,
    Tape,
    composed_model,
    on_tape,
    sentences,
    take_weights,
)

from trellex.heads import shelf_distribution
from trellex.nmt import recorded_search, steps_ahead
from trellex.nmt.recorded_beam import MOST_WIDTH, RecordedBeam
from trellex.nmt.recorder import WARM_UP
from trellex.search import beam
from trellex.text.vocabulary import EOS

OF_MANY_KINDS = [  # sentences, width, nbest, length penalty
    (3, 1, 1, 0.0),
    (40, 5, 3, 1.0),
    (1, 12, 12, 0.0),
    (17, 2, 1, 1.0),
    (9, 12, 4, 1.0),
    (1, 5, 1, 0.0),
]

BY_LOOP = [*OTHERS, *({"type": kind, "decoding": "paper"} for kind in ("hybrid-9", "hybrid-9-ec"))]  # on a GPU
ON_DEVICE = [head for head in RECORDABLE if head not in BY_LOOP]


class Watched:
    """A recorded search in place of a model's own, and what it found the last time: None of what it left."""

    def __init__(self, search):
        self.search = search

    def __call__(self, *arguments):
        self.found = self.search(*arguments)
        return self.found


def model_on(*arguments, **options):
    """In double precision, so that rounding, which depends on how many rows there are, makes no beam choose another."""
    return recordable.model_on(*arguments, **options).double()


def search_of(model):
    return RecordedBeam(model.network, model.head, is_recorded=model.device.type == "cuda")


def sources_of(*arguments, **options):
    return sentences(*arguments, **options)[0]


def beams(model, search, sources, *options):
    """What `beam` finds if a model's own beams are these; None where it asked the common search."""
    model.beams = watched = Watched(search)
    with model.inference():
        found = beam(model, sources, *options)
    del model.beams
    return [None if own is None else best for own, best in zip(watched.found, found, strict=True)], found


def common(model, sources, *options):
    model = copy.deepcopy(model).cpu()
    with model.inference():
        return beam(model, sources, *options)


def assert_same(found, expected):
    assert [[best.words for best in each] for each in found] == [[best.words for best in each] for each in expected]
    for mine, theirs in zip(chain(*found), chain(*expected), strict=True):
        assert mine.is_finished == theirs.is_finished
        assert np.float32(mine.log_probs).tolist() == mine.log_probs  # as models tell them
        np.testing.assert_allclose(mine.log_probs, theirs.log_probs, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(mine.score, theirs.score, rtol=1e-4, atol=1e-4)


def check(model, search, sources, *options):
    """Everything comes from recorded steps, and is what the common search finds."""
    own, _ = beams(model, search, sources, *options)
    expected = common(model, sources, *options)
    assert_same(own, expected)
    return own


@pytest.fixture
def limits_are_mixed(monkeypatch):
    """Some are met by many hypotheses, some by none."""
    monkeypatch.setattr("trellex.search.beam_search.length_limit", lambda length: 1 + 5 * length % 23)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("feeds", [False, True], ids=["no feeding", "input feeding"])
@pytest.mark.parametrize("head", ON_DEVICE + BY_LOOP, ids=str)
@pytest.mark.usefixtures("limits_are_mixed")
def test_translations_are_those_of_the_common_search_in_main_memory(model_of, head, feeds, device):
    model = model_on(model_of, device, head, input_feeding=feeds)
    search = search_of(model)
    for count, *options in OF_MANY_KINDS:
        sources = sources_of(count, seed=count)
        own, found = beams(model, search, sources, *options)
        assert_same(found, common(model, sources, *options))
        assert (None not in own) or (device == "cuda" and head in BY_LOOP)
    if device == "cuda":
        assert any(desk.is_recorded for desk in search._desks.values()) == (head in ON_DEVICE)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("head", ON_DEVICE, ids=str)
@pytest.mark.usefixtures("limits_are_mixed")
def test_in_single_precision_nearly_all_are(model_of, head, device):
    model = recordable.model_on(model_of, device, head)
    sources = sources_of(40)
    own, found = beams(model, search_of(model), sources, 5)
    expected = common(model, sources, 5)
    assert None not in own
    same = [mine.words == theirs.words for (mine,), (theirs,) in zip(found, expected, strict=True)]
    assert sum(same) > 36
    assert_same(*zip(*((own[place], expected[place]) for place in np.flatnonzero(same)), strict=True))


@pytest.mark.skipif(torch.cuda.is_available(), reason="the GPU runs the kernels in the other tests")
def test_shelves_by_kernels_in_the_interpreter(model_of, monkeypatch):
    """More shelves than are read at once."""
    fused_ranking = pytest.importorskip("trellex.trellis.fused_ranking", reason="Triton is not installed")
    monkeypatch.setattr("trellex.search.beam_search.length_limit", lambda _: 6)
    model, sources = recordable.model_on(model_of, "cpu", SHELVES | {"words": 2}, target_size=80), sources_of(3)
    expected = common(model, sources, 3, 2)
    for module in ("code_distribution", "shelf_distribution", "shelves", "shelf_scores"):
        monkeypatch.setattr(f"trellex.heads.{module}.has_kernels", lambda _: True)
    ranked = Mock(wraps=fused_ranking.ranked)
    monkeypatch.setattr(fused_ranking, "ranked", ranked)
    own, _ = beams(model, search_of(model), sources, 3, 2)
    assert_same(own, expected)
    assert ranked.called


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.usefixtures("limits_are_mixed")
def test_ends_of_all_kinds(model_of, device):
    """At once, later, and by the limit; many rows become few."""
    model = model_on(model_of, device)
    model.head.linear.bias[EOS] += 5
    search = search_of(model)
    found = [*chain(*check(model, search, sources_of(70), 3, 3))]
    assert any(best.words == [] for best in found)
    assert any(best.is_finished and best.words for best in found)
    assert any(not best.is_finished for best in found)
    assert {shape[:2] for shape in search._desks} == {(sentences, 3) for sentences in (128, 64, 32, 16, 8, 4, 2)}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("bias", [-1e4, 1e4])
@pytest.mark.usefixtures("limits_are_mixed")
def test_never_and_always_the_end(model_of, bias, device):
    model = model_on(model_of, device)
    model.head.linear.bias[EOS] = bias
    sources = sources_of(30)
    for (best, *_), source in zip(check(model, search_of(model), sources, 4, 2), sources, strict=True):
        assert len(best.words) == (1 + 5 * len(source) % 23 if bias < 0 else 0)


@pytest.mark.parametrize("device", DEVICES)
def test_one_sentence_left_and_few_desks(model_of, device, monkeypatch):
    monkeypatch.setattr(steps_ahead, "FEW_ROWS", 1)
    monkeypatch.setattr(recorded_search, "MOST_DESKS", 2)
    model = model_on(model_of, device)
    model.head.linear.bias[EOS] += 4
    search = search_of(model)
    for longest in (5, 40, 20):  # more memory, and less
        check(model, search, sources_of(13, longest), 3)
        assert len(search._desks) <= 2


@pytest.mark.usefixtures("limits_are_mixed")
def test_more_rows_than_a_desk_has(model_of, monkeypatch):
    monkeypatch.setattr(recorded_search, "MOST_ROWS", 16)
    model = model_on(model_of, "cpu")
    search = search_of(model)
    check(model, search, sources_of(25), 3, 2)
    assert {shape[:2] for shape in search._desks} == {(4, 3), (2, 3), (1, 3)}
    check(model, search, sources_of(5), 16)
    assert {shape[:2] for shape in search._desks} == {(1, 16)}


@pytest.mark.usefixtures("limits_are_mixed")
def test_of_equal_totals_the_first_slot_goes_first_and_the_better_word(model_of):
    """All that may follow is one of few probabilities, whatever came before: totals are equal in many orders."""
    model = model_on(model_of, "cpu")
    model.head.linear.weight.zero_()
    model.head.linear.bias.copy_(-torch.arange(40).remainder(3).log1p())
    for width in (2, 5, 12):
        found = check(model, search_of(model), sources_of(6), width, width)
        assert any(len({best.score for best in each}) < len(each) for each in found)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("head", ["softmax", {"type": "binary-ec", "loss": "trellis"}], ids=str)
@pytest.mark.parametrize("size", [4, 5])
def test_fewer_words_than_the_beam_is_wide(model_of, head, size, device):
    model = model_on(model_of, device, head, target_size=size)
    check(model, search_of(model), sources_of(9, 4), 12, 12)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("at_once", "width"), [(3, 2), (5, 5), (8, 12)])
@pytest.mark.usefixtures("limits_are_mixed")
def test_where_other_words_may_be_better_the_common_search_is_asked(model_of, at_once, width, device, monkeypatch):
    """Shelves that are not read may hold words that the beam would keep."""
    monkeypatch.setattr(shelf_distribution, "AT_ONCE", at_once)
    monkeypatch.setattr(shelf_distribution, "SHELVES_A_WORD", 0)
    model = model_on(model_of, device, SHELVES | {"visit": 1})
    model.head.shelves.weight.mul_(4)
    sources = sources_of(40)
    own, found = beams(model, search_of(model), sources, width, 2)
    expected = common(model, sources, width, 2)
    assert 0 < own.count(None) < 40
    assert_same(found, expected)
    told = [(mine, theirs) for mine, theirs in zip(own, expected, strict=True) if mine is not None]
    assert_same(*zip(*told, strict=True))


@pytest.mark.parametrize("device", DEVICES)
def test_weights_that_change_in_their_place_are_read_anew(model_of, device):
    model, other = model_on(model_of, device), model_on(model_of, device, seed=1)
    search, sources = search_of(model), sources_of(10)
    before = check(model, search, sources, 3)
    desks = [*search._desks.values()]
    model.load_state_dict(other.state_dict())
    assert check(model, search, sources, 3) != before
    assert [*search._desks.values()] == desks


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("move", [lambda model, _: model.float(), take_weights], ids=["kind", "place"])
def test_weights_that_move_are_found(model_of, move, device):
    model, other = model_on(model_of, device), model_on(model_of, device, seed=1)
    search, sources = search_of(model), sources_of(10)
    check(model, search, sources, 3)
    desks = [*search._desks.values()]
    move(model, other)
    check(model, search, sources, 3)
    assert not set(search._desks.values()) & set(desks)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("head", ["softmax", {"type": "softmax", "tied": True}, SHELVES], ids=str)
def test_composed_vectors_are_composed_anew_where_recordings_look_for_them(head, device):
    models = [composed_model(head, seed).double().to(device) for seed in (0, 1)]
    model, other = models
    with torch.inference_mode():
        search = on_tape(RecordedBeam, model, Tape()) if device == "cpu" else search_of(model)
    sources = sources_of(5)
    for expected in models:
        model.load_state_dict(expected.state_dict())
        for _ in range(WARM_UP + 1):
            own, _ = beams(model, search, sources, 3)
        assert_same(own, common(expected, sources, 3))
    assert common(model, sources, 3) == common(other, sources, 3)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("head", ["softmax", {"type": "binary-ec", "loss": "trellis"}, SHELVES], ids=str)
def test_damaged_weights_are_an_error(model_of, head, device):
    model = model_on(model_of, device, head)
    for weight in model.head.parameters():
        weight.fill_(torch.nan)
    with pytest.raises(ValueError, match="NaN|no word can follow"):
        beams(model, search_of(model), sources_of(3), 5)


@pytest.mark.parametrize(("device", "training"), [("cpu", False), ("cuda", True)])
def test_in_main_memory_and_in_training_the_common_search_is_asked(model_of, monkeypatch, device, training):
    model = model_on(model_of, "cpu").train(training)
    monkeypatch.setattr(type(model), "device", torch.device(device))
    assert model.beams(*sentences(3), 2, None) == [None] * 3
    assert not model._recorded


def test_attention_is_told_by_the_common_search(model_of):
    model = model_on(model_of, "cpu")
    model.beams = Watched(None)  # which cannot be called
    with model.inference():
        (best,), _ = beam(model, sources_of(2), 2, attention=True)
    assert best.attention is not None


def test_wide_beams_are_left_to_the_common_search(model_of):
    model = model_on(model_of, "cpu")
    search = search_of(model)
    own, _ = beams(model, search, sources_of(2, 3), MOST_WIDTH + 1)
    assert own == [None] * 2
    check(model, search, sources_of(2, 3), MOST_WIDTH)


def test_copies_have_no_recordings(model_of):
    model = model_on(model_of, "cpu")
    model._recorded[RecordedBeam] = search_of(model)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert not other._recorded
        assert other.beams(*sentences(1), 2, None) == [None]


def test_no_sentences(model_of):
    model = model_on(model_of, "cpu")
    assert beams(model, search_of(model), [], 3) == ([], [])


def test_recordings_follow_what_was_computed_directly(model_of, monkeypatch):
    monkeypatch.setattr("trellex.search.beam_search.length_limit", lambda _: 20)
    model, tape = model_on(model_of, "cpu"), Tape()
    model.head.linear.bias[EOS] = -1e4
    search, sources = on_tape(RecordedBeam, model, tape), sources_of(1)
    check(model, search, sources, 5)
    assert tape.played == 20 - WARM_UP
    check(model, search, sources, 5)
    assert tape.played == 40 - WARM_UP


@pytest.mark.parametrize("error", [None, torch.OutOfMemoryError("none left"), RuntimeError("capturing")], ids=str)
def test_what_cannot_be_recorded_is_left_to_the_common_search_for_good(model_of, error, recwarn):
    model = model_on(model_of, "cpu")
    model.head.linear.bias[EOS] = -1e4
    search, sources = on_tape(RecordedBeam, model, Tape(waits=error is None, fails=error)), sources_of(5)
    for _ in range(2):
        own, found = beams(model, search, sources, 3)
        assert own == [None] * 5
        assert_same(found, common(model, sources, 3))
        assert not search._desks
        search._recorder = Tape()
    if error is None:  # what waits for several words does for any number of them
        assert beams(model, search, sources, 2)[0] == [None] * 5
    else:
        check(model, search, sources, 2)
    assert [str(each.message) for each in recwarn] == (
        ["beam search cannot be recorded, and is slower without: capturing"] if type(error) is RuntimeError else []
    )
