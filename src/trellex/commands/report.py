"""Report an experiment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from trellex.terminal import Json, errors_explained, examples


@examples("trellex report results/phrasebook --output report")
def report(
    results: Annotated[Path, typer.Argument(help="A folder of result files, as `trellex experiment` leaves it.")],
    output: Annotated[Path, typer.Option(help="The folder for the report; made if it is not there.")],
    as_json: Json = False,
) -> None:
    """Make tables and figures of an experiment: report.md, index.html, and figures as SVG and PNG.

    The paper's table, with its figures beside ours, BLEU with intervals, training curves, bit errors, rare words.
    The same results always give the same bytes.
    """
    with errors_explained():
        from trellex.files import check_writable
        from trellex.report.page import write_report

        check_writable(output)
        files = write_report(results, output)
        pages = [str(path) for path in files if path.parent == output]
        if as_json:
            print(json.dumps([str(path) for path in files], ensure_ascii=False))
        else:
            print(*pages, f"and {len(files) - len(pages)} files of figures", sep="\n")
