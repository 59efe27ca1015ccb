"""How often a mixture's `topk` is that of enumeration, on the hidden states of a trained model.

python benchmarks/mixture.py RUN SOURCES TRANSLATIONS

`topk` of a mixture of codes weighs the k best words of each part. Here every word of the vocabulary is weighed, at
every word of given translations, and the two lists are compared.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from trellex.heads import Head
from trellex.text.lines import read_pairs
from trellex.translator import load

STATES = 64  # hidden states enumerated at a time


def log_probs_of_all(head: Head, hidden: Tensor) -> Tensor:
    """hidden [T, H] -> [T, V]"""
    words = torch.arange(head.vocab_size, device=hidden.device)
    return torch.stack([head.log_prob(row.expand(len(words), -1), words) for row in hidden])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("sources", type=Path)
    parser.add_argument("translations", type=Path)
    parser.add_argument("--states", type=int, default=2000, help="hidden states to compare at")
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()

    translator = load(options.run, device=options.device)
    states: list[Tensor] = []

    def observe(state: Any, words: Any) -> None:
        states.append(state.hidden)

    for _ in translator.score(read_pairs(options.sources, options.translations), observe=observe):
        pass
    hidden = torch.cat(states)
    chosen = torch.randperm(len(hidden), generator=torch.Generator().manual_seed(0))[: options.states]
    hidden = hidden[chosen.to(hidden.device)]
    head = translator.model.head
    equal = {k: 0 for k in (1, 2, 5, 10)}
    with torch.inference_mode():
        for part in hidden.split(STATES):
            every = log_probs_of_all(head, part)
            for k in equal:
                best = every.topk(k).values
                found = head.topk(part, k)[1]
                equal[k] += int((found - best).abs().lt(1e-4).all(-1).sum())
    print(f"{len(hidden):,} of {sum(map(len, states)):,} hidden states, V = {head.vocab_size:,}")
    for k, count in equal.items():
        print(f"k = {k:2}: topk is that of enumeration in {count / len(hidden):8.3%}")


if __name__ == "__main__":
    main()
