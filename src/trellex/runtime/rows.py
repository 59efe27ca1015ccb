"""Rows of weights as files: in single precision, or in 8 bits with a scale each."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trellex.npy import write_header
from trellex.runtime.folder import Export

ZERO = 128  # the unsigned byte that stands for 0
SMALL = 1 << 18  # weights up to which a layer is not rounded: then it is cheap, and rounding costs most

Floats = NDArray[np.float32]


class Rows(NamedTuple):
    """A linear layer, as compiled code takes it."""

    weight: NDArray[Any]  # in single precision, or bytes around 128  [R, H]
    scales: Floats  # of bytes, otherwise 1  [R]
    bias: Floats  # [R]
    fast: bool | None  # None unless this CPU has an instruction for bytes

    def multiply(self, h: Floats) -> Floats:
        """h [N, H] -> [N, R]"""
        from trellex.runtime import row_products  # loads numba

        products = np.empty((len(h), len(self.bias)), np.float32)
        row_products.multiply(h, *self, products)
        return products

    def take(self, places: NDArray[np.int64]) -> Rows:
        """Some of them, in memory. places [N] -> [N, H]"""
        return Rows(self.weight.take(places, 0), self.scales.take(places), self.bias.take(places), self.fast)

    def read(self, places: NDArray[np.int64], factor: float) -> Floats:
        """Rows of bytes as numbers, times a factor. places [..] -> [.., H]"""
        return (self.weight[places] - np.float32(ZERO)) * (self.scales[places] * np.float32(factor))[..., None]

    @classmethod
    def of_vectors(cls, vectors: Floats, is_rounded: bool = True) -> Rows:
        """Of vectors in memory; in 8 bits each of those that were in 8 bits before is what it was. [R, H]"""
        from trellex.runtime import pruned_argmax  # loads numba

        no_bias, ones = np.zeros(len(vectors), np.float32), np.ones(len(vectors), np.float32)
        if not is_rounded:
            return cls(np.ascontiguousarray(vectors), ones, no_bias, None)
        return cls(*quantized(vectors), no_bias, True if pruned_argmax.is_supported() else None)

    @classmethod
    def load(cls, export: Export, name: str, shape: tuple[int, ...], width: int, mapped: bool = False) -> Rows:
        """Those that `save` wrote, rounded or not. Raises ValueError if they are not of this shape and H = `width`.

        mapped: the weights stay on disk until they are needed
        """
        from trellex.runtime import pruned_argmax  # loads numba

        is_rounded = f"{name}.scales.npy" in export.manifest.files
        weight = export.array(f"{name}.weight", (*shape, width), np.uint8 if is_rounded else np.float32, mapped=mapped)
        scales = export.array(f"{name}.scales", shape) if is_rounded else np.broadcast_to(np.float32(1), shape)
        bias = export.array(f"{name}.bias", shape)
        fast = True if is_rounded and pruned_argmax.is_supported() else None
        return cls(weight.reshape(-1, width), scales.reshape(-1), bias.reshape(-1), fast)

    @staticmethod
    def save(folder: Path, name: str, blocks: Iterable[Floats], width: int, bias: Floats, is_rounded: bool) -> None:
        """Write weights, given as some rows [.., H] after the other, H = `width`, in all as many as biases."""
        np.save(folder / f"{name}.bias.npy", bias.astype(np.float32, copy=False))
        scales: list[Floats] = []
        with (folder / f"{name}.weight.npy").open("wb") as file:
            write_header(file, np.uint8 if is_rounded else np.float32, (*bias.shape, width))
            for block in blocks:
                rows, of_rows = quantized(block) if is_rounded else (block.astype(np.float32, copy=False), bias[:0])
                file.write(rows.tobytes())
                scales.append(of_rows)
        if is_rounded:
            np.save(folder / f"{name}.scales.npy", np.concatenate(scales).reshape(bias.shape))


def quantized(weight: Floats) -> tuple[NDArray[np.uint8], Floats]:
    """Rows as bytes around 128 with a scale each. Unsigned, so that no product saturates on CPUs without VNNI.

    weight [O, I] -> [O, I], [O]
    """
    scale = np.maximum(np.abs(weight).max(1), np.finfo(np.float32).tiny) / 127
    return (np.rint(weight / scale[:, None]) + ZERO).astype(np.uint8), scale.astype(np.float32)
