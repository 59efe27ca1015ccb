"""What every code is: an injective map from word ids to whole numbers, whose bits are the code."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

from numpy.typing import NDArray

from trellex.arrays import Array, as_bits, as_count, as_integers, bits_to_number, is_inspectable, number_to_bits
from trellex.files import atomic_writer
from trellex.records import read_json

_KINDS: dict[str, type[Code]] = {}


class Code(ABC):
    """Word id ↔ number ↔ bit array. Bit b_1, the first of the array, is the lowest of the number.

    Arrays may be numpy arrays or torch tensors of any shape; the answer is of the same kind, int64,
    and on the same device.

    Attributes:
        vocab_size: V, the number of words; word ids are 0 … V−1
        num_bits: B, the length of every bit array
    """

    kind: ClassVar[str]  # the name of the code in saved files
    vocab_size: int
    num_bits: int

    def __init_subclass__(cls) -> None:
        if "kind" in cls.__dict__:
            _KINDS[cls.kind] = cls

    def __init__(self, vocab_size: int, num_bits: int) -> None:
        self.vocab_size = vocab_size
        self.num_bits = num_bits

    def bits(self, ids: Any) -> Array:
        """The bit arrays of words. ids [..] -> bits [.., B] of 0 and 1"""
        return number_to_bits(self.numbers(ids), self.num_bits)

    def ids(self, bits: Any) -> Array:
        """The words of bit arrays, −1 where no word has that array. bits [.., B] -> ids [..]"""
        bits = as_bits(bits, "bits")
        if bits.ndim == 0 or bits.shape[-1] != self.num_bits:
            raise ValueError(f"bits: the last dimension must be {self.num_bits}, got shape {tuple(bits.shape)}")
        return self._words(bits_to_number(bits))

    def numbers(self, ids: Any) -> Array:
        """The numbers whose bits are the codes of words. ids [..] -> numbers [..]"""
        ids = as_integers(ids, "ids")
        if is_inspectable(ids) and bool(((ids < 0) | (ids >= self.vocab_size)).any()):
            raise ValueError(
                f"ids: word ids go from 0 to {self.vocab_size - 1}, got {int(ids.min())} … {int(ids.max())}"
            )
        return self._numbers(ids)

    def words(self, numbers: Any) -> Array:
        """The words of numbers, −1 where no word has that number. numbers [..] -> ids [..]"""
        return self._words(as_integers(numbers, "numbers"))

    @property
    def automaton(self) -> NDArray[Any] | None:
        """Reads bits and accepts those of words, for the trellis. [B, S, 2], None where the numbers are just 0 … V−1"""
        return None

    def table_like(self, numbers: Array) -> Array | None:
        """Without automaton: the words of 0 … V−1, where some numbers are; None where each is its own word. -> [V]"""
        return None

    @abstractmethod
    def _numbers(self, ids: Array) -> Array: ...

    @abstractmethod
    def _words(self, numbers: Array) -> Array: ...

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The code as plain data that JSON can hold."""

    @classmethod
    @abstractmethod
    def from_dict(cls, data: dict[str, Any]) -> Code:
        """The inverse of `to_dict`."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the code as JSON. The file appears whole or not at all."""
        with atomic_writer(path) as file:
            json.dump(self.to_dict(), file)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Code) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}(vocab_size={self.vocab_size}, num_bits={self.num_bits})"


def load_code(path: str | os.PathLike[str]) -> Code:
    """Read a code that `Code.save` wrote. Raises ValueError that names the file if there is none."""
    what, remedy = "a saved code", "write it with the code's `save`"
    data = read_json(Path(path), what, remedy)
    try:
        return code_from_dict(data)
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: not {what} ({error}); {remedy}") from error


def code_from_dict(data: Any) -> Code:
    """The code that `to_dict` described. Raises ValueError if it is none."""
    if not isinstance(data, dict) or data.get("type") not in list(_KINDS):
        raise ValueError(f"expected a JSON object with a type among {', '.join(sorted(_KINDS))}")
    try:
        return _KINDS[data["type"]].from_dict(data)
    except KeyError as error:
        raise ValueError(f"the key {error} is missing") from error
    except TypeError as error:
        raise ValueError(str(error)) from error


def check_vocab_size(vocab_size: Any, name: str = "vocab_size") -> int:
    """`vocab_size` as an int of at least 2; `name` is the argument that an error speaks of."""
    size = as_count(vocab_size, name)
    if not 2 <= size <= 1 << 62:
        raise ValueError(f"{name}: a code needs at least 2 words, and at most 2^62 fit; got {size}")
    return size
