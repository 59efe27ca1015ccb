"""What the cards of the models that come with Trellex say: size, BLEU on both test sets, and speed on one CPU thread.

python benchmarks/models.py everyday/text

The folder is made by `examples/everyday_text.py`. A sentence's time is the median of the first of Tatoeba's test set,
translated one at a time, greedily and by beam search in turn; lines a second are those of the whole set in batches.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from statistics import median

os.environ["OMP_NUM_THREADS"] = "1"  # before any library starts threads

from rich.console import Console
from rich.table import Table

import trellex
from trellex.evaluation import text_bleu, token_bleu
from trellex.models import find_model, names
from trellex.text.tokenizers import build_tokenizer, default_tokenizer
from trellex.translator import Translator

SETS = {"test": "Tatoeba", "tanaka": "Tanaka"}
BEAMS = {"greedy": 1, "beam 5": 5}
TIMED = 200  # sentences


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path, help="the folder of the test sets")
    parser.add_argument("--model", action="append", metavar="MODEL", help="another than those that come with Trellex")
    options = parser.parse_args()
    for name in options.model or names():
        print_card(name, options.text)


def print_card(name: str, text: Path) -> None:
    """The figures of one model."""
    console, folder, translator = Console(width=120), find_model(name), trellex.load(name)
    source, target = translator.text.source_language, translator.text.target_language
    files = [path for path in folder.iterdir() if path.name != "README.md"]
    console.rule(f"{name}: {sum(path.stat().st_size for path in files) / 1e6:.2f} MB")
    table = Table("test set", "search", "BLEU", "±", "token BLEU", "±", "lines/s")
    signatures = set()
    tokenize = build_tokenizer(default_tokenizer(target), target).tokenize
    for split, corpus in SETS.items():
        lines, references = (read(text / f"{split}.{language}") for language in (source, target))
        cut_references = [" ".join(tokenize(line)) for line in references]
        for search, beam in BEAMS.items():
            translator.translate(lines[:TIMED], beam=beam)  # the first time, code is compiled and read
            begin = time.perf_counter()
            found = translator.translate(lines, beam=beam)
            speed = len(lines) / (time.perf_counter() - begin)
            of_text = text_bleu(found, references, target, 1000)
            of_tokens = token_bleu([" ".join(tokenize(line)) for line in found], cut_references, 1000)
            scores = (f"{value:.1f}" for bleu in (of_text, of_tokens) for value in (bleu.score, bleu.interval))
            table.add_row(f"{corpus}, {len(lines):,}", search, *scores, f"{speed:,.0f}")
            signatures |= {f"BLEU: {of_text.signature}", f"token BLEU: {of_tokens.signature}"}
    console.print(table)
    console.print("\n".join(sorted(signatures)), highlight=False)
    times = milliseconds(translator, read(text / f"test.{source}")[:TIMED])
    console.print(", ".join(f"{search} {value:.1f} ms a sentence" for search, value in times.items()))


def milliseconds(translator: Translator, sentences: list[str]) -> dict[str, float]:
    """In the median, by the kind of search."""
    found: dict[str, list[float]] = {search: [] for search in BEAMS}
    for sentence in sentences:
        for search, beam in BEAMS.items():
            begin = time.perf_counter()
            translator.translate([sentence], beam=beam)
            found[search].append(1e3 * (time.perf_counter() - begin))
    return {search: median(values) for search, values in found.items()}


def read(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    main()
