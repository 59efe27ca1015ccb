"""Several training processes, as `torchrun` starts them; or just one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist
import torch.distributed.nn  # imported once there is a group, its functions' defaults would keep it for ever
from torch import nn

from trellex.training.recipe import TrainingSettings


def choose_device(device: str) -> str:
    """cpu or cuda, where auto takes a GPU if there is one."""
    if device not in ("auto", "cpu", "cuda"):
        raise ValueError(f"device: expected auto, cpu or cuda, got {device!r}")
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("device: cuda was asked for, but PyTorch sees no GPU; use cpu or auto")
    return device


def training_device(settings: TrainingSettings) -> str:
    """cpu or cuda. Raises ValueError if there is no such device here, or it cannot train in this precision."""
    device = choose_device(settings.device)
    if settings.precision == "bfloat16" and device != "cuda":
        raise ValueError("training.precision: bfloat16 is for GPUs; use float32 on the CPU")
    return device


@dataclass(frozen=True)
class Processes:
    """This process among its kind.

    Attributes:
        rank: this one's number; 0 validates, writes and talks
        count: how many there are
        device: where this one computes
    """

    rank: int
    count: int
    device: torch.device

    @classmethod
    def join(cls, device: str) -> Processes:
        """Meet the other processes, if `torchrun` started any. device: auto, cpu or cuda"""
        device = choose_device(device)
        count = int(os.environ.get("WORLD_SIZE", "1"))
        if count == 1:
            return cls(0, 1, torch.device(device))
        if device == "cuda":
            local = int(os.environ["LOCAL_RANK"])
            torch.cuda.set_device(local)
            device = f"cuda:{local}"
        if not dist.is_initialized():
            dist.init_process_group("nccl" if device.startswith("cuda") else "gloo")
        return cls(dist.get_rank(), count, torch.device(device))

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def share(self, module: nn.Module) -> nn.Module:
        """The module with gradients averaged over all processes."""
        if self.count == 1:
            return module
        return nn.parallel.DistributedDataParallel(
            module, device_ids=[self.device.index] if self.device.type == "cuda" else None
        )

    def any(self, flag: bool) -> bool:
        """Whether any process says so."""
        if self.count == 1:
            return flag
        value = torch.tensor(float(flag), device=self.device)
        dist.all_reduce(value, dist.ReduceOp.MAX)
        return bool(value)

    def total(self, value: torch.Tensor) -> torch.Tensor:
        """The sum over all processes."""
        if self.count > 1:
            dist.all_reduce(value)
        return value

    def from_first(self, values: Sequence[float]) -> list[float]:
        """The numbers that the first process has; the others give as many of any value."""
        if self.count == 1:
            return list(values)
        shared = torch.tensor(values, dtype=torch.float64, device=self.device)
        dist.broadcast(shared, src=0)
        return shared.tolist()

    def leave(self) -> None:
        """Part from the others. Shared modules must be gone, for they would keep the group and its threads."""
        if self.count > 1:
            dist.destroy_process_group()


def is_first_process() -> bool:
    """Whether this process is the one that talks; known before it has met the others."""
    return os.environ.get("RANK", "0") == "0"
