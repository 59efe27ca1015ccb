"""What computes here, by name, and with which versions."""

from __future__ import annotations

import platform
from pathlib import Path

import torch

import trellex


def cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def device_name(device: str) -> str:
    """device: cpu or cuda"""
    return torch.cuda.get_device_name() if device == "cuda" else cpu_name()


def versions() -> dict[str, str]:
    return {"trellex": trellex.__version__, "python": platform.python_version(), "torch": torch.__version__}
