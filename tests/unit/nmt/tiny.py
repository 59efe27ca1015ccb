"""A model so small that it can be computed by hand, and sentences for it."""

import numpy as np
import torch

from trellex.nmt.build import build_model
from trellex.nmt.model import target_pair
from trellex.nmt.settings import ModelSettings
from trellex.text.batches import flat, pad
from trellex.text.vocabulary import EOS

SOURCE_SIZE, TARGET_SIZE = 23, 31
SOURCES = [np.array([5, 9, 3, 22]), np.array([7]), np.array([0, 3, 4, 5, 6, 7, 8]), np.array([20, 4])]
TARGETS = [np.array([30, 4, 4]), np.array([8, 0, 17, 25, 9, 6]), np.array([3]), np.array([], int)]
HEADS = [
    "softmax",
    "binary",
    "binary-ec",
    "hybrid-9",
    {"type": "hybrid-9-ec", "loss": "trellis"},
    {"type": "hybrid-9-ec", "mixtures": 3},
]


def tiny_model(head="softmax", input_feeding=False, dropout=0.3):
    """Double precision, weights from a formula, in evaluation mode."""
    settings = ModelSettings(embedding_size=6, hidden_size=4, dropout=dropout, input_feeding=input_feeding)
    model = build_model(settings, head, SOURCE_SIZE, TARGET_SIZE).double().eval()
    named = {name.removeprefix("network."): parameter for name, parameter in model.named_parameters()}
    with torch.no_grad():
        for place, name in enumerate(sorted(named)):
            values = 0.8 * torch.sin(1.7 * torch.arange(named[name].numel(), dtype=torch.float64) + place)
            named[name].copy_(values.view(named[name].shape))
    return model


def source_tensors(sources, padding=EOS):
    """[N, S], [N]"""
    return torch.from_numpy(pad(sources, padding)), torch.tensor([len(source) for source in sources])


def losses(model, sources, targets):
    """[N, T]"""
    return model(*source_tensors(sources), *map(torch.from_numpy, target_pair(*flat(targets))))
