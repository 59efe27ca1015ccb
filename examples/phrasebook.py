"""The whole way on the embedded phrasebook: make a corpus, train two systems on the CPU, translate, compare.

Run it with `make demo-train`, or `python examples/phrasebook.py`. Everything goes into the folder `phrasebook`; run
again, it goes on where it was.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from trellex import phrasebook
from trellex.evaluation import token_bleu
from trellex.evaluation.size import Size
from trellex.text import Corpus, PrepareSettings, prepare
from trellex.training.display import Display
from trellex.training.recipe import load_recipe
from trellex.training.trainer import Trainer
from trellex.translator import Translator, load

FOLDER = Path("phrasebook")
RECIPE = Path(__file__).parent.parent / "recipes" / "phrasebook.yaml"
HEADS = ("softmax", "hybrid-256-ec")
SENTENCE, TRANSLATION = "where is the nearest museum ?", "一番近い博物館はどこですか。"
SHOWN = 5  # translations
TIMED = 100  # sentences
console = Console()


def make_corpus() -> Corpus:
    text = FOLDER / "text"
    phrasebook.write(text)
    files = {
        f"{split}_{side}": text / f"{split}.{language}"
        for split in ("train", "dev", "test")
        for side, language in (("source", "en"), ("target", "ja"))
    }
    settings = PrepareSettings(
        **files,
        source_language="en",
        target_language="ja",
        source_tokenizer="whitespace",
        target_tokenizer="whitespace",
    )
    prepare(settings, FOLDER / "data")
    return Corpus.open(FOLDER / "data")


def milliseconds_a_sentence(translators: dict[str, Translator], sentences: list[str]) -> dict[str, float]:
    """Median time of one sentence on one thread, the systems in turn."""
    torch.set_num_threads(1)
    times: dict[str, list[float]] = {head: [] for head in translators}
    for sentence in sentences:
        for head, translator in translators.items():
            start = time.perf_counter()
            translator.translate([sentence])
            times[head].append(time.perf_counter() - start)
    return {head: statistics.median(values) * 1e3 for head, values in times.items()}


def main() -> None:
    console.rule("an English–Japanese phrasebook, made by its own grammar")
    corpus = make_corpus()
    test = corpus.split("test")
    console.print(
        f"{len(corpus.split('train')):,} pairs to train on, {len(test):,} to test on; "
        f"{len(corpus.source_vocabulary):,} English and {len(corpus.target_vocabulary):,} Japanese words"
    )
    for head in HEADS:
        console.rule(f"training {head}")
        trainer = Trainer(load_recipe(RECIPE, head=head, output=FOLDER / head), Display(head))
        trainer.run()
        if trainer.was_interrupted:
            console.print("stopped; run the same command again to go on")
            raise SystemExit(130)

    translators = {head: load(FOLDER / head) for head in HEADS}
    translations = {head: translator.translate(test.source_lines) for head, translator in translators.items()}
    for head, translator in translators.items():
        if translator.translate([SENTENCE]) != [TRANSLATION]:
            raise SystemExit(f"{head} does not translate {SENTENCE!r} as {TRANSLATION}")
    console.print(f"[bold]{SENTENCE}[/]\n  both           {TRANSLATION}")
    console.rule("some translations of the test set")
    for row in range(SHOWN):
        console.print(f"[bold]{test.source_lines[row]}[/]\n  reference      {''.join(test.target_tokens[row])}")
        for head in HEADS:
            console.print(f"  {head:14} {translations[head][row]}")

    console.rule("the table")
    table = Table("method", "B", "#out", "#W,β", "ratio", "all", "BLEU", "ms")
    times = milliseconds_a_sentence(translators, test.source_lines[:TIMED])
    references = [" ".join("".join(tokens)) for tokens in test.target_tokens]
    for head in HEADS:
        size = Size.of(translators[head].model).columns()
        bleu = token_bleu([" ".join(line) for line in translations[head]], references).score
        table.add_row(
            head,
            str(size["B"] or "–"),
            f"{size['#out']:,}",
            f"{size['output parameters']:,}",
            size["of softmax"],
            str(size["of all with softmax"]),
            f"{bleu:.2f}",
            f"{times[head]:.1f}",
        )
    console.print(table)
    console.print(
        "#W,β: parameters of the output layer; ratio: to softmax's; all: all parameters, to those with softmax; "
        "BLEU of characters on test; ms a sentence, one at a time on one CPU thread, in PyTorch. "
        "With so few words softmax costs next to nothing; `make demo` shows what it costs with many.",
        style="dim",
    )


if __name__ == "__main__":
    main()
