"""Adam's moments: what a checkpoint keeps of the optimiser, by the name of the weight that they belong to."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

from trellex.training import checkpoint

MOMENTS = ("step", "exp_avg", "exp_avg_sq")
MAX_STEP = 1 << 24  # as far as Adam counts, in single precision


def moments_of(optimizer: torch.optim.Adam, model: nn.Module) -> dict[str, Tensor]:
    """Those of all weights that were trained, such as head.softmax.bias.exp_avg."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    return {
        f"{names[id(parameter)]}.{key}": value
        for parameter, state in optimizer.state.items()
        for key, value in state.items()
    }


def load_moments(optimizer: torch.optim.Adam, model: nn.Module, folder: Path, step: int) -> None:
    """Put those of a checkpoint of a step into an optimiser. Raises ValueError unless all are there, as they must be.

    Before the first step there are none.
    """
    trained = {name: value for name, value in model.named_parameters() if value.requires_grad} if step else {}
    single = torch.zeros((), device="meta")
    like = {f"{name}.{key}": single if key == "step" else value for name, value in trained.items() for key in MOMENTS}
    moments = checkpoint.load_tensors(folder, "optimizer", like)
    path = folder / checkpoint.OPTIMIZER
    for name, value in moments.items():
        if not name.endswith(".exp_avg") and bool((value < 0).any()):
            raise ValueError(f"{path}: {name} has numbers below 0: damaged; {checkpoint.REMEDY}")
        if name.endswith(".step") and value != min(step, MAX_STEP):
            raise ValueError(f"{path}: {name} is {value:g}, not that of the checkpoint, {step}; {checkpoint.REMEDY}")
    for name, parameter in trained.items():
        optimizer.state[parameter] = {key: moments[f"{name}.{key}"].to(parameter.device) for key in MOMENTS}
