"""How near training by drawn words comes to training with all words: `make bench-sampling`.

The words have a unit vector each, near those of their group, and Zipf's law as their frequencies. A hidden state is the
vector of its word and noise, so that P(word | state) is a softmax that is known exactly: products with the vectors over
the variance, and log frequencies as biases.

First, gradients: at the true weights, for one batch, how far the gradient of a sampled softmax is from that of the full
one, relative to its length. Bias is the distance of the mean of many, from products of two halves, so that the spread
of single ones does not count; total is the root of the mean squared distance. The code's proposal has been trained for
a while before. Second, learning: weights from the usual beginning, the code learning beside; perplexity on other words.
Third, time, of random weights and states.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.style
import torch
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from torch import Tensor, nn

from trellex.codes import cluster_code
from trellex.heads import Head, build_head
from trellex.report.figures import RC_PARAMS

GROUPS, SPREAD, NOISE = 128, 0.7, 0.3
ROWS = 128  # of the batch whose gradient is looked at
BATCH, RATE = 512, 0.01  # in training
HELD_OUT = 4096
ROUNDS = 5
COUNTS = (4, 16, 64, 256, 1024)
STYLES = {
    "log-uniform": ("#b3402e", "s"),
    "code": ("#2a6f97", "D"),
    "code, clusters": ("#2d8a4e", "o"),
}


class Task:
    """Words with vectors and frequencies, and hidden states that tell of them."""

    def __init__(self, words: int, size: int) -> None:
        random = torch.Generator().manual_seed(1)
        groups = torch.randn(GROUPS, size, generator=random)
        own = groups[torch.randint(GROUPS, (words,), generator=random)]
        self.vectors = nn.functional.normalize(own + SPREAD * torch.randn(words, size, generator=random))
        self.log_counts = -torch.arange(1.0, words + 1).log()
        self.code = cluster_code(self.vectors)

    def draw(self, count: int) -> tuple[Tensor, Tensor]:
        """Hidden states [count, H] and their words [count]."""
        words = torch.multinomial(self.log_counts.exp(), count, replacement=True)
        own = self.vectors[words]
        return own + NOISE * torch.randn_like(own), words

    def head(self, **options: Any) -> Head:
        """A softmax that has learned nothing yet."""
        if options.get("code") == "clusters":
            options["code"] = self.code
        words, size = self.vectors.shape
        return build_head({"type": "softmax", **options}, hidden_size=size, vocab=words)

    def true_head(self, **options: Any) -> Head:
        """A softmax that is P(word | state)."""
        head = self.head(**options)
        with torch.no_grad():
            head.linear.weight.copy_(self.vectors / NOISE**2)
            head.linear.bias.copy_(self.log_counts)
        return head

    def perplexity(self, head: Any) -> float:
        """Of words that were not trained on."""
        torch.manual_seed(0)
        with torch.no_grad():
            return math.exp(-head.log_prob(*self.draw(HELD_OUT)).mean())


class Point(NamedTuple):
    """The error of gradients by so many samples, relative to the length of the full softmax's."""

    samples: int
    bias: float
    total: float


def train(task: Task, loss: Any, parameters: Any, steps: int) -> float:
    """Minimise a loss of states and words, at a rate that falls to 0. Returns milliseconds a step."""
    optimizer = torch.optim.Adam(parameters, lr=RATE)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.01, steps)
    torch.manual_seed(2)
    begin = time.perf_counter()
    for _ in range(steps):
        optimizer.zero_grad()
        loss(*task.draw(BATCH)).mean().backward()
        optimizer.step()
        schedule.step()
    return (time.perf_counter() - begin) / steps * 1e3


def points(task: Task, counts: list[int], repeats: int, proposal: Any = None) -> list[Point]:
    """The errors for each number of samples, by a code's proposal if there is one."""
    torch.manual_seed(3)
    h, target = task.draw(ROWS)

    def gradient(head: Head) -> Tensor:
        return torch.autograd.grad(head.loss(h, target).sum(), head.linear.weight)[0]

    exact = gradient(task.true_head())
    found = []
    for samples in counts:
        head = task.true_head(loss="sampled", samples=samples)
        if proposal is not None:
            head.proposal = proposal
        halves, square = [torch.zeros_like(exact), torch.zeros_like(exact)], 0.0
        for number in range(repeats):
            error = gradient(head) - exact
            halves[number % 2] += error * (2 / repeats)
            square += error.square().sum().item() / repeats
        bias = max(0.0, (halves[0] * halves[1]).sum().item())
        found.append(Point(samples, *(math.sqrt(each) / exact.norm().item() for each in (bias, square))))
    return found


def gradients(task: Task, steps: int, repeats: int, words: int) -> dict[str, list[Point]]:
    """The errors of every proposal, and how good the codes are."""
    counts = [count for count in COUNTS if count < words]  # of all words, gradients are those of the full softmax
    found = {"log-uniform": points(task, counts, repeats)}
    print(f"perplexity of P {task.perplexity(task.true_head()):.1f}", end="")
    for name, options in (("code", {}), ("code, clusters", {"code": "clusters"})):
        proposal = task.head(loss="sampled", proposal="code", **options).proposal
        train(task, proposal.loss, proposal.parameters(), steps)
        print(f"; of the proposal {name} {task.perplexity(proposal):.1f}", end="", flush=True)
        found[name] = points(task, counts, repeats, proposal)
    print(end="\n\n")
    return found


def show_gradients(found: dict[str, list[Point]]) -> None:
    """A line for each number of samples, bias and total of each proposal."""
    print("error of the gradient: bias / total")
    print(f"{'samples':>9}" + "".join(f"{name:>20}" for name in found))
    for line in zip(*found.values(), strict=True):
        told = (f"{point.bias:.3f} / {point.total:.3f}" for point in line)
        print(f"{line[0].samples:>9,}" + "".join(f"{cell:>20}" for cell in told))


def show_learning(task: Task, steps: int) -> None:
    """A line for each loss, proposal and number of samples."""
    code = {"proposal": "code", "code": "clusters"}
    ways = [{}, *({"loss": "sampled", "samples": count} for count in (16, 256))]
    ways += [{"loss": "sampled", "samples": count, **code} for count in (16, 64)]
    ways += [{"loss": "nce", "samples": 256}, {"loss": "nce", "samples": 16, **code}]
    ways += [{"loss": "negative", "samples": 256}]
    print(f"\n{steps:,} steps of {BATCH} words{'':>26}perplexity   ms a step")
    for options in ways:
        torch.manual_seed(1)
        head = task.head(**options)
        milliseconds = train(task, head.loss, head.parameters(), steps)
        proposal = "code, clusters" if options.get("proposal") else "log-uniform"
        name = f"{options['loss']}, {proposal}, {options['samples']}" if options else "full"
        print(f"  {name:<44}{task.perplexity(head):>10.1f}{milliseconds:>12.1f}", flush=True)


def show_times(words: int, size: int) -> None:
    """Loss and gradient of hidden states and all weights, the ways in turn; words follow Zipf's law."""
    ways = [{}, {"loss": "sampled"}, *({"loss": "sampled", "samples": count, "proposal": "code"} for count in (16, 64))]
    heads = [build_head({"type": "softmax", **way}, hidden_size=size, vocab=words) for way in ways]
    torch.manual_seed(1)
    h = torch.randn(BATCH, size, requires_grad=True)
    target = torch.multinomial(1 / torch.arange(1.0, words + 1), BATCH, replacement=True)
    times: list[list[float]] = [[] for _ in heads]
    for number in range(ROUNDS + 1):
        for head, found in zip(heads, times, strict=True):
            begin = time.perf_counter()
            torch.autograd.grad(head.loss(h, target).sum(), (h, *head.parameters()))
            if number:  # the first compiles
                found.append(time.perf_counter() - begin)
    print(f"\n{words:,} words, H = {size}, {BATCH} words to predict{'':>14}ms, median of {ROUNDS}")
    for head, found in zip(heads, times, strict=True):
        spec = head.spec
        name = "full" if spec.loss == "full" else f"{spec.loss}, {spec.proposal}, {spec.num_samples:,}"
        print(f"  {name:<44}{statistics.median(found) * 1e3:>10.0f}", flush=True)


def draw(found: dict[str, list[Point]], path: Path) -> None:
    """Errors against the number of samples: bias as a line, total as a broken one."""
    with matplotlib.style.context([RC_PARAMS | {"svg.hashsalt": "trellex"}]):
        figure = Figure(figsize=(7.2, 3.6), layout="constrained")
        axes = figure.add_subplot()
        for name, each in found.items():
            colour, marker = STYLES[name]
            counts = [point.samples for point in each]
            axes.plot(counts, [point.bias for point in each], color=colour, marker=marker, label=f"{name}: bias")
            totals = [point.total for point in each]
            axes.plot(counts, totals, color=colour, marker=marker, markerfacecolor="none", ls="--", label="total")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set(xlabel="samples", ylabel="relative error")
        axes.set_title("Gradients of a sampled softmax, against the full one's")
        axes.xaxis.set_major_locator(FixedLocator(COUNTS))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_locator(FixedLocator([0.03, 0.1, 0.3, 1]))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.legend(fontsize="small")
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=4096)
    parser.add_argument("--size", type=int, default=64, help="H")
    parser.add_argument("--steps", type=int, default=800, help="of the training of a proposal before its gradients")
    parser.add_argument("--learning-steps", type=int, default=300, help="of every way to learn")
    parser.add_argument("--repeats", type=int, default=20, help="gradients of each number of samples")
    parser.add_argument("--many-words", type=int, default=65_536, help="of the time for loss and gradient")
    parser.add_argument("--large-size", type=int, default=512, help="H of that")
    parser.add_argument("--plot", type=Path, help="where to draw the errors, .svg or .png")
    options = parser.parse_args()
    torch.set_num_threads(1)
    begin, task = time.perf_counter(), Task(options.words, options.size)
    print(f"{options.words:,} words, H = {options.size}, torch {torch.__version__}, one thread")
    found = gradients(task, options.steps, options.repeats, options.words)
    show_gradients(found)
    if options.plot:
        draw(found, options.plot)
    show_learning(task, options.learning_steps)
    show_times(options.many_words, options.large_size)
    print(f"{time.perf_counter() - begin:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
