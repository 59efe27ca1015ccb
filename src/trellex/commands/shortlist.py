"""Make a shortlist."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from trellex.terminal import MODEL_HELP, Json, errors_explained, examples, show, stderr

if TYPE_CHECKING:
    from trellex.text.corpus import Corpus
    from trellex.translator import Translator


@examples(
    "trellex shortlist data --output words.shortlist",
    "trellex shortlist data --output words.shortlist --translations 50 --model softmax.int8",
)
def shortlist(
    data: Annotated[Path, typer.Argument(help="The prepared corpus that the model was trained on.")],
    output: Annotated[Path, typer.Option(metavar="FILE", help="Where to put the shortlist.")],
    translations: Annotated[
        int, typer.Option(min=1, help="The most of each source word, the most probable by IBM model 1.")
    ] = 100,
    frequent: Annotated[
        int, typer.Option(min=3, help="Target words in every list, the most frequent, with three markers among them.")
    ] = 100,
    steps: Annotated[int, typer.Option(min=1, max=20, help="Of EM, which learns the translations of words.")] = 5,
    model: Annotated[
        Path | None,
        typer.Option(help=f"Translate dev and test by it with and without lists, and tell BLEU. {MODEL_HELP}"),
    ] = None,
    beam: Annotated[int, typer.Option(min=1, help="Of these translations; 1 is greedy search.")] = 1,
    as_json: Json = False,
) -> None:
    """Learn which target words each source word becomes, for `trellex translate --shortlist`.

    A softmax then scores few words instead of all. Tells how many words of dev and test are in the lists of their
    sentences, known ones alone, and how long lists are.
    """
    with errors_explained():
        import numpy as np

        from trellex.files import check_new_file
        from trellex.shortlist.recall import Recall
        from trellex.shortlist.shortlist import Shortlist
        from trellex.text.corpus import Corpus
        from trellex.translator import load

        check_new_file(output)
        corpus = Corpus.open(data)
        plain = None if model is None else load(model)
        if model is not None:  # a model that takes no such list is refused before one is learned
            ends, words = np.zeros(len(corpus.source_vocabulary) + 1, np.int64), np.zeros(0, np.int64)
            load(model, shortlist=Shortlist.of(corpus.source_vocabulary, corpus.target_vocabulary, ends, words))
        columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
        with Progress(*columns, console=stderr, disable=not stderr.is_terminal) as progress:
            task = progress.add_task("learning translations of words", total=None)
            found = Shortlist.learn(
                corpus,
                translations,
                frequent,
                steps,
                lambda done, total: progress.update(task, completed=done, total=total),
            )
        found.save(output)
        listed = None if model is None else load(model, shortlist=output)
        result: dict[str, Any] = {"file": str(output), "bytes": output.stat().st_size}
        for name in corpus.manifest.settings.splits()[1:]:
            recall = Recall.of(found, corpus.split(name))
            result[f"{name} words in lists"] = round(recall.share, 4)
            result[f"{name} sentences with all"] = round(recall.whole_share, 4)
            result[f"{name} words a list"] = round(recall.mean_size, 1)
            if plain is not None and listed is not None:
                result[f"{name} token BLEU"] = _token_bleu(plain, corpus, name, beam)
                result[f"{name} token BLEU, from lists"] = _token_bleu(listed, corpus, name, beam)
        show(result, as_json)


def _token_bleu(translator: Translator, corpus: Corpus, name: str, beam: int) -> float:
    """Of a split, in percent: that of words, also of pieces; a line that is too long counts as empty."""
    from trellex.evaluation import token_bleu
    from trellex.search import SearchSettings

    split = corpus.split(name)
    found = translator.search(split.source_lines, SearchSettings(beam), scores=False)
    tokens = (best[0].tokens if best and not isinstance(best, str) else [] for best in found)
    words = map(corpus.target_words, tokens)
    return round(token_bleu(list(map(" ".join, words)), list(map(" ".join, split.target_tokens))).score, 2)
