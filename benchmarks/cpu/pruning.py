"""What pruning brings a hybrid: sentences with the pruned argmax, with a plain loop, and with ONNX Runtime alone.

    OMP_NUM_THREADS=1 python benchmarks/cpu/pruning.py

Random models as in `benchmarks/cpu`, one thread, one sentence at a time: 25 words in, exactly 30 out. The three ways
take turns in an order that changes; a ratio is the median over sentences, which each counts against its own.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import trellex
from forced import Forced, make_sources, translate
from random_models import RandomModels
from trellex.runtime.pruned_argmax import is_supported
from trellex.trellis.kernels import compiled_sums

METHODS, PRECISIONS = ("hybrid-512-ec", "hybrid-2048-ec"), ("fp32", "int8")
SOURCE_WORDS, WORDS_IN, WORDS_OUT = 1 << 13, 25, 30


@compiled_sums
def plain_argmax(h, weight, bias, rows, leads):
    """What `PrunedArgmax` finds, by all products. h [N, H], weight [W, H], bias [W] -> rows, leads [N]"""
    for number in range(h.shape[0]):
        winner, highest, logit = 0, np.float32(-np.inf), np.float32(0)
        for row in range(weight.shape[0]):
            total = np.float32(0)
            for unit in range(weight.shape[1]):
                total += h[number, unit] * weight[row, unit]
            logit = total + bias[row]
            if row < weight.shape[0] - 1 and logit > highest:
                winner, highest = row, logit
        rows[number], leads[number] = winner, logit - np.float64(highest)


class PlainArgmax:
    """The same call by the plain loop."""

    def __init__(self, weight: Any, bias: Any) -> None:
        self._tables = weight, bias

    def __call__(self, h: Any) -> tuple[Any, Any]:
        rows, leads = np.empty(len(h), np.int64), np.empty(len(h))
        plain_argmax(h, *self._tables, rows, leads)
        return rows, leads


def model_of(folder: Path, way: str) -> Forced:
    model = trellex.load(folder).model
    if way == "plain loop":
        model.layer._argmax = PlainArgmax(model.layer._weight, model.layer._bias)
    elif way == "ONNX Runtime":
        model.layer._argmax, model.layer._few = None, 0
    return Forced(model)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10, help="how often everything is timed (default: 10)")
    parser.add_argument("--exponent", type=int, default=16, help="2 to this are the target words (default: 16)")
    parser.add_argument("--hidden", type=int, default=512, help="of states and word vectors (default: 512)")
    arguments = parser.parse_args()
    if not is_supported():
        raise SystemExit("this CPU has no AVX-512 VNNI, so nothing is pruned here")
    ways, order = ("pruned", "plain loop", "ONNX Runtime"), random.Random(0)
    sources = make_sources(6, WORDS_IN, SOURCE_WORDS)
    models = RandomModels(SOURCE_WORDS, 1 << arguments.exponent, arguments.hidden)
    print(f"{'':24}" + "".join(f"{way + ', ms':>20}{': pruned':>10}" for way in ways))
    with tempfile.TemporaryDirectory() as work:
        for method in METHODS:
            for precision in PRECISIONS:
                folder = Path(work) / f"{method}-{precision}"
                models.export(method, folder, precision, make_sources(8, WORDS_IN, SOURCE_WORDS, 99), WORDS_OUT)
                contenders = {way: model_of(folder, way) for way in ways}
                seconds: dict[str, list[float]] = {way: [] for way in ways}
                for number in range(arguments.rounds + 1):
                    for way in order.sample(ways, len(ways)):
                        for source in sources:
                            translate(contenders[way], [source], WORDS_OUT)  # brings its weights into the caches
                            taken, _, _ = translate(contenders[way], [source], WORDS_OUT)
                            if number:  # the first round warms up
                                seconds[way].append(taken)
                cells = [
                    f"{1000 * statistics.median(seconds[way]):20.2f}"
                    f"{statistics.median(a / b for a, b in zip(seconds[way], seconds['pruned'], strict=True)):10.2f}"
                    for way in ways
                ]
                print(f"{method:17}{precision:7}" + "".join(cells), flush=True)


if __name__ == "__main__":
    main()
