"""Time of the trellis algorithms against the number of bits: `make bench-trellis`.

One thread, through the public interface. All cells are measured in turn, round after round, and a cell is the
median of its rounds, so that a passing load slows all of them alike. The words are the 80 % of the 2^B arrays with
the lowest numbers, except for Viterbi, which as in the paper searches all arrays.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch

from trellex.trellis import ConvolutionalCode, device
from trellex.trellis.lattice import lattice_of

BITS = (13, 16, 20, 24)
BULK = 8192
ECC = ConvolutionalCode()


class Cell:
    """A job, timed once a round."""

    def __init__(self, job: Callable[[], object], words: int, repeats: int) -> None:
        self.job, self.words, self.repeats = job, words, repeats
        self.times: list[float] = []

    def run(self) -> None:
        start = time.perf_counter()
        for _ in range(self.repeats):
            self.job()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        self.times.append((time.perf_counter() - start) / self.repeats)

    @property
    def microseconds_a_word(self) -> float:
        return statistics.median(self.times) / self.words * 1e6


def cells(bits: int) -> dict[str, Cell]:
    """What is measured for words of so many bits, by name."""
    rng = np.random.default_rng(0)
    size = (1 << bits) * 4 // 5
    probs, logits = rng.random((BULK, ECC.length(bits))), rng.normal(size=(BULK, ECC.length(bits))) * 3
    result = {
        "Viterbi, batch 1": Cell(lambda: ECC.decode(probs[0]), 1, 1000),
        "Viterbi, bulk": Cell(lambda: ECC.decode(probs), BULK, 1),
    }
    for k in (1, 5, 10):
        result[f"topk(k={k}), batch 1"] = Cell(lambda k=k: ECC.topk(logits[0], k, size=size), 1, 1000)
        result[f"topk(k={k}), bulk"] = Cell(lambda k=k: ECC.topk(logits, k, size=size), BULK, 1)
    result["log_partition + gradient, CPU"] = loss_cell(torch.from_numpy(logits).float(), size, 1)
    if torch.cuda.is_available():
        on_gpu = torch.from_numpy(logits).float().cuda()
        lattice = lattice_of(ECC.register, bits, size)
        result["log_partition + gradient, GPU"] = loss_cell(on_gpu, size, 50)
        result["the same in plain torch, GPU"] = Cell(lambda: device.log_partition(on_gpu, lattice, True), BULK, 1)
        result["topk(k=5), GPU"] = Cell(lambda: ECC.topk(on_gpu, 5, size=size), BULK, 1)
    return result


def loss_cell(logits: torch.Tensor, size: int, repeats: int) -> Cell:
    logits.requires_grad_()

    def loss_and_gradient() -> None:
        logits.grad = None
        ECC.log_partition(logits, size=size).sum().backward()

    return Cell(loss_and_gradient, len(logits), repeats)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15, help="how often everything is measured (default: 15)")
    rounds = parser.parse_args().rounds

    torch.set_num_threads(1)
    table = {bits: cells(bits) for bits in BITS}
    for cell in (cell for column in table.values() for cell in column.values()):
        cell.job()  # compiles what is to be compiled
    for _ in range(rounds):
        for column in table.values():
            for cell in column.values():
                cell.run()

    print(f"µs a word, {BULK:,} words in bulk, median of {rounds} rounds, one thread")
    print(f"{'':32}" + "".join(f"{f'B = {bits}':>10}" for bits in BITS) + f"{'24 : 16':>10}")
    for name in table[16]:
        times = [table[bits][name].microseconds_a_word for bits in BITS]
        print(f"{name:32}" + "".join(f"{t:10.3f}" for t in times) + f"{times[3] / times[1]:10.2f}")
    print(f"\nViterbi in bulk at B = 16: {1 / table[16]['Viterbi, bulk'].microseconds_a_word:.2f} M words/s")
    for place in ("CPU", "GPU"):
        if cell := table[16].get(f"log_partition + gradient, {place}"):
            milliseconds = cell.microseconds_a_word * BULK / 1e3
            print(f"log_partition + gradient of {BULK:,} words at B = 16, {place}: {milliseconds:.3f} ms")


if __name__ == "__main__":
    main()
