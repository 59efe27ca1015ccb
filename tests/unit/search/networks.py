"""Small networks with weights large enough that they say different things."""

import torch

from trellex.heads import build_head
from trellex.nmt import ModelSettings, TranslationModel

SOURCE_SIZE = 40
MIXTURE = {"type": "hybrid-9-ec", "loss": "trellis", "mixtures": 3}


def network(head, target_size=40, input_feeding=False, kind=TranslationModel, seed=0):
    """Without dropout and gradients; sources have ids below SOURCE_SIZE."""
    torch.manual_seed(seed)
    settings = ModelSettings(embedding_size=16, hidden_size=16, input_feeding=input_feeding)
    head = build_head(head, hidden_size=16, vocab=target_size)
    model = kind(settings, SOURCE_SIZE, target_size, head).eval().requires_grad_(False)
    for parameter in model.parameters():
        parameter.normal_(0, 0.5)
    return model
