"""What tests of recorded searches share: output layers, models and sentences, and a recorder where there is no GPU."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from trellex.nmt.build import build_model
from trellex.nmt.recorder import WaitsForDeviceError
from trellex.nmt.settings import ModelSettings

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
    {"type": "hierarchical", "code": "huffman"},
]
OTHERS = [
    "hybrid-9",
    {"type": "binary-ec", "code": "huffman"},
    {"type": "adaptive", "cutoffs": [4]},
]
on_gpu = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")]
DEVICES = ["cpu", pytest.param("cuda", marks=on_gpu)]


def sentences(count, longest=20, seed=0):
    """Of mixed lengths, with limits that some translations meet."""
    random = np.random.default_rng(seed)
    sources = [random.integers(3, SOURCE_SIZE, random.integers(1, longest + 1)) for _ in range(count)]
    return sources, random.integers(1, 40, count).tolist()


def model_on(model_of, device, head="softmax", **options):
    """A model of its own, which a test may change; more than others it listens to the words before."""
    model = copy.deepcopy(model_of(head, **options).model)
    model.network.embedding.weight.mul_(3)
    return model.to(device)


def composed_model(head, seed):
    """One whose vectors are composed from codes."""
    torch.manual_seed(seed)
    embeddings = {"type": "composed", "code": "random", "memory": 3, "residual": 4, "frequent": 9}
    sizes = ModelSettings(embedding_size=16, hidden_size=16, embeddings=embeddings)
    model = build_model(sizes, head, SOURCE_SIZE, 40).eval().requires_grad_(False)
    for weight in model.parameters():
        weight.mul_(2)
    for vectors in (model.network.source_embedding, model.network.embedding):
        vectors.own.normal_()
    return model


def take_weights(model, other):
    """Those of another model, in another place."""
    model.load_state_dict(copy.deepcopy(other.state_dict()), assign=True)
    model.network.decoder.lstm.flatten_parameters()


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


def on_tape(kind, model, tape):
    """A recorded search of some kind, whose recorder is a tape."""
    search = kind(model.network, model.head)
    search._check_weights()
    search._recorder = tape
    return search
