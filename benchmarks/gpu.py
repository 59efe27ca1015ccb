"""What output layers cost on a GPU, against the size of the vocabulary: `make bench-gpu`.

Random weights, H = 512. Decoding: greedy search, or beams, in single precision, 25 words in and exactly 30 out, in
batches of 1, 32 and 512 sentences; milliseconds a sentence. Training: a step in bfloat16, with the network, clipping
and Adam, on batches of about 4,096 and 16,384 tokens a side, 24 a sentence; and the output layer alone, loss and
gradient of 4,096 tokens whose ids follow Zipf's law. A peak is what a step takes beyond that of the same network
without an output layer, or beyond parameters and hidden states.

Output layers take turns, round after round, and a figure is the median of the rounds. Steps are recorded as CUDA
graphs, as in training, where that can be done. Beside PyTorch's own cross entropy stand two that save memory, if they
are installed: `pip install cut-cross-entropy liger-kernel`.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch import Tensor, nn

from heads import HIDDEN, sharpen, zipf
from trellex.heads import HeadSpec, build_head
from trellex.heads.shelves import ShelvesHead
from trellex.nmt.lstm.network import LSTMNetwork
from trellex.nmt.model import TranslationModel
from trellex.nmt.recorder import Recorder, WaitsForDeviceError
from trellex.nmt.settings import LSTMSettings
from trellex.nmt.shared_embedding import SharedEmbedding
from trellex.search import SearchSettings

WORDS_IN, WORDS_OUT, WORDS_TRAINED = 25, 30, 24
SOURCE_WORDS = 1 << 14
WARM_UP = 4
Rows = list[dict[str, Any]]
NO_WORD = 1 << 40  # in place of EOS: no translation ends before its limit

SPECS: dict[str, Any] = {
    "softmax": "softmax",
    "softmax, tied": {"type": "softmax", "tied": True},
    "binary-ec": {"type": "binary-ec", "loss": "trellis"},
    "hybrid-2048-ec": {"type": "hybrid-2048-ec", "loss": "trellis"},
    "binary-ec, complete": {"type": "binary-ec", "generators": "complete"},
    "hybrid-2048-ec, complete": {"type": "hybrid-2048-ec", "generators": "complete"},
    "shelves": {"type": "shelves", "code": "frequency"},
}


class Rival(nn.Module):
    """A linear layer over all words, with a cross entropy of others.

    loss: h [T, H], weight [V, H], bias [V], target [T] -> [T], or their sum
    """

    def __init__(self, vocab: int, loss: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.linear, self._loss = nn.Linear(HIDDEN, vocab), loss

    def loss(self, h: Tensor, target: Tensor) -> Tensor:
        """h [T, H], target [T] -> [T], or their sum"""
        return self._loss(h, self.linear.weight, self.linear.bias, target)


def by_pytorch(h: Tensor, weight: Tensor, bias: Tensor, target: Tensor) -> Tensor:
    return nn.functional.cross_entropy(nn.functional.linear(h, weight, bias), target, reduction="none")


def by_cut_cross_entropy(h: Tensor, weight: Tensor, bias: Tensor, target: Tensor) -> Tensor:
    """Without the bias, which it does not know in all versions."""
    linear_cross_entropy = import_module("cut_cross_entropy").linear_cross_entropy
    return linear_cross_entropy(h.bfloat16(), weight.bfloat16(), target, reduction="none") + 0 * bias.sum()


def by_liger(h: Tensor, weight: Tensor, bias: Tensor, target: Tensor) -> Tensor:
    kernels = import_module("liger_kernel.transformers.fused_linear_cross_entropy")
    loss = kernels.LigerFusedLinearCrossEntropyLoss(reduction="sum")
    return loss(weight.bfloat16(), h.bfloat16(), target, bias.bfloat16())


RIVALS = {
    "softmax, PyTorch": (by_pytorch, "torch"),
    "softmax, Cut Cross-Entropy": (by_cut_cross_entropy, "cut_cross_entropy"),
    "softmax, Liger": (by_liger, "liger_kernel"),
}


def rivals(device: str) -> dict[str, Callable[..., Tensor]]:
    """Those that are installed; only PyTorch's runs without a GPU."""
    found = {}
    for name, (loss, package) in RIVALS.items():
        try:
            import_module(package)
        except ImportError:
            continue
        if device == "cuda" or loss is by_pytorch:
            found[name] = loss
    return found


def layer(name: str, vocab: int, embedding: nn.Embedding, losses: dict[str, Callable[..., Tensor]]) -> nn.Module:
    """An output layer over so many words, whose vectors an embedding has, on the device of that."""
    with torch.device(embedding.weight.device):
        if name in losses:
            return Rival(vocab, losses[name])
        spec = HeadSpec.parse(SPECS[name])
        head = build_head(spec, hidden_size=HIDDEN, vocab=vocab, embedding=embedding if spec.uses_embedding else None)
    if isinstance(head, ShelvesHead):
        sharpen(head)
    return head


def network_of(vocab: int, device: str) -> LSTMNetwork:
    with torch.device(device):
        return LSTMNetwork(LSTMSettings(), SOURCE_WORDS, vocab, SharedEmbedding(vocab, HIDDEN))


def synchronize(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def in_turns(works: dict[str, Callable[[], object]], rounds: int, repeats: int, device: str) -> dict[str, float]:
    """Milliseconds of each, the median of rounds in which each has its turn."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            synchronize(device)
            begin = time.perf_counter()
            for _ in range(repeats):
                work()
            synchronize(device)
            times[name].append(1000 * (time.perf_counter() - begin) / repeats)
    return {name: median(each) for name, each in times.items()}


def as_if_trained(model: TranslationModel, sources: Sequence[Any]) -> None:
    """Let shelves be as sure as in `heads`, where hidden states are longer than those of a network of random weights.

    Of those that a trained one visits, the best word is the best of all; where it may not be, more are looked at.
    """
    if isinstance(model.head, ShelvesHead):
        with model.inference():
            length = model.start(sources).hidden.square().mean().sqrt()
        with torch.no_grad():
            model.head.shelves.weight /= length
            model.head.words.project.weight /= length


class WordByWord(TranslationModel):
    """One that is searched by the loop, which comes back at every word, even on a GPU."""

    greedy = beams = None


def decoding(
    names: Sequence[str], vocab: int, batches: Sequence[int], rounds: int, device: str, width: int, with_loop: bool
) -> Rows:
    """Milliseconds a sentence, by beams of some width and, if asked for, by the loop alone, too."""
    network = network_of(vocab, device)
    models = {name: TranslationModel(network, layer(name, vocab, network.embedding, {})).eval() for name in names}
    for model in models.values():
        as_if_trained(model, list(np.random.default_rng(0).integers(3, SOURCE_WORDS, (16, WORDS_IN))))
    if with_loop:
        models |= {f"{name}, word by word": WordByWord(network, model.head).eval() for name, model in models.items()}
    rows = []
    for batch in batches:
        sources = list(np.random.default_rng(batch).integers(3, SOURCE_WORDS, (batch, WORDS_IN)))

        def translate(model: TranslationModel, sources: list[Any] = sources) -> None:
            with model.inference():
                found = SearchSettings(beam=width).search(model, sources, np.random.default_rng(0), scores=False)
            assert all(len(best.words) == WORDS_OUT for (best,) in found)

        works = {name: (lambda model=model: translate(model)) for name, model in models.items()}
        for work in works.values():
            for _ in range(WARM_UP):
                work()
        for name, milliseconds in in_turns(works, rounds, 1, device).items():
            row = {"head": name, "vocab": vocab, "beam": width, "batch": batch}
            rows.append(row | {"ms a sentence": milliseconds / batch})
    return rows


class Training:
    """A network and an output layer, and their steps on one batch."""

    def __init__(self, name: str | None, vocab: int, tokens: int, losses: dict[str, Any], device: str) -> None:
        torch.manual_seed(0)
        self.network = network_of(vocab, device)
        self.head = None if name is None else layer(name, vocab, self.network.embedding, losses)
        self._device, (rows, columns) = device, (max(1, tokens // WORDS_TRAINED), WORDS_TRAINED)
        random = torch.Generator().manual_seed(1)
        ids = (zipf(rows * columns, size, random).view(rows, columns) for size in (SOURCE_WORDS, vocab, vocab))
        self._source, self._read, self._target = (each.to(device) for each in ids)
        self._lengths = torch.full((rows,), columns, device=device)
        modules = [self.network, *([self.head] if self.head is not None else [])]
        self._parameters = list({id(each): each for module in modules for each in module.parameters()}.values())
        on_gpu = device == "cuda"
        rate = torch.tensor(1e-3, device=device) if on_gpu else 1e-3
        self._optimizer = torch.optim.Adam(self._parameters, rate, fused=on_gpu, capturable=on_gpu)

    def step(self) -> None:
        self._optimizer.zero_grad(set_to_none=True)
        with torch.autocast(self._device, torch.bfloat16):
            h = self.network(self._source, self._lengths, self._read).flatten(0, 1)
            loss = h.float().square().sum() if self.head is None else self.head.loss(h, self._target.flatten()).sum()
        (loss / len(h)).backward()
        torch.nn.utils.clip_grad_norm_(self._parameters, 5.0)
        self._optimizer.step()


def peak_of(work: Callable[[], object], device: str) -> int:
    """The bytes of the GPU that it takes beyond what was there before."""
    if device != "cuda":
        work()
        return 0
    gc.collect()
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    work()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


def recorded(work: Callable[[], object], device: str) -> Callable[[], object]:
    """The same as a CUDA graph; as it is where it waits for the device, or there is none."""
    if device != "cuda":
        return work
    recorder = Recorder()
    for _ in range(WARM_UP):
        recorder.direct(work)
    try:
        recorder.direct(work, may_wait=False)
        graph, _ = recorder.recorded(work)
    except WaitsForDeviceError:
        return work
    return graph.replay


def training(names: Sequence[str], vocab: int, tokens: int, rounds: int, device: str) -> Rows:
    """Milliseconds, tokens a second and peaks of whole steps."""
    losses = rivals(device)
    trainings = {name: Training(name, vocab, tokens, losses, device) for name in (*names, *losses)}
    alone = Training(None, vocab, tokens, losses, device)
    for each in (alone, *trainings.values()):
        each.step()  # its moments are there from then on
    of_network = peak_of(alone.step, device)
    peaks = {name: peak_of(each.step, device) - of_network for name, each in trainings.items()}
    works = {name: recorded(each.step, device) for name, each in trainings.items()}
    words = tokens // WORDS_TRAINED * WORDS_TRAINED
    return [
        {"head": name, "vocab": vocab, "tokens": words, "ms": ms, "tokens/s": 1000 * words / ms, "peak": peaks[name]}
        for name, ms in in_turns(works, rounds, 5, device).items()
    ]


def alone(names: Sequence[str], vocab: int, tokens: int, rounds: int, device: str) -> Rows:
    """Milliseconds and peaks of loss and gradient, without a network."""
    losses, random = rivals(device), torch.Generator().manual_seed(1)
    target, h = zipf(tokens, vocab, random).to(device), torch.randn(tokens, HIDDEN, generator=random).to(device)
    works: dict[str, Callable[[], object]] = {}
    with torch.device(device):
        embedding = SharedEmbedding(vocab, HIDDEN)
    for name in (*names, *losses):
        head = layer(name, vocab, embedding, losses)
        inputs = (h.clone().requires_grad_(), *head.parameters())
        if name in SPECS and HeadSpec.parse(SPECS[name]).uses_embedding:
            inputs = (*inputs, embedding.weight)

        def work(head: nn.Module = head, inputs: tuple[Any, ...] = inputs) -> None:
            with torch.autocast(device, torch.bfloat16):
                loss = head.loss(inputs[0], target).sum()
            torch.autograd.grad(loss, inputs, allow_unused=True)

        works[name] = work
    for work in works.values():
        work()
    peaks = {name: peak_of(work, device) for name, work in works.items()}
    times = in_turns(works, rounds, 5, device)
    return [{"head": name, "vocab": vocab, "tokens": tokens, "ms": times[name], "peak": peaks[name]} for name in works]


def show(title: str, rows: Rows, columns: str, figures: Sequence[str]) -> None:
    """A row for each output layer, the figures of each column side by side."""
    heads, places = (list(dict.fromkeys(row[key] for row in rows)) for key in ("head", columns))
    wide = max(28, *map(len, heads))
    print(f"\n{title}", flush=True)
    print(f"  {'':{wide}}" + "".join(f"{f'{columns} {place:,}':>{14 * len(figures)}}" for place in places))
    print(f"  {'':{wide}}" + "".join(f"{figure:>14}" for _ in places for figure in figures))
    for head in heads:
        found = {row[columns]: row for row in rows if row["head"] == head}
        cells = (_text(figure, found.get(place, {}).get(figure)) for place in places for figure in figures)
        print(f"  {head:{wide}}" + "".join(f"{cell:>14}" for cell in cells))


def _text(figure: str, value: float | None) -> str:
    if value is None:
        return "–"
    if figure == "peak":
        return f"{value / 2**30:.2f} GiB"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--exponents", type=int, nargs="+", default=[14, 16, 18, 20], help="of 2, of the vocabulary sizes"
    )
    parser.add_argument(
        "--batches", type=int, nargs="+", default=[1, 32, 512], help="sentences that are decoded together"
    )
    parser.add_argument(
        "--beam", type=int, default=1, metavar="WIDTH", help="of decoding; 1 is greedy search (default)"
    )
    parser.add_argument(
        "--common",
        action="store_true",
        help="decode by the loop that comes back at every word, too: what recording brings",
    )
    parser.add_argument(
        "--tokens", type=int, nargs="*", default=[4096, 16384], help="of a training batch; none for decoding alone"
    )
    parser.add_argument("--head", action="append", choices=list(SPECS), help="again for more (default: all)")
    parser.add_argument("--rounds", type=int, default=7, help="how often everything is timed (default: 7)")
    parser.add_argument("--json", type=Path, help="write all numbers there")
    arguments = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    names, rounds = arguments.head or list(SPECS), arguments.rounds
    print(f"{torch.cuda.get_device_name() if device == 'cuda' else 'CPU'}, torch {torch.__version__}, {rounds} rounds")
    sizes = [1 << exponent for exponent in arguments.exponents]
    results: dict[str, Rows] = {"decoding": [], "training": [], "alone": []}
    with ExitStack() as patches:
        for each in ("nmt.recorded_greedy", "nmt.beam_desk", "search.loop", "search.beam_search"):
            patches.enter_context(mock.patch(f"trellex.{each}.EOS", NO_WORD))
        patches.enter_context(mock.patch("trellex.search.beam_search.length_limit", return_value=WORDS_OUT))
        for vocab in sizes:
            rows = decoding(names, vocab, arguments.batches, rounds, device, arguments.beam, arguments.common)
            results["decoding"] += rows
            search = "greedy search" if arguments.beam == 1 else f"beams of {arguments.beam}"
            show(f"{search}, {vocab:,} words", rows, "batch", ["ms a sentence"])
            _release(device)
    for tokens in arguments.tokens:
        rows = training(names, min(sizes, key=lambda size: abs(size - (1 << 16))), tokens, rounds, device)
        results["training"] += rows
        show(f"training steps, {rows[0]['vocab']:,} words", rows, "tokens", ["ms", "tokens/s", "peak"])
        _release(device)
    for vocab in sizes if arguments.tokens else []:
        rows = alone(names, vocab, min(arguments.tokens), rounds, device)
        results["alone"] += rows
        show(f"loss and gradient alone, {min(arguments.tokens):,} tokens", rows, "vocab", ["ms", "peak"])
        _release(device)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def _release(device: str) -> None:
    """Let go what is no longer needed."""
    gc.collect()
    if device == "cuda":
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
