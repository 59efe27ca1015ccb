"""Models of random weights, with activations of the size that training gives, as exported folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from forced import Forced, Ints, names, translate
from trellex.heads import Head, build_head
from trellex.heads.hybrid import HybridHead
from trellex.heads.shelves import ShelvesHead
from trellex.loaded import LoadedModel
from trellex.nmt.build import build_model
from trellex.nmt.model import TranslationModel
from trellex.nmt.settings import ModelSettings
from trellex.runtime.export import export
from trellex.text.manifest import TextSettings
from trellex.text.vocabulary import MARKERS, Vocabulary

GAIN = 2.0  # of every layer, so that states spread as those of trained networks do
LOGIT_GAIN = 6.0  # of a softmax: logits spread by a few nats
BIT_GAIN = 30.0  # of bits: with error correction they are so sure that OTHER nearly always leads to a rare word
OTHER_SHARE = 0.15  # of the words, how many a hybrid's softmax leaves to the bits
TEXT = TextSettings(
    source_language="en", target_language="de", source_tokenizer="whitespace", target_tokenizer="whitespace"
)


def spec_of(method: str) -> str | dict[str, Any]:
    """Code heads decode exactly, and rare words are numbered apart; shelves have any words.

    method: a type, perhaps followed by "complete" or "shortlist", or of shelves by "visit" and how many
    """
    kind, *options = method.split()
    if kind == "softmax":
        return kind
    if kind == "shelves":
        return {"type": kind, "code": "random"} | ({"visit": int(options[1])} if options else {})
    return {"type": kind} | ({"generators": "complete"} if options else {"loss": "trellis"})


class RandomModels:
    """Networks that differ in the output layer only.

    Args:
        source_size, target_size: words
        hidden_size: H, also the size of the word vectors
    """

    def __init__(self, source_size: int, target_size: int, hidden_size: int) -> None:
        self.sizes, self.hidden_size = (source_size, target_size), hidden_size
        self._model: TranslationModel | None = None

    def model(self, method: str) -> TranslationModel:
        """One network whose output layer is exchanged: the model asked for before changes, too."""
        if self._model is None:
            torch.manual_seed(0)
            settings = ModelSettings(embedding_size=self.hidden_size, hidden_size=self.hidden_size)
            self._model = build_model(settings, spec_of(method), *self.sizes).eval()
            spread(self._model.network, GAIN)
        self._model.head = self._head(method).eval()
        return self._model

    def _head(self, method: str) -> Head:
        torch.manual_seed(1)
        assert self._model is not None
        vectors = self._model.network.decoder.embedding
        head = build_head(spec_of(method), hidden_size=self.hidden_size, vocab=self.sizes[1], embedding=vectors)
        spread(head, LOGIT_GAIN)
        if isinstance(head, ShelvesHead):
            spread(head.words, LOGIT_GAIN / self.hidden_size**0.5)  # each element of a vector adds to a logit
        if head.bits is not None:
            spread(head.bits, BIT_GAIN)
        return head

    def export(self, method: str, folder: Path, precision: str, sources: Sequence[Ints], length: int) -> None:
        """Write the model. Sources are what the share of OTHER is adjusted on."""
        model = self.model(method)
        if isinstance(model.head, HybridHead):
            calibrate(model, sources, length)
        source, target = (made_up(size) for size in self.sizes)
        export(LoadedModel(model, TEXT, source, target, model.head.spec), folder, precision)


@torch.no_grad()
def spread(module: nn.Module, gain: float) -> None:
    """Draw weights anew: word vectors of variance 1, others so that a layer multiplies the spread by `gain`."""
    for part in module.modules():
        if isinstance(part, nn.Embedding):
            part.weight.uniform_(-(3**0.5), 3**0.5)
        elif isinstance(part, nn.Linear | nn.LSTM):
            for parameter in part.parameters():
                bound = gain * (3 / parameter.shape[1]) ** 0.5 if parameter.ndim == 2 else 0.1
                parameter.uniform_(-bound, bound)


def calibrate(model: TranslationModel, sources: Sequence[Ints], length: int) -> float:
    """Choose the bias of OTHER so that it wins as often as rare words occur. Returns how often it does.

    The words chosen change what comes after them, hence several turns.
    """
    head = model.head
    assert isinstance(head, HybridHead)
    bias = head.softmax.bias
    margins: list[Tensor] = []  # by how much the best frequent word exceeds OTHER

    def observe(_: nn.Module, __: Any, logits: Tensor) -> None:
        margins.append(logits[:, : head.first_rare].amax(-1) - logits[:, head.first_rare])

    handle = head.softmax.register_forward_hook(observe)
    for turn in range(8):
        margins.clear()
        translate(Forced(model), sources, length)
        lead = torch.cat(margins)
        share = float((lead < 0).double().mean())
        if abs(share - OTHER_SHARE) < 0.01:
            break
        with torch.no_grad():
            bias[head.first_rare] += lead.quantile(OTHER_SHARE) * (1.0 if turn < 3 else 0.5)
    handle.remove()
    return share


def made_up(size: int) -> Vocabulary:
    """Words w0, w1, … with counts by Zipf's law."""
    return Vocabulary([*MARKERS, *names(size)], 10 * size // np.arange(1, size + 1))
