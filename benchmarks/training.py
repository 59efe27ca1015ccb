"""Training speed: target tokens a second and milliseconds a step of output layers, alone on the device.

    python benchmarks/training.py kftt/en-ja --batch-tokens 8192 --batch-tokens 16384

The network, the optimiser and the data are those of training; only validation and checkpoints are left out. Output
layers take turns, round after round, each on the same batches; a figure is the median of the rounds. The device is
waited for at the end of a round, not of a step, as in training.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import torch
import yaml

from trellex.nmt.settings import ModelSettings
from trellex.training.display import Display
from trellex.training.processes import choose_device
from trellex.training.recipe import Recipe, TrainingSettings
from trellex.training.trainer import Trainer

WARM_UP = 8  # steps
HEAD = "an output layer, such as '{type: softmax, tied: true}', again for more; the first is compared with"


class Contender:
    """An output layer in training.

    Attributes:
        seconds: of a step in every round
        speeds: target tokens a second in every round
        peak_memory: bytes of the GPU, of this output layer's model and steps alone
    """

    def __init__(self, recipe: Recipe) -> None:
        self.device = choose_device(recipe.training.device)
        before = self._allocated()
        self.trainer = Trainer(recipe, Display("", quiet=True))
        self.trainer.model.train()
        batches = self.trainer.feed.epoch(0)
        if len(batches) <= WARM_UP:
            tokens = recipe.training.batch_tokens
            raise SystemExit(
                f"{recipe.data}: has only {len(batches)} batches of {tokens} tokens; give --batch-tokens less"
            )
        self._warm_up, self._batches = batches[:WARM_UP], batches[WARM_UP:]
        self.seconds: list[float] = []
        self.speeds: list[float] = []
        self.tokens = 0.0  # of a step, in the mean of the last round
        self._run(self._warm_up)
        self._own = self._allocated() - before
        self.peak_memory = 0

    def round(self, number: int, steps: int) -> None:
        """Train on the batches of a round."""
        first = number * steps % max(1, len(self._batches) - steps + 1)
        batches = self._batches[first : first + steps]
        others = self._allocated() - self._own
        if self.device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        begin = time.perf_counter()
        self._run(batches)
        self.seconds.append((time.perf_counter() - begin) / len(batches))
        self.tokens = sum(map(self.trainer.feed.tokens_of, batches)) / len(batches)
        self.speeds.append(self.tokens / self.seconds[-1])
        if self.device == "cuda":
            self.peak_memory = max(self.peak_memory, torch.cuda.max_memory_allocated() - others)

    def _run(self, batches: list[Any]) -> None:
        for rows in batches:
            self.trainer.train_on(rows)
        if self.device == "cuda":
            torch.cuda.synchronize()

    def _allocated(self) -> int:
        return torch.cuda.memory_allocated() if self.device == "cuda" else 0


def measure(arguments: argparse.Namespace, batch_tokens: int, output: Path) -> list[dict[str, Any]]:
    """A row for every output layer."""
    precision = arguments.precision or ("bfloat16" if choose_device("auto") == "cuda" else "float32")
    training = TrainingSettings(batch_sentences=None, batch_tokens=batch_tokens, precision=precision)
    model = ModelSettings(embedding_size=arguments.size, hidden_size=arguments.size)
    contenders = {
        head: Contender(Recipe(data=arguments.data, output=output, head=spec, model=model, training=training))
        for head, spec in ((head, yaml.safe_load(head)) for head in arguments.head)
    }
    for number in range(arguments.rounds):
        for contender in contenders.values():
            contender.round(number, arguments.steps)
    first = next(iter(contenders.values()))
    return [
        {
            "head": head,
            "batch tokens": batch_tokens,
            "precision": precision,
            "tokens a step": contender.tokens,
            "tokens/s": median(contender.speeds),
            "ms a step": 1000 * median(contender.seconds),
            "of the first": median(mine / its for mine, its in zip(contender.seconds, first.seconds, strict=True)),
            "peak GiB": contender.peak_memory / 2**30 or None,
        }
        for head, contender in contenders.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="a folder made by `trellex prepare`")
    parser.add_argument("--head", action="append", help=HEAD)
    parser.add_argument("--batch-tokens", action="append", type=int, help="of a batch, again for more (default: 8192)")
    parser.add_argument("--size", type=int, default=512, help="of word vectors and states (default: 512)")
    parser.add_argument("--precision", choices=["float32", "bfloat16"], help="bfloat16 on a GPU unless given")
    parser.add_argument("--steps", type=int, default=40, help="of a round (default: 40)")
    parser.add_argument("--rounds", type=int, default=5, help="how often everything is timed (default: 5)")
    parser.add_argument("--json", type=Path, help="write all numbers there")
    arguments = parser.parse_args()
    arguments.head = arguments.head or ["softmax", "hybrid-2048-ec"]
    name = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    print(f"{name}, torch {torch.__version__}; median of {arguments.rounds} rounds of {arguments.steps} steps")
    print(f"{'batch':>7} {'output layer':20} {'tokens/s':>10} {'ms a step':>10} {': first':>8} {'peak GiB':>9}")
    rows = []
    with tempfile.TemporaryDirectory() as output:
        for batch_tokens in arguments.batch_tokens or [8192]:
            for row in measure(arguments, batch_tokens, Path(output)):
                rows.append(row)
                peak = f"{row['peak GiB']:9.2f}" if row["peak GiB"] else f"{'–':>9}"
                figures = f"{row['tokens/s']:10,.0f} {row['ms a step']:10.1f} {row['of the first']:8.2f} {peak}"
                print(f"{batch_tokens:7,} {row['head']:20} {figures}")
    if arguments.json:
        arguments.json.write_text(json.dumps({"device": name, "rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
