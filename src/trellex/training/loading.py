"""The model of a checkpoint, in torch."""

from __future__ import annotations

from pathlib import Path

from trellex.heads import HeadSpec
from trellex.loaded import LoadedModel
from trellex.nmt.build import build_model
from trellex.nmt.model import TranslationModel
from trellex.nmt.settings import ModelSettings
from trellex.text.manifest import PrepareSettings
from trellex.text.vocabulary import Vocabulary
from trellex.training import checkpoint
from trellex.training.processes import choose_device


def load_checkpoint(path: Path, device: str = "cpu", decoding: str | None = None) -> LoadedModel[TranslationModel]:
    """The model of a checkpoint, or of a run, whose best checkpoint is taken.

    Args:
        path: the folder
        device: auto, cpu or cuda
        decoding: "paper" or "exact", instead of what the model was trained with
    """
    folder = checkpoint.model_folder(path)
    info = checkpoint.load_info(folder)
    try:
        text = PrepareSettings.model_validate(info["corpus"]).text()
        source, target = (Vocabulary.load(folder / f"vocab.{side}.txt") for side in ("source", "target"))
        settings = ModelSettings.model_validate(info["recipe"]["model"])
        spec, step = HeadSpec.parse(info["recipe"]["head"]), int(info["step"])
    except (KeyError, TypeError, ValueError, OSError) as error:
        raise ValueError(f"{folder}: damaged or incomplete ({error!r}); {checkpoint.REMEDY}") from error
    if decoding is not None:
        spec = spec.with_options(decoding=decoding)
    model = build_model(settings, spec, len(source), target, checkpoint.load_code(folder, spec, len(target)))
    checkpoint.load_state(model, checkpoint.load_tensors(folder, "model"), folder)
    model.to(choose_device(device)).eval()
    return LoadedModel(model, text, source, target, spec, step)
