"""The workspace: one small folder of every kind that Trellex makes, whole, for others to damage copies of."""

from __future__ import annotations

import sys
from contextlib import chdir
from pathlib import Path

from trellex import phrasebook
from trellex.text import PrepareSettings, prepare

PAIRS, HELD_OUT = 60, 6
STEPS, MORE_STEPS = 120, 4  # of the run, and of going on with it
LINES = 3  # to translate
LAST = f"step-{STEPS:09d}"  # of the run's checkpoints
CORPUS, RUN, CHECKPOINT, EXPORT = "corpus", "run", f"run/{LAST}", "export"
SHELVES, FREE, COMPACT = "shelves", "free", "compact"  # further exports
HEAD = {"type": "hybrid-16-ec", "loss": "trellis", "code": "random"}
SHELVES_HEAD = {"type": "shelves", "code": "random", "words": 4, "visit": 2, "memory": 3}
FREE_HEAD = {"type": "free", "bits": 16}
COMPOSED = {"type": "composed", "code": "frequency", "memory": 3, "residual": 4, "frequent": 9}


def make(work: Path) -> None:
    """Make a corpus, a run and exports in a folder. Paths in them are relative to it."""
    work.mkdir(parents=True)
    with chdir(work):
        _prepare()
        _train(STEPS)
        _export()


def lines(work: Path) -> list[str]:
    """Sentences to translate."""
    return (work / "train.en").read_text(encoding="utf-8").splitlines()[:: PAIRS // LINES]


def go_on(work: Path, run: Path) -> None:
    """Train a copy of the run some steps further."""
    with chdir(work):
        _train(STEPS + MORE_STEPS, run)


def _prepare() -> None:
    pairs = sorted(phrasebook.generate(10 * PAIRS), key=lambda pair: (len(pair[0]), pair))[:PAIRS]
    files = {}
    for name, chosen in {"train": pairs, "dev": pairs[:HELD_OUT], "test": pairs[-HELD_OUT:]}.items():
        for place, (side, language) in enumerate((("source", "en"), ("target", "ja"))):
            files[f"{name}_{side}"] = Path(f"{name}.{language}")
            files[f"{name}_{side}"].write_text("".join(pair[place] + "\n" for pair in chosen), encoding="utf-8")
    cut = {"source_tokenizer": "whitespace", "target_tokenizer": "whitespace", "min_count": 1}
    prepare(PrepareSettings(source_language="en", target_language="ja", **cut, **files), CORPUS)


def _train(max_steps: int, run: Path = Path(RUN)) -> None:
    import torch

    from trellex.training.display import Display
    from trellex.training.recipe import Recipe
    from trellex.training.trainer import Trainer

    torch.set_num_threads(1)
    sizes = {"embedding_size": 16, "hidden_size": 32, "dropout": 0.1}
    often = {"validate_every": STEPS // 2, "save_every": STEPS // 2, "keep_checkpoints": 2}
    training = {"max_steps": max_steps, "batch_sentences": 20, "learning_rate": 0.02, "device": "cpu", **often}
    recipe = Recipe(data=Path(CORPUS), output=run, head=HEAD, model=sizes, training=training)
    Trainer(recipe, Display("fuzz", quiet=True)).run()


def _export() -> None:
    """That of the run; and some whose weights are as drawn: with shelves, with free codes, and a compact one.

    The compact one composes word vectors by another code than finds shelves.
    """
    import torch

    from trellex.loaded import LoadedModel
    from trellex.nmt.build import build_model
    from trellex.nmt.settings import EmbeddingSettings
    from trellex.runtime.export import export
    from trellex.training.loading import load_checkpoint

    loaded = load_checkpoint(Path(CHECKPOINT))
    export(loaded, Path(EXPORT))
    torch.manual_seed(0)
    vocabularies = loaded.source_vocabulary, loaded.target_vocabulary
    table = loaded.model.network.settings
    composed = table.model_copy(update={"embeddings": EmbeddingSettings(**COMPOSED)})
    for head, sizes, name, precision in (
        (SHELVES_HEAD, table, SHELVES, "int8"),
        (FREE_HEAD, table, FREE, "int8"),
        (SHELVES_HEAD, composed, COMPACT, "compact"),
    ):
        model = build_model(sizes, head, len(vocabularies[0]), vocabularies[1]).eval()
        export(LoadedModel(model, loaded.text, *vocabularies, model.head.spec), Path(name), precision)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
