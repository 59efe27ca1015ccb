"""The machine: what computes here, by name and number, with which versions, and how busy others keep it."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from time import perf_counter

import torch

import trellex


def cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def cpu_count() -> int:
    """CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class OtherProcesses:
    """How many CPU cores all processes but this one keep busy from now on."""

    def __init__(self) -> None:
        self._begun = perf_counter(), _seconds_of_others()

    def cores(self) -> float | None:
        """On average until now; None where the system does not tell."""
        (begun, before), now = self._begun, _seconds_of_others()
        if before is None or now is None:
            return None
        return round(max(now - before, 0.0) / (perf_counter() - begun), 3)


def _seconds_of_others() -> float | None:
    """CPU time since the machine started, that of this process left out."""
    try:
        first, *_ = Path("/proc/stat").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    user, nice, system, _, _, *interrupts_and_stolen = map(int, first.split()[1:9])  # without idle and waiting
    return (user + nice + system + sum(interrupts_and_stolen)) / os.sysconf("SC_CLK_TCK") - sum(os.times()[:4])


def device_name(device: str) -> str:
    """device: cpu or cuda"""
    return torch.cuda.get_device_name() if device == "cuda" else cpu_name()


def versions() -> dict[str, str]:
    return {"trellex": trellex.__version__, "python": platform.python_version(), "torch": torch.__version__}
