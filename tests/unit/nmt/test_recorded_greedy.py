"""Recorded greedy search finds what the common search does; where there is no GPU, by steps that are not recorded."""

import copy
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from trellex.nmt import recorded_greedy
from trellex.nmt.build import build_model
from trellex.nmt.recorded_greedy import RecordedGreedy
from trellex.nmt.recorder import WARM_UP, WaitsForDeviceError
from trellex.nmt.settings import ModelSettings
from trellex.search import greedy, length_limit
from trellex.search.loop import Choice, grow
from trellex.text.vocabulary import EOS

SOURCE_SIZE = 40
COMPLETE = {"generators": "complete", "memory": 3, "code": "frequency"}
SHELVES = {"type": "shelves", "words": 4, "visit": 3, "memory": 3, "code": "frequency"}
RECORDABLE = [
    "softmax",
    {"type": "softmax", "tied": True},
    {"type": "binary-ec", "loss": "trellis"},
    {"type": "binary-ec", **COMPLETE},
    {"type": "binary", "decoding": "paper"},
    {"type": "hybrid-9", "decoding": "paper"},
    {"type": "hybrid-9-ec", "loss": "trellis"},
    {"type": "hybrid-9-ec", "decoding": "paper"},
    {"type": "hybrid-9-ec", "mixtures": 3},
    SHELVES,
    "differentiated",
    {"type": "free", "bits": 16},
]
OTHERS = [
    "hybrid-9",
    {"type": "binary-ec", "code": "huffman"},
    {"type": "hierarchical", "code": "huffman"},
    {"type": "adaptive", "cutoffs": [4]},
]
on_gpu = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")]
DEVICES = ["cpu", pytest.param("cuda", marks=on_gpu)]


def sentences(count, longest=20, seed=0):
    """Of mixed lengths, with limits that some translations meet."""
    random = np.random.default_rng(seed)
    sources = [random.integers(3, SOURCE_SIZE, random.integers(1, longest + 1)) for _ in range(count)]
    return sources, random.integers(1, 40, count).tolist()


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


def model_on(model_of, device, head="softmax", **options):
    """A model of its own, which a test may change; more than others it listens to the words before."""
    model = copy.deepcopy(model_of(head, **options).model)
    model.network.embedding.weight.mul_(3)
    return model.to(device)


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
    assert {rows for rows, _ in search._desks} == {128, 64, 32, 16, 8}


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
    monkeypatch.setattr(recorded_greedy, "FEW_ROWS", 1)
    monkeypatch.setattr(recorded_greedy, "MOST_DESKS", 2)
    model = model_on(model_of, device)
    search = search_of(model)
    for longest in (5, 40, 20):  # more memory, and less
        sources, limits = sentences(33, longest)
        assert search(sources, limits) == common(model, sources, limits)
        assert len(search._desks) <= 2


def test_more_rows_than_a_desk_has(model_of, monkeypatch):
    monkeypatch.setattr(recorded_greedy, "MOST_ROWS", 16)
    model = model_on(model_of, "cpu")
    search = search_of(model)
    sources, limits = sentences(50)
    assert search(sources, limits) == common(model, sources, limits)
    assert {rows for rows, _ in search._desks} <= {16, 8, 2}


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
@pytest.mark.parametrize("move", [lambda model, _: model.double(), lambda *both: _assign(*both)], ids=["kind", "place"])
def test_weights_that_move_are_found(model_of, move, device):
    model, other = model_on(model_of, device), model_on(model_of, device, seed=1)
    search = search_of(model)
    sources, limits = sentences(20)
    search(sources, limits)
    desks = [*search._desks.values()]
    move(model, other)
    assert search(sources, limits) == common(model, sources, limits)
    assert not set(search._desks.values()) & set(desks)


def _assign(model, other):
    model.load_state_dict(copy.deepcopy(other.state_dict()), assign=True)
    model.network.decoder.lstm.flatten_parameters()


@pytest.mark.parametrize("device", DEVICES)
def test_what_cannot_be_told_is_left_to_the_common_search(model_of, device):
    """Shelves that are not visited may hold the best word."""
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


def test_in_main_memory_and_in_training_the_common_search_is_asked(model_of):
    model = model_on(model_of, "cpu")
    assert model.greedy(*sentences(3)) == [None] * 3
    assert model._recorded is None


def test_copies_have_no_recordings(model_of):
    model = model_on(model_of, "cpu")
    model._recorded = search_of(model)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other._recorded is None
        assert other.greedy(*sentences(1)) == [None]


def test_no_sentences(model_of):
    assert search_of(model_on(model_of, "cpu"))([], []) == []


class Tape:
    """In the place of a GPU's recorder: what it plays is computed again."""

    def __init__(self, waits=False, fails=None):
        self.waits, self.fails, self.played = waits, fails, 0

    def direct(self, compute, may_wait=True):
        if self.waits and not may_wait:
            raise WaitsForDeviceError("it does")
        compute()

    def recorded(self, compute):
        if self.fails:
            raise self.fails

        def replay():
            self.played += 1
            compute()

        return SimpleNamespace(replay=replay), None


def on_tape(model, tape):
    search = RecordedGreedy(model.network, model.head)
    search._check_weights()
    search._recorder = tape
    return search


def test_recordings_follow_what_was_computed_directly(model_of):
    model, tape = model_on(model_of, "cpu"), Tape()
    model.head.linear.bias[EOS] = -1e4
    search = on_tape(model, tape)
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
        search = on_tape(model, Tape()) if device == "cpu" else search_of(model)
    sources, limits = sentences(20)
    for expected in models:
        model.load_state_dict(expected.state_dict())
        found = [search(sources, limits) for _ in range(WARM_UP + 1)][-1]
        assert any(found)
        assert all(words in (None, best) for words, best in zip(found, common(expected, sources, limits), strict=True))
    assert common(model, sources, limits) == common(other, sources, limits)


def composed_model(head, seed):
    torch.manual_seed(seed)
    embeddings = {"type": "composed", "code": "random", "memory": 3, "residual": 4}
    sizes = ModelSettings(embedding_size=16, hidden_size=16, embeddings=embeddings)
    model = build_model(sizes, head, SOURCE_SIZE, 40).eval().requires_grad_(False)
    for weight in model.parameters():
        weight.mul_(2)
    return model


@pytest.mark.parametrize("error", [None, torch.OutOfMemoryError("none left"), RuntimeError("capturing")], ids=str)
def test_what_cannot_be_recorded_is_left_to_the_common_search_for_good(model_of, error, recwarn):
    model = model_on(model_of, "cpu")
    model.head.linear.bias[EOS] = -1e4
    search = on_tape(model, Tape(waits=error is None, fails=error))
    sources, _ = sentences(5)
    assert search(sources, [9] * 5) == [None] * 5
    assert not search._desks
    search._recorder = Tape()
    assert search(sources, [9] * 5) == [None] * 5
    assert [str(each.message) for each in recwarn] == (
        ["greedy search cannot be recorded, and is slower without: capturing"] if type(error) is RuntimeError else []
    )
