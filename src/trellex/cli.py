"""The command line: a verb each from `trellex.commands`."""

from __future__ import annotations

from typing import Annotated

import typer

import trellex
from trellex.commands.average import average
from trellex.commands.codes import codes
from trellex.commands.evaluate import evaluate
from trellex.commands.experiment import experiment
from trellex.commands.explain import explain
from trellex.commands.export import export
from trellex.commands.info import info
from trellex.commands.new import new
from trellex.commands.prepare import prepare
from trellex.commands.report import report
from trellex.commands.score import score
from trellex.commands.serve import serve
from trellex.commands.shortlist import shortlist
from trellex.commands.train import train
from trellex.commands.translate import translate
from trellex.terminal import examples_of

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Translate with an output layer that costs O(log V): prepare a corpus, train, translate, score, evaluate; "
    "export for CPUs, and serve; train whole grids and report them.",
    epilog="Start with: python -m trellex.phrasebook text && trellex new --help",
)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        print(f"trellex {trellex.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version, and end.")
    ] = False,
) -> None:
    """Options of no verb; `help` of the application is what is shown."""


for verb in (
    new,
    prepare,
    train,
    average,
    codes,
    shortlist,
    experiment,
    translate,
    explain,
    score,
    evaluate,
    report,
    export,
    serve,
    info,
):
    app.command(epilog=examples_of(verb))(verb)

if __name__ == "__main__":
    from trellex.__main__ import main

    main()
