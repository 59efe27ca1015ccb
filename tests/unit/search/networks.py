"""Small networks with weights large enough that they say different things."""

import torch

from trellex.nmt.build import build_model
from trellex.nmt.model import TranslationModel
from trellex.nmt.settings import ModelSettings

SOURCE_SIZE = 40
MIXTURE = {"type": "hybrid-9-ec", "loss": "trellis", "mixtures": 3}


def network(head, target_size=40, input_feeding=False, kind=TranslationModel, seed=0):
    """Without dropout and gradients; sources have ids below SOURCE_SIZE."""
    torch.manual_seed(seed)
    settings = ModelSettings(embedding_size=16, hidden_size=16, input_feeding=input_feeding)
    made = build_model(settings, head, SOURCE_SIZE, target_size)
    model = kind(made.network, made.head).eval().requires_grad_(False)
    for parameter in model.parameters():
        parameter.normal_(0, 0.5)
    return model
