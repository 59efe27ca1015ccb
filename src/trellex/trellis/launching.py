"""Launching: Triton starts kernels on the current GPU, even where their tensors are on another."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

Launch = TypeVar("Launch", bound=Callable[..., Any])


def on_own_device(launch: Launch) -> Launch:
    """The same function, which starts kernels; meanwhile the GPU of its first tensor is the current one."""

    @wraps(launch)
    def launched(values: Tensor, *arguments: Any, **options: Any) -> Any:
        with torch.cuda.device_of(values):  # type: ignore[no-untyped-call]
            return launch(values, *arguments, **options)

    return cast(Launch, launched)
