"""The corpus that the grammar makes: distinct pairs, split into train, dev and test, and written to files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random

from trellex.files import atomic_writer
from trellex.phrasebook.grammar import PATTERNS, sentences

Pair = tuple[str, str]

TRAIN, DEV, TEST, SEED = 20_000, 500, 500, 1  # the default corpus
DRAWS_A_PAIR = 20  # generate gives up when it needs more draws than that


def patterns() -> int:
    """How many sentence patterns the grammar has."""
    return len(PATTERNS)


def generate(pairs: int, seed: int = SEED) -> Iterator[Pair]:
    """English sentences with their Japanese translations, no sentence twice on either side.

    Args:
        pairs: how many
        seed: the same seed gives the same pairs, in every version of Python
    """
    if pairs < 0:
        raise ValueError(f"pairs: expected a number of at least 0, got {pairs}")
    return _distinct(pairs, seed)


def _distinct(pairs: int, seed: int) -> Iterator[Pair]:
    seen: set[str] = set()  # of both languages, whose letters differ
    found = 0
    for draws, (_, english, japanese) in enumerate(sentences(seed)):
        if found == pairs:
            return
        if draws >= DRAWS_A_PAIR * (pairs + 1000):
            raise ValueError(
                f"pairs: only {found} distinct pairs found in {draws} draws, {pairs} wanted; ask for fewer"
            )
        if english not in seen and japanese not in seen:
            seen |= {english, japanese}
            found += 1
            yield english, japanese


def splits(train: int = TRAIN, dev: int = DEV, test: int = TEST, seed: int = SEED) -> dict[str, list[Pair]]:
    """The pairs of "train", "dev" and "test". No sentence of either language is in two of them.

    The pairs are shuffled first, for later ones have rarer words.
    """
    sizes = {"train": train, "dev": dev, "test": test}
    for name, size in sizes.items():
        if size < 0:
            raise ValueError(f"{name}: expected a number of pairs of at least 0, got {size}")
    pairs = list(generate(sum(sizes.values()), seed))
    random = Random(seed)
    for last in range(len(pairs) - 1, 0, -1):
        other = int(random.random() * (last + 1))
        pairs[last], pairs[other] = pairs[other], pairs[last]
    rest = iter(pairs)
    return {name: [next(rest) for _ in range(size)] for name, size in sizes.items()}


def write(folder: Path, train: int = TRAIN, dev: int = DEV, test: int = TEST, seed: int = SEED) -> None:
    """Write train.en, train.ja, dev.en, … into a folder, a sentence a line; each file appears whole or not at all."""
    folder = Path(folder)
    corpus = splits(train, dev, test, seed)
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        for name, pairs in corpus.items():
            for side, language in enumerate(("en", "ja")):
                file = stack.enter_context(atomic_writer(folder / f"{name}.{language}"))
                file.writelines(f"{pair[side]}\n" for pair in pairs)
