"""The part that binary and hybrid output layers share: bits predicted from the hidden state, and what they spell."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from trellex.codes import Code
from trellex.heads.head import at_least_single
from trellex.trellis import ConvolutionalCode

LOSSES = ("squared", "cross_entropy", "trellis")
DECODINGS = ("exact", "paper")


class BitLayer(nn.Module):
    """Logistic regressions for the redundant bits of a word's code (Oda et al. 2017, equations 6 to 11).

    Args:
        hidden_size: H
        code: word ↔ bits
        ecc: bits ↔ redundant bits
        loss: "squared" distance as in the paper, "cross_entropy" of independent bits, or "trellis": the negative
            log-probability, normalised over exactly the words
        restriction: which bit arrays are words, as the trellis takes it; all of the code's unless given

    Shape:
        h [T, H], words [T]
    """

    def __init__(
        self, hidden_size: int, code: Code, ecc: ConvolutionalCode, loss: str = "squared", restriction: Any = None
    ) -> None:
        super().__init__()
        if loss not in LOSSES:
            raise ValueError(f"loss: expected one of {', '.join(LOSSES)}, got {loss!r}")
        self.code, self.ecc, self.loss_name = code, ecc, loss
        self.restriction = code.restriction if restriction is None else restriction
        self.linear = nn.Linear(hidden_size, ecc.length(code.num_bits))

    def logits(self, h: Tensor) -> Tensor:
        """h [T, H] -> [T, L] in at least single precision"""
        return at_least_single(self.linear(h))

    def redundant_bits(self, words: Tensor) -> Tensor:
        """words [T] -> [T, L]"""
        return self.ecc.encode(self.code.bits(words))

    def loss(self, h: Tensor, words: Tensor) -> Tensor:
        """h [T, H], words [T] -> [T]"""
        logits, bits = self.logits(h), self.redundant_bits(words)
        if self.loss_name == "squared":
            return (logits.sigmoid() - bits).square().sum(-1)
        score = (logits * bits).sum(-1)
        if self.loss_name == "cross_entropy":
            return nn.functional.softplus(logits).sum(-1) - score
        return self.ecc.log_partition(logits, size=self.restriction) - score

    def log_prob(self, h: Tensor, words: Tensor) -> Tensor:
        """log P(word | h) among the words. h [T, H], words [T] -> [T]"""
        logits = self.logits(h)
        exact = logits.double()  # scores are large and their differences small
        score = (exact * self.redundant_bits(words)).sum(-1)
        return (score - self.ecc.log_partition(exact, size=self.restriction)).to(logits.dtype)

    def topk(self, h: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """The k most probable words. h [T, H] -> words, log_probs [T, k]"""
        logits = self.logits(h)
        exact = logits.double()
        numbers, scores = self.ecc.topk(exact, k, size=self.restriction)
        log_probs = scores - self.ecc.log_partition(exact, size=self.restriction)[:, None]
        return self.code.words(numbers), log_probs.to(logits.dtype)

    def decode(self, h: Tensor) -> Tensor:
        """The paper's decoding: the best of all bit arrays, −1 if it belongs to no word. h [T, H] -> words [T]"""
        probs = self.logits(h).double().sigmoid()  # a probability rounded to 1 would count as certain
        return self.code.ids(self.ecc.decode(probs))

    def sample(self, h: Tensor, temperature: float = 1.0) -> Tensor:
        """A word drawn for every row. h [T, H] -> words [T]"""
        return self.code.words(self.ecc.sample(self.logits(h) / temperature, size=self.restriction))

    def log_mass(self, h: Tensor, temperature: float) -> Tensor:
        """log Σ P(word | h)^(1 / temperature) over the words. h [T, H] -> [T]"""
        logits = self.logits(h)
        cold = self.ecc.log_partition(logits, size=self.restriction) / temperature
        return self.ecc.log_partition(logits / temperature, size=self.restriction) - cold


def check_decoding(decoding: str) -> str:
    if decoding not in DECODINGS:
        raise ValueError(f"decoding: expected one of {', '.join(DECODINGS)}, got {decoding!r}")
    return decoding
