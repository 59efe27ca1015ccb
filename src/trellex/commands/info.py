"""Tell what a model is."""

from __future__ import annotations

from typing import Any

from trellex.terminal import Json, Model, Verify, errors_explained, examples, show


@examples("trellex info phrasebook/run")
def info(
    model: Model,
    verify: Verify = True,
    as_json: Json = False,
) -> None:
    """The paper's columns: bits, outputs, and parameters of the output layer and of all, against softmax.

    Of an exported model: what it is, and whether all of its files are as they were written.
    """
    with errors_explained():
        from trellex.models import find_model
        from trellex.runtime.folder import Export, is_export

        model = find_model(model)
        if is_export(model):
            export = Export.open(model)
            if verify:
                export.verify()
            manifest = export.manifest
            facts: dict[str, Any] = {"head": manifest.head.as_text(), "precision": manifest.precision}
            facts |= {"target words": manifest.vocab_size, "from": manifest.text.source_language}
            facts |= {"to": manifest.text.target_language, "decoding": getattr(manifest.head, "decoding", "exact")}
            facts |= {
                "bytes": sum(size for size, _ in manifest.files.values()),
                "checksums": "right" if verify else "not compared",
            }
            show(facts, as_json)
            return
        from trellex.evaluation.size import Size
        from trellex.training.average import Average
        from trellex.training.checkpoint import model_folder
        from trellex.training.loading import load_checkpoint

        loaded, average = load_checkpoint(model, verify=verify), Average.find(model_folder(model))
        facts = {"head": loaded.head.as_text(), "step": loaded.step}
        facts |= average.summary(()) if average else {}
        show({**facts, **Size.of(loaded.model).columns()}, as_json)
