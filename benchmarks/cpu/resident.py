"""The most memory that a process has resident that loads one model and translates a few sentences, as JSON.

    python benchmarks/cpu/resident.py trellex|ctranslate2|torch FOLDER SOURCES LENGTH [SHORTLIST]

Imports no more than the translator itself does. SOURCES is a JSON file of word ids.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def status_bytes(key: str) -> int:
    """A line such as `VmHWM: 123 kB` of /proc/self/status."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(fields[key].split()[0]) << 10


def with_trellex(folder: str, sources: list[list[int]], length: int, shortlist: str | None = None) -> Callable[[], Any]:
    import numpy as np

    import trellex
    import trellex.runtime.model
    from forced import Forced, translate

    if any(Path(folder).glob("bits.*")):
        import trellex.trellis.kernels
    if shortlist is not None or any(Path(folder).glob("shelves.*")):
        import trellex.runtime.row_products

    def job() -> None:
        model = Forced(trellex.load(folder, shortlist=shortlist).model)
        for source in sources:
            translate(model, [np.array(source)], length)

    return job


def with_torch(folder: str, sources: list[list[int]], length: int) -> Callable[[], Any]:
    """`folder` is METHOD:SOURCE WORDS:TARGET WORDS:H, of a model that is made here."""
    import numpy as np
    import torch

    from forced import Forced, translate
    from random_models import RandomModels

    torch.set_num_threads(1)
    method, *sizes = folder.split(":")

    def job() -> None:
        model = Forced(RandomModels(*map(int, sizes)).model(method))
        for source in sources:
            translate(model, [np.array(source)], length)

    return job


def with_ctranslate2(folder: str, sources: list[list[int]], length: int) -> Callable[[], Any]:
    from ctranslate import Transformer

    def job() -> None:
        transformer = Transformer(Path(folder), length)
        for source in sources:
            (words,) = transformer([[f"w{word - 3}" for word in source]])
            assert len(words) == length

    return job


ENGINES: dict[str, Callable[..., Callable[[], Any]]] = {
    "trellex": with_trellex,
    "torch": with_torch,
    "ctranslate2": with_ctranslate2,
}


def main() -> None:
    engine, folder, sources, length, *shortlist = sys.argv[1:]
    job = ENGINES[engine](folder, json.loads(Path(sources).read_text()), int(length), *shortlist)
    imports = status_bytes("VmRSS")
    job()
    print(json.dumps({"imports": imports, "peak": status_bytes("VmHWM"), "own": status_bytes("RssAnon")}))


if __name__ == "__main__":
    main()
