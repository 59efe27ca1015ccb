"""ONNX Runtime sessions, set up for one job after the other."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Self

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # before it is imported: who translates what is nobody's business

import onnxruntime
from numpy.typing import NDArray

from trellex.memory import is_out_of_memory
from trellex.runtime.folder import REMEDY, Export


class Session:
    """A graph, ready to run.

    Args:
        export: the exported model
        name: of the graph; of one in 8 bits the variant is taken that suits this CPU
        threads: of one operation
    """

    def __init__(self, export: Export, name: str, threads: int = 1) -> None:
        variants = [export.file(f"{name}{variant}.onnx") for variant in export.manifest.variants]
        path = variants[-1] if multiplies_signed() else variants[0]
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 4  # errors are raised, too
        try:
            self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime has no common class for its errors
            if is_out_of_memory(error):
                raise MemoryError(f"{path}: {error}") from error
            raise ValueError(f"{path}: not a graph that this ONNX Runtime reads ({error}); {REMEDY}") from error
        self.path = path
        ends = (*self._session.get_inputs(), *self._session.get_outputs())
        self._widths = {each.name: each.shape[-1] if each.shape else None for each in ends}

    def check(self, **widths: int | None) -> Self:
        """Raises ValueError unless there are inputs or outputs of these names with last dimensions of these sizes."""
        for name, width in widths.items():
            if name not in self._widths or width not in (None, self._widths[name]):
                raise self._unlike(name)
        return self

    def has(self, name: str) -> bool:
        """Whether there is an input or output of that name."""
        return name in self._widths

    def width(self, name: str) -> int:
        """The size of the last dimension of an input or output."""
        width = self._widths.get(name)
        if not isinstance(width, int):
            raise self._unlike(name)
        return width

    def _unlike(self, name: str) -> ValueError:
        return ValueError(f"{self.path}: not the graph it should be: {name} is not as the manifest says; {REMEDY}")

    def run(self, outputs: Sequence[str], inputs: dict[str, NDArray[Any]]) -> list[NDArray[Any]]:
        """The outputs of these names."""
        try:
            results: list[NDArray[Any]] = self._session.run(outputs, inputs)
        except Exception as error:  # as above
            if is_out_of_memory(error):
                raise MemoryError(f"{self.path}: {error}") from error
            raise ValueError(f"{self.path}: does not run ({error}); {REMEDY}") from error
        return results


@cache
def multiplies_signed() -> bool:
    """Whether this CPU multiplies unsigned by signed bytes without saturating (VNNI), which is then the faster way."""
    try:
        return "vnni" in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
