"""Export a model for CPUs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trellex.terminal import Json, Verify, errors_explained, examples, show


@examples(
    "trellex export phrasebook/run phrasebook.int8",
    "trellex export phrasebook/run phrasebook.compact --precision compact",
)
def export(
    model: Annotated[Path, typer.Argument(help="A run or a checkpoint.")],
    folder: Annotated[Path, typer.Argument(help="Where to put the exported model.")],
    precision: Annotated[str, typer.Option(help="fp32; int8, the fastest; compact, int8 in fewer bytes.")] = "int8",
    decoding: Annotated[str | None, typer.Option(help="paper or exact, instead of the model's own.")] = None,
    verify: Verify = True,
    as_json: Json = False,
) -> None:
    """Write a model for CPUs: `trellex translate` runs it with ONNX Runtime and without torch."""
    with errors_explained():
        from trellex.runtime.export import export as export_model
        from trellex.runtime.folder import check_place
        from trellex.training.loading import load_checkpoint

        check_place(folder)
        export_model(load_checkpoint(model, decoding=decoding, verify=verify), folder, precision)
        files = {path.name: path.stat().st_size for path in sorted(folder.iterdir())}
        show({"folder": str(folder), "precision": precision, "bytes": sum(files.values()), **files}, as_json)
