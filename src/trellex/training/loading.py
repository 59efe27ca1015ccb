"""A translator from a checkpoint, in torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from trellex.heads import build_head
from trellex.nmt.model import ModelSettings, TranslationModel
from trellex.text.manifest import PrepareSettings, TextSettings
from trellex.text.vocabulary import Vocabulary
from trellex.training import checkpoint
from trellex.training.processes import choose_device
from trellex.translator import Translator


class Loaded(NamedTuple):
    """What a checkpoint holds, all that a translator is made from."""

    model: TranslationModel
    text: TextSettings
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    info: dict[str, Any]


def load_checkpoint(path: Path, device: str = "cpu", decoding: str | None = None) -> Translator:
    """The model of a checkpoint, or of a run, whose best checkpoint is taken.

    Args:
        path: the folder
        device: auto, cpu or cuda
        decoding: "paper" or "exact", instead of what the model was trained with
    """
    return Translator(*load_model(path, device, decoding))


def load_model(path: Path, device: str = "cpu", decoding: str | None = None) -> Loaded:
    """The same without tokenisers, whose packages may be missing where ids are enough."""
    folder = checkpoint.model_folder(path)
    info = checkpoint.load_info(folder)
    try:
        text = PrepareSettings.model_validate(info["corpus"]).text()
        source, target = (Vocabulary.load(folder / f"vocab.{side}.txt") for side in ("source", "target"))
        settings = ModelSettings.model_validate(info["recipe"]["model"])
        spec: Any = info["recipe"]["head"]
    except (KeyError, TypeError, ValueError, OSError) as error:
        raise ValueError(f"{folder}: damaged or incomplete ({error!r}); {checkpoint.REMEDY}") from error
    if decoding is not None:
        spec = {**({"type": spec} if isinstance(spec, str) else spec), "decoding": decoding}
    head = build_head(spec, hidden_size=settings.hidden_size, vocab=target)
    model = TranslationModel(settings, len(source), len(target), head)
    checkpoint.load_state(model, checkpoint.load_tensors(folder, "model"), folder)
    model.to(choose_device(device)).eval()
    return Loaded(model, text, source, target, info)
