"""Compare codes."""

from __future__ import annotations

import json
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from trellex.terminal import Json, errors_explained, examples, stderr

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trellex.codes import Code
    from trellex.evaluation.code_quality import CodeQuality
    from trellex.text.corpus import Corpus

SHOWN = 8  # words that are most like one
LEARNED = "learned"  # the name of the code by a model's word vectors
COLUMNS = {
    "bits": "bits",
    "near_distance": "differ: near",
    "random_distance": "random",
    "near_first_bits": "first shared: near",
    "random_first_bits": "random",
    "entropy": "entropy: words",
    "text_entropy": "text",
}


class CodeName(StrEnum):
    """The codes that are made."""

    FREQUENCY = "frequency"
    RANDOM = "random"
    HUFFMAN = "huffman"
    CLUSTERS = "clusters"
    BROWN = "brown"


@examples(
    "trellex codes data",
    "trellex codes data --code brown --code clusters --words 'Kyoto red' --output codes",
    "trellex codes data --code brown --hybrid 2048 --output rare",
)
def codes(
    data: Annotated[Path, typer.Argument(help="A corpus that `trellex prepare` made.")],
    code: Annotated[
        list[CodeName] | None, typer.Option(help="One to make; may be given several times; all unless given.")
    ] = None,
    words: Annotated[
        list[str] | None, typer.Option(metavar="WORD …", help="Show the words most like these; several in quotes.")
    ] = None,
    hybrid: Annotated[
        int | None, typer.Option(metavar="N", min=2, help="Make codes of the rare words of hybrid-N alone.")
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(help=f"A run or a checkpoint: make the code {LEARNED}, too, clusters of its decoder's words."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Save each as CODE.json, for `code: {file: …}` in recipes.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the random code.")] = 0,
    as_json: Json = False,
) -> None:
    """Make codes of the target words, and compare how well they suit the training text.

    How many bits differ between a word and the five nearest to it by their neighbours in the text, against words at
    random; how many of the first bits they share until one differs; and the entropy of bits, if words are taken as
    equally frequent, and as frequent as in the text.
    """
    with errors_explained():
        from trellex.evaluation.code_quality import CodeQuality, NearWords, like_words
        from trellex.files import check_no_other, check_writable
        from trellex.heads.coded_spec import CodedSpec
        from trellex.heads.spec import HeadSpec
        from trellex.text.corpus import Corpus
        from trellex.training.text_codes import learned

        names = [each.value for each in dict.fromkeys(code or CodeName)]
        if output is not None:
            check_writable(output)
            for name in (*names, LEARNED):
                check_no_other(output / f"{name}.json", "choose another folder")
        corpus = Corpus.open(data)
        kind = {"type": "binary"} if hybrid is None else {"type": f"hybrid-{hybrid}", "numbering": "rare"}
        specs = {name: HeadSpec.parse({**kind, "code": name, "seed": seed}) for name in names}
        for spec in specs.values():
            spec.stand_in(corpus.target_vocabulary)  # whether N fits shows before the long work
        first = 0 if hybrid is None else hybrid - 1
        asked = _ids(corpus, words or [], first, data)
        own = None if model is None else _vectors(model, corpus, data)
        made: dict[str, Any] = {}
        columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
        with Progress(*columns, console=stderr, disable=not stderr.is_terminal) as progress:
            for name in ("clusters", *(["brown"] if "brown" in names else [])):
                task = progress.add_task(f"learning {'word vectors' if name == 'clusters' else name}", total=None)
                made |= learned(name, corpus, partial(_advance, progress, task))
                progress.update(task, completed=1, total=1)
        found: dict[str, Code] = {}
        for name, spec in specs.items():
            assert isinstance(spec, CodedSpec)
            found[name] = spec.build_code(corpus.target_vocabulary, **made)
        if own is not None:
            from trellex.codes import cluster_code

            found[LEARNED] = cluster_code(own[first:])
        near, counts = NearWords.of(made["vectors"][first:]), corpus.target_vocabulary.counts[first:]
        qualities = {name: CodeQuality.of(each, near, counts) for name, each in found.items()}
        neighbours = {
            word: {name: _tokens(corpus, like_words(each, place, SHOWN) + first) for name, each in found.items()}
            for word, place in asked.items()
        }
        if output is not None:
            _save(found, output)
        _show(qualities, neighbours, output, as_json)


def _advance(progress: Progress, task: TaskID, done: int, total: int) -> None:
    progress.update(task, completed=done, total=total)


def _ids(corpus: Corpus, words: list[str], first: int, data: Path) -> dict[str, int]:
    """The numbers of words among those that have codes. Raises ValueError that names the first that has none."""
    vocabulary = corpus.target_vocabulary
    known = {word: place for place, word in enumerate(vocabulary.words)}
    found = {}
    for word in (each for some in words for each in some.split()):
        if word not in known:
            raise ValueError(f"--words: {word!r} is no target word; {data / 'vocab.target.txt'} has them all")
        if known[word] < first:
            raise ValueError(f"--words: {word!r} is frequent, and has no code in hybrid-{first + 1}; leave it out")
        found[word] = known[word] - first
    return found


def _vectors(model: Path, corpus: Corpus, data: Path) -> NDArray[Any]:
    """Those of a model's decoder. Raises ValueError unless it has the target words of the corpus. -> [V, D]"""
    from trellex.training.loading import load_checkpoint

    loaded = load_checkpoint(model)
    if loaded.target_vocabulary.words != corpus.target_vocabulary.words:
        sizes = len(loaded.target_vocabulary), len(corpus.target_vocabulary)
        raise ValueError(
            f"{model}: has other target words ({sizes[0]:,}) than {data} ({sizes[1]:,}); "
            "give the corpus that it was trained on"
        )
    found: NDArray[Any] = loaded.model.network.embedding.weight.detach().numpy()
    return found


def _tokens(corpus: Corpus, ids: Any) -> list[str]:
    return corpus.target_vocabulary.tokens(ids)


def _save(found: dict[str, Code], output: Path) -> None:
    from trellex.temporaries import make_folder

    make_folder(output)
    for name, code in found.items():
        code.save(output / f"{name}.json")


def _show(
    qualities: dict[str, CodeQuality], neighbours: dict[str, dict[str, list[str]]], output: Path | None, as_json: bool
) -> None:
    files = [str(output / f"{name}.json") for name in qualities] if output else []
    if as_json:
        told = {name: quality._asdict() for name, quality in qualities.items()}
        print(json.dumps({"codes": told, "words": neighbours, "files": files}, ensure_ascii=False))
        return
    table = Table("code", box=None)
    for heading in COLUMNS.values():
        table.add_column(heading, justify="right")
    for name, quality in qualities.items():
        numbers = quality.bits, *(f"{getattr(quality, column):.2f}" for column in list(COLUMNS)[1:])
        table.add_row(name, *map(str, numbers))
    console = Console()
    console.print(table)
    for word, by_code in neighbours.items():
        console.print(f"\n{escape(word)}", highlight=False)
        for name, like in by_code.items():
            console.print(f"  {name:10} {escape(' '.join(like))}", highlight=False, soft_wrap=True)
    for file in files:
        console.print(escape(file), highlight=False, soft_wrap=True)
