"""The model of a checkpoint, in torch."""

from __future__ import annotations

from pathlib import Path

from trellex.kinds import CHECKPOINT_FILE
from trellex.loaded import LoadedModel
from trellex.memory import NoRoomError
from trellex.nmt.build import build_model
from trellex.nmt.model import TranslationModel
from trellex.text.manifest import VOCABULARIES
from trellex.text.vocabulary import Vocabulary
from trellex.training import checkpoint
from trellex.training.processes import choose_device


def load_checkpoint(
    path: Path, device: str = "cpu", decoding: str | None = None, verify: bool = True
) -> LoadedModel[TranslationModel]:
    """The model of a checkpoint, or of a run, whose best checkpoint is taken.

    Args:
        path: the folder
        device: auto, cpu or cuda
        decoding: "paper" or "exact", instead of what the model was trained with
        verify: compare checksums; all else is checked in any case
    """
    folder = checkpoint.model_folder(path)
    info = checkpoint.load_info(folder)
    if verify:
        checkpoint.verify(folder, info, checkpoint.OF_THE_MODEL)
    try:
        source, target = (Vocabulary.load(folder / name) for name in VOCABULARIES)
    except ValueError as error:
        raise ValueError(f"{folder}: damaged ({error}); {checkpoint.REMEDY}") from error
    text = info.corpus.text()
    pieces = text.load_pieces(folder, info.files or {}, checkpoint.REMEDY)
    spec = info.recipe.head if decoding is None else info.recipe.head.with_options(decoding=decoding)
    code = checkpoint.load_code(folder, spec, len(target))
    word_codes = checkpoint.load_word_codes(folder, info.recipe.model, len(source), len(target))
    weights = folder / checkpoint.MODEL
    try:
        room = weights.stat().st_size
        model = build_model(info.recipe.model, spec, len(source), target, code, room, word_codes)
    except NoRoomError as error:
        raise ValueError(
            f"{weights}: too small for the sizes that {CHECKPOINT_FILE} tells ({error}); {checkpoint.REMEDY}"
        ) from error
    except (ValueError, TypeError, RuntimeError, OverflowError) as error:
        problem = str(error).partition("\n")[0]
        raise ValueError(
            f"{folder / CHECKPOINT_FILE}: no model can be built like this ({problem}); {checkpoint.REMEDY}"
        ) from error
    model.load_state_dict(checkpoint.load_tensors(folder, "model", model.state_dict()))
    model.to(choose_device(device)).eval()
    return LoadedModel(model, text, source, target, spec, info.step, pieces)
