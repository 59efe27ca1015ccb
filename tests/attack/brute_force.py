"""Numbers: the trellis and the output layers against brute force over all words, in double precision."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from mutations import mutate
from targets import Target

sys.path += [str(Path(__file__).resolve().parents[1] / "unit" / room) for room in ("trellis", "heads")]

SIZES = [size for bits in range(1, 8) for size in (2**bits - 1, 2**bits, 2**bits + 1) if size >= 2]  # vocabularies
BEYOND = 1e290  # nats: there the enumeration itself overflows
MOST_WORDS, MOST_BEST, MOST_WEIGHTS = 130, 200, 100_000  # to enumerate
HOSTILE = 0.3  # the share of inputs with a value that is not what it should be


class NumberTarget(Target):
    """Inputs are JSON objects, drawn by `fair`, some of them with a fault."""

    suffix = ".json"

    def draw(self, random: Random) -> bytes:
        data = json.dumps(self.fair(random)).encode()
        return mutate("x.json", data, random) if random.random() < HOSTILE else data

    def fair(self, random: Random) -> dict[str, Any]:
        raise NotImplementedError


class TrellisTarget(NumberTarget):
    """Every question to the trellis, for logits with ties, infinite ones and huge ones."""

    name = "trellis"

    def fair(self, random: Random) -> dict[str, Any]:
        from enumeration import CODES, logits_of_every_kind, num_bits

        size, code = random.choice(SIZES), random.choice(list(CODES.values()))
        kinds = logits_of_every_kind(code.length(num_bits(size)), random.randrange(2**32))
        kind = random.choice([*kinds, "huge"])
        rows = kinds["many ties"] * 2.0**900 if kind == "huge" else kinds[kind]
        rows = rows[: random.choice((1, 2, 20))]
        generators = code.generators or code.memory  # of a complete trellis there are none
        return {"generators": generators, "size": size, "k": random.randrange(1, 9), "logits": rows.tolist()}

    def read(self, data: bytes) -> None:
        from enumeration import Enumeration, code_words

        from trellex.trellis import CompleteCode, ConvolutionalCode, IdentityCode

        asked = _fields(data, "generators", "size", "k", "logits")
        kind = CompleteCode if isinstance(asked["generators"], int) else ConvolutionalCode
        code = IdentityCode() if asked["generators"] == ["1"] else kind(asked["generators"])
        logits, size = asked["logits"], asked["size"]
        k = min(asked["k"], MOST_BEST) if isinstance(asked["k"], int) else asked["k"]
        numbers, scores = code.topk(logits, k, size=size)
        sums, posterior = code.log_partition(logits, size=size), code.posterior(logits, size=size)
        drawn = code.sample(logits, size=size, generator=0)
        rows = np.asarray(logits, float)
        bits = code.num_bits(rows.shape[-1])
        count = 2**bits if size is None else size
        assert (numbers < count).all()
        assert ((drawn >= 0) & (drawn < count)).all()
        if count > MOST_WORDS or rows.ndim != 2:
            return
        truth = Enumeration(rows, code_words(code.register, count, bits))
        scale = max(1.0, np.abs(truth.scores).max())
        expected_numbers, expected_scores = truth.topk(numbers.shape[-1])
        np.testing.assert_allclose(scores, expected_scores, rtol=1e-12, atol=1e-12 * scale)
        if _is_exact(rows):
            assert np.array_equal(numbers, expected_numbers)
        np.testing.assert_allclose(sums, truth.log_partition, rtol=1e-12, atol=1e-12 * scale)
        if _is_exact(rows) or scale < 1e6:  # else they are as rounding will
            np.testing.assert_allclose(posterior, truth.posterior, rtol=0, atol=1e-6)
        assert (np.take_along_axis(truth.probs, drawn[:, None], -1) > 0).all()


def _is_exact(logits: np.ndarray) -> bool:
    """Whether all sums of these logits [N, L] are exact in double precision, so that ties are, too."""
    logits = np.nan_to_num(logits, posinf=1e4, neginf=-1e4)
    parts, exponents = np.frexp(logits[logits != 0])
    digits = (parts * 2.0**53).astype(np.int64)
    lowest = exponents - 53 + np.log2(digits & -digits)
    return not len(parts) or exponents.max() + np.log2(logits.shape[-1]) - lowest.min() <= 53


class HeadTarget(NumberTarget):
    """Output layers of all kinds: losses are finite, words in the right order, and probabilities as by hand."""

    name = "head"

    def fair(self, random: Random) -> dict[str, Any]:
        size = random.choice([size for size in SIZES if size > 3])
        family = random.choice(("softmax", "shelves", "free", "binary", "binary-ec", "hybrid-N", "hybrid-N-ec"))
        spec: dict[str, Any] = {"type": family.replace("N", str(random.randrange(2, size)))}
        if family == "shelves":
            spec |= {"code": random.choice(("frequency", "random")), "words": random.choice((2, 4, 8, 64))}
            spec |= {"visit": random.choice((1, 2, 9)), "memory": random.choice((3, 4, 8))}
        elif family == "free":
            spec |= {"bits": random.choice((8, 16, 256)), "label_smoothing": random.choice((0, 0.1))}
        elif family != "softmax":
            options = {
                "code": random.choice(("frequency", "random", "huffman", {"type": "frequency", "vocab_size": size})),
                "seed": random.randrange(9),
                "loss": random.choice(("squared", "cross_entropy", "trellis")),
                "decoding": random.choice(("exact", "paper")),
                "mixtures": random.choice((1, 2, 3)),
                "hidden_layer": random.choice((1, 5)),
                "generators": random.choice((["101", "111"], ["11001", "10111"], "complete", "complete")),
                "numbering": random.choice(("rare", "paper")),
                "softmax_weight": random.choice((0, 0.5, 1e6)),
                "label_smoothing": random.choice((0, 0.1)),
            }
            spec |= {name: options[name] for name in random.sample(sorted(options), random.randrange(4))}
        scale = random.choice((0.0, 1.0, 1.0, 100.0, 1e6, 1e30))
        return {"spec": spec, "size": size, "scale": scale, "seed": random.randrange(100)}

    def read(self, data: bytes) -> None:
        import torch
        from by_hand import Counted

        from trellex.heads import build_head

        asked = _fields(data, "spec", size=int, scale=float, seed=int)
        size, seed = min(max(asked["size"], 2), MOST_WORDS), asked["seed"] % 2**32
        generator = torch.Generator().manual_seed(seed)
        vocab = Counted(10_000 // np.arange(1, size + 1))
        with torch.device("meta"):
            head = build_head(asked["spec"], hidden_size=3, vocab=vocab, embedding=torch.nn.Embedding(size, 3))
        if sum(parameter.numel() for parameter in head.parameters()) > MOST_WEIGHTS:
            return
        embedding = torch.nn.Embedding(size, 3)
        head = build_head(asked["spec"], hidden_size=3, vocab=vocab, embedding=embedding)
        head.owned = embedding  # in place of a decoder
        head.double()
        with torch.no_grad():
            for parameter in head.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
                parameter.mul_(asked["scale"])
            if all(bool(parameter.isfinite().all()) for parameter in head.parameters()):
                _compare(head, torch.randn(4, 3, generator=generator, dtype=torch.float64))


def _compare(head: Any, h: Any) -> None:
    """A head, and hidden states h [T, H]."""
    import torch

    words = torch.arange(head.vocab_size)
    every = h[:, None].expand(-1, head.vocab_size, -1)
    log_probs = head.log_prob(every, words.expand(len(h), -1)).numpy()
    with np.errstate(over="ignore", invalid="ignore"):
        expected = _enumerated(head, h.numpy())
    if not np.abs(expected).max() < BEYOND:
        for values in (log_probs, head.loss(every, words.expand(len(h), -1)).numpy(), head.topk(h, 2)[1].numpy()):
            assert np.isfinite(values).all(), f"numbers that are not finite: {values}"
        return
    scale = max(1.0, np.abs(expected[np.isfinite(expected)]).max())
    np.testing.assert_allclose(log_probs, expected, rtol=1e-9, atol=1e-9 * scale)
    losses = head.loss(every, words.expand(len(h), -1))
    assert bool(losses.isfinite().all()), f"losses that are not finite: {losses}"
    for k in (2, head.vocab_size + 1):
        found, best = (values.numpy() for values in head.topk(h, k))
        assert ((found >= 0) == (np.arange(k) < head.vocab_size)).all() or head.bits is not None
        assert (np.diff(np.where(found < 0, -np.inf, best)[:, : head.vocab_size]) <= 1e-9 * scale).all()
        own = np.take_along_axis(expected, found.clip(0), -1)
        np.testing.assert_allclose(
            np.where(found < 0, 0, best), np.where(found < 0, 0, own), rtol=1e-9, atol=1e-9 * scale
        )
        if head.bits is None or head.bits.mixtures == 1:
            np.testing.assert_allclose(best[:, :2], -np.sort(-expected)[:, :2], rtol=1e-9, atol=1e-9 * scale)
    drawn = head.sample(h, generator=torch.Generator().manual_seed(0)).numpy()
    assert ((drawn >= 0) & (drawn < head.vocab_size)).all()
    assert (np.take_along_axis(expected, drawn[:, None], -1) > -800 - 1e-9 * scale).all()


def _enumerated(head: Any, h: np.ndarray) -> np.ndarray:
    """log P of all words, by the definition. h [T, H] -> [T, V]"""
    from by_hand import affine, free_log_probs, log_softmax, shelf_log_probs, tied_scores
    from enumeration import redundant_bits
    from scipy.special import logsumexp

    if head.spec.type == "shelves":
        sizes = {name: getattr(head.spec, name) for name in ("words", "visit", "memory")}
        return shelf_log_probs(head, sizes, h)[0]
    if head.spec.type == "free":
        return free_log_probs(head, h)
    if head.spec.uses_embedding:
        return log_softmax(tied_scores(head.linear, head.owned.weight, h))
    if head.bits is None:
        return log_softmax(affine(head.linear, h))
    layer = head.bits
    rare = np.arange(layer.first_rare, head.vocab_size)
    arrays = [redundant_bits(layer.ecc.register, list(bits)) for bits in layer.code.bits(rare - layer.offset)]
    hidden = h if layer.hidden is None else np.maximum(affine(layer.hidden, h), 0)
    logits = affine(layer.linear, hidden).reshape(len(h), layer.mixtures, -1)
    weights = affine(layer.weights, hidden) if layer.mixtures > 1 else np.zeros((len(h), 1))
    scores = log_softmax(logits @ np.array(arrays, float).T)
    log_rare = logsumexp(log_softmax(weights)[..., None] + scores, axis=1)
    if not hasattr(head, "softmax"):
        return log_rare
    frequent = log_softmax(affine(head.softmax, h))
    return np.concatenate([frequent[:, :-1], frequent[:, -1:] + log_rare], -1)


def _fields(data: bytes, *names: str, **kinds: type) -> dict[str, Any]:
    """The object of an input, with values of any kind or of these. Raises ValueError if it is none: nobody's fault."""
    try:
        found = json.loads(data)
        return {name: found[name] for name in names} | {name: kinds[name](found[name]) for name in kinds}
    except (TypeError, KeyError, OverflowError, RecursionError) as error:
        raise ValueError(f"expected an object with {', '.join((*names, *kinds))}") from error


NUMBERS = [TrellisTarget(), HeadTarget()]
