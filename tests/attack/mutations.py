"""Mutations: every way to damage a file or a folder, reproducible and described.

folder = shutil.copytree("tests/models/export", "damaged")
mutation = draw(folder, random.Random(1))
mutation.apply(folder)
print(mutation)
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import documents

from trellex.records import SEAL
from trellex.records import sealed as with_checksum

ARRAY_HEADERS = {  # of .npy files, by key and name; Python
    "descr": {
        "doubles": "'<f8'",
        "big-endian": "'>f4'",
        "objects": "'|O'",
        "text": "'<U9'",
        "bytes": "'|i1'",
        "no": "7",
    },
    "fortran_order": {"true": "True", "null": "None", "text": "'x'"},
    "shape": {
        **{"none": "()", "empty": "(0,)", "huge": "(10**18,)".replace("10**18", "1" + "0" * 18), "negative": "(-1,)"},
        **{"flat": "(1,)", "a product beyond int64": f"({2**40}, {2**40})", "text": "'x'", "deep": "(" * 90 + ")" * 90},
    },
}


@dataclass(frozen=True)
class Mutation:
    """One change of one file in a folder.

    Attributes:
        how: one of CONTENTS or PLACES
        file: its name, relative to the folder
        options: what the change needs to be the same again
    """

    how: str
    file: str
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return " ".join([f"{self.file}: {self.how}", *(f"{name}={value}" for name, value in self.options.items())])

    def apply(self, folder: Path) -> None:
        """Change the file. Raises ValueError if it is not there, or cannot be changed so."""
        path = folder / self.file
        if not path.is_file():
            raise ValueError(f"{path}: no file to change")
        if self.how in PLACES:
            PLACES[self.how](folder, path, **self.options)
        else:
            path.write_bytes(change(self.file, path.read_bytes(), self.how, self.options))

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_json(cls, data: bytes) -> Mutation:
        return cls(**json.loads(data))


def draw(folder: Path, random: Random) -> Mutation:
    """A mutation of one of a folder's files, the same for the same seed."""
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    file = random.choice(files)
    if random.random() < 0.15:
        how = random.choice(sorted(PLACES))
        return Mutation(how, file, {"other": random.choice(files)} if how == "swap" else {})
    how, options = _draw(file, (folder / file).read_bytes(), random)
    return Mutation(how, file, options)


def mutate(name: str, content: bytes, random: Random) -> bytes:
    """The content of a file of this name after one to three changes."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        content = change(name, content, *_draw(name, content, random))
    return content


def change(name: str, content: bytes, how: str, options: Mapping[str, Any]) -> bytes:
    """The content of a file of this name after a change of CONTENTS."""
    return CONTENTS[how](name, content, **options)


def seal(folder: Path, manifest: str) -> None:
    """Bring sizes and SHA-256 of files, and of the manifest itself, up to date: only what they mean can tell then."""
    files = {path.name: path.read_bytes() for path in (folder / manifest).parent.iterdir() if path.is_file()}

    def sealed(fact: Any, content: bytes) -> Any:
        if isinstance(fact, list):
            return [sealed(each, content) for each in fact]
        if isinstance(fact, dict):
            return {key: sealed(each, content) for key, each in fact.items()}
        if isinstance(fact, int):
            return len(content)
        return hashlib.sha256(content).hexdigest() if re.fullmatch("[0-9a-f]{64}", str(fact)) else fact

    def walk(part: Any) -> Any:
        if not isinstance(part, dict):
            return part
        return {key: sealed(value, files[key]) if key in files else walk(value) for key, value in part.items()}

    path = folder / manifest
    data = walk(json.loads(path.read_bytes()))
    path.write_text(json.dumps(with_checksum({key: value for key, value in data.items() if key != SEAL})))


def _draw(name: str, content: bytes, random: Random) -> tuple[str, dict[str, Any]]:
    """A change of CONTENTS and its options."""
    anywhere = random.randrange(max(1, len(content)))
    amount = random.choice((1, 2, 8, 64, 4096))
    kind = Path(name).suffix
    if kind in documents.SUFFIXES and random.random() < 0.7:
        with_paths = documents.paths(name, content)
        if with_paths:
            path = random.choice(with_paths)
            how = random.choice(("set", "set", "set", "drop", "nudge", "add"))
            value = {"value": random.choice(sorted(documents.VALUES))} if how in ("set", "add") else {}
            return how, {"path": path, **value}
    if content.startswith(b"\x93NUMPY") and random.random() < 0.5:
        key = random.choice(sorted(ARRAY_HEADERS))
        return "header", {"key": key, "value": random.choice(sorted(ARRAY_HEADERS[key]))}
    if kind == ".safetensors" and random.random() < 0.2:
        return "length", {"length": random.choice((0, 1, 7, len(content), 2**31, 2**63, 2**64 - 1))}
    seed = random.randrange(2**32)
    return random.choice(
        [
            ("flip", {"at": anywhere, "bit": random.randrange(8)}),
            ("cut", {"at": anywhere}),
            ("extend", {"amount": amount, "seed": seed}),
            ("zero", {"at": anywhere, "amount": amount}),
            ("noise", {"seed": seed}),
            ("insert", {"at": anywhere, "amount": amount, "seed": seed}),
            ("repeat", {"at": anywhere, "amount": amount, "times": random.choice((2, 100))}),
        ]
    )


def _flip(name: str, content: bytes, at: int, bit: int) -> bytes:
    changed = bytearray(content or b"\0")
    changed[at % len(changed)] ^= 1 << bit
    return bytes(changed)


def _zero(name: str, content: bytes, at: int, amount: int) -> bytes:
    count = min(amount, len(content) - at % (len(content) or 1))
    return content[: at % (len(content) or 1)] + bytes(count) + content[at % (len(content) or 1) + count :]


def _insert(name: str, content: bytes, at: int, amount: int, seed: int) -> bytes:
    return content[:at] + Random(seed).randbytes(amount) + content[at:]


def _repeat(name: str, content: bytes, at: int, amount: int, times: int) -> bytes:
    return content[:at] + content[at : at + amount] * times + content[at + amount :]


def _header(name: str, content: bytes, key: str, value: str) -> bytes:
    """The header of an array with one of its values replaced, padded as numpy does."""
    start = 10 + int.from_bytes(content[8:10], "little")
    parts = re.findall(rb"'(descr|fortran_order|shape)': ('[^']*'|\([^)]*\)|\w+)", content[10:start])
    header = {found.decode(): text.decode("latin-1") for found, text in parts} | {key: ARRAY_HEADERS[key][value]}
    text = "{" + ", ".join(f"'{found}': {text}" for found, text in header.items()) + ", }"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return content[:8] + len(text).to_bytes(2, "little") + text.encode("latin-1") + content[start:]


def _length(name: str, content: bytes, length: int) -> bytes:
    return length.to_bytes(8, "little") + content[8:]


CONTENTS: dict[str, Callable[..., bytes]] = {
    "flip": _flip,
    "cut": lambda name, content, at: content[:at],
    "extend": lambda name, content, amount, seed: content + Random(seed).randbytes(amount),
    "zero": _zero,
    "noise": lambda name, content, seed: Random(seed).randbytes(len(content)),
    "insert": _insert,
    "repeat": _repeat,
    "set": documents.set_value,
    "add": documents.add_value,
    "drop": documents.drop_value,
    "nudge": documents.nudge_value,
    "header": _header,
    "length": _length,
}


def _replaced(folder: Path, path: Path, by: Callable[[Path], object]) -> None:
    path.unlink()
    by(path)


def _swap(folder: Path, path: Path, other: str) -> None:
    contents = path.read_bytes(), (folder / other).read_bytes()
    (folder / other).write_bytes(contents[0])
    path.write_bytes(contents[1])


PLACES: dict[str, Callable[..., None]] = {
    "delete": lambda folder, path: path.unlink(),
    "swap": _swap,
    "pipe": lambda folder, path: _replaced(folder, path, os.mkfifo),
    "socket": lambda folder, path: _replaced(folder, path, lambda place: os.mknod(place, stat.S_IFSOCK | 0o600)),
    "folder": lambda folder, path: _replaced(folder, path, Path.mkdir),
    "link to nothing": lambda folder, path: _replaced(folder, path, lambda place: place.symlink_to("nothing")),
    "link to itself": lambda folder, path: _replaced(folder, path, lambda place: place.symlink_to(place.name)),
    "link to zeros": lambda folder, path: _replaced(folder, path, lambda place: place.symlink_to("/dev/zero")),
}
