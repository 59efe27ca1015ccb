"""Average checkpoints."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from trellex.terminal import Json, errors_explained, examples, show, tell


@examples("trellex average phrasebook/run", "trellex average phrasebook/run --last 2 --output averaged")
def average(
    run: Annotated[Path, typer.Argument(help="The folder of a training.")],
    best: Annotated[
        int | None, typer.Option(min=2, help="So many of the best on dev; unless given, those there are, 5 at most.")
    ] = None,
    last: Annotated[int | None, typer.Option(min=2, help="So many of the newest instead.")] = None,
    output: Annotated[
        Path | None, typer.Option(help="Where to put the average; unless given, into the run, which may stand for it.")
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda; for the evaluation.")] = "auto",
    as_json: Json = False,
) -> None:
    """Average the weights of several checkpoints of a training; the mean may translate better than any of them.

    It is a checkpoint like others. If it is better on dev, the run stands for it from now on. Training keeps as many of
    the best checkpoints as training.keep_best says, and averages by itself with training.average.
    """
    with errors_explained():
        from trellex.locks import exclusive
        from trellex.training import checkpoint
        from trellex.training.average import make_average, mark_standing
        from trellex.training.origin import corpus_of
        from trellex.training.ranking import choose, evaluations_of

        if best is not None and last is not None:
            raise ValueError("best, last: give one of --best and --last")
        place = output or run / checkpoint.AVERAGE
        is_of_the_run = place.resolve() == (run / checkpoint.AVERAGE).resolve()
        with exclusive(run) if is_of_the_run and checkpoint.checkpoints(run) else nullcontext():
            evaluations = evaluations_of(run)
            folders = choose(run, evaluations, best, last)
            try:
                corpus = corpus_of(folders[0])
            except (ValueError, OSError) as error:
                corpus = None
                tell(f"the average is not evaluated: {error}")
            made = make_average(folders, place, corpus, device)
            result: dict[str, Any] = {"output": str(made.folder), **made.summary(evaluations)}
            if is_of_the_run:
                mark_standing(run, evaluations)
                result["stands for the run"] = str(checkpoint.model_folder(run))
        show(result, as_json)
