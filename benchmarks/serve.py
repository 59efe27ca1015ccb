"""What a server of `trellex serve` can do, and what it gains by translating requests side by side: `make bench-serve`.

Two processes serve the same model, the one as it is, the other with batches of one sentence. 200 clients, each with one
request at a time, ask first the one, then the other, round after round; rates are medians of rounds. Then they ask the
first alone for a minute: times of requests, errors, and the memory of the process before and after.

Unless one is given, the model is of random weights: hybrid-2048-ec, H = 512, 65,536 target words, in 8 bits. It seldom
ends a sentence, so that 10 words are mostly translated into 30. Clients run on the same machine as the server.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent / "cpu"))

METHOD, SOURCE_WORDS, TARGET_WORDS, HIDDEN = "hybrid-2048-ec", 8192, 65_536, 512
LENGTH = 10  # words of a sentence
WAYS = {"side by side": (), "one by one": ("--batch-tokens", "1")}


class Served(NamedTuple):
    """A server process."""

    url: str
    pid: int

    def resident(self) -> int:
        """Bytes of memory."""
        fields = dict(line.split(":", 1) for line in Path(f"/proc/{self.pid}/status").read_text().splitlines())
        return int(fields["VmRSS"].split()[0]) << 10

    def worked(self) -> float:
        """Seconds of CPU time so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Load(NamedTuple):
    """What clients saw."""

    seconds: float
    times: list[float]  # of each request that was answered with 200
    errors: int

    @property
    def rate(self) -> float:
        return len(self.times) / self.seconds

    def percentile(self, percent: int) -> float:
        return statistics.quantiles(self.times, n=100, method="inclusive")[percent - 1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="an exported model; one of random weights unless given")
    parser.add_argument("--text", type=Path, help="sentences in its source language, one a line")
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60, help="of the long run")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--round-seconds", type=float, default=5)
    parser.add_argument("--warm-up", type=float, default=3, help="seconds before the first round")
    parser.add_argument("--json", type=Path, help="write the figures here, too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as servers:
        model = options.model or random_model(Path(folder) / "model")
        lines = options.text.read_text(encoding="utf-8").splitlines() if options.text else random_lines()
        served = {name: servers.enter_context(serving(model, more)) for name, more in WAYS.items()}
        figures = compare(served, lines, options) | endure(served["side by side"], lines, options)
    figures |= {"clients": options.clients, "machine": machine()}
    show(figures)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


def compare(served: dict[str, Served], lines: list[str], options: argparse.Namespace) -> dict[str, object]:
    """Requests a second of each way, and what each took of the CPU, in turns."""
    rates: dict[str, list[float]] = {name: [] for name in served}
    costs: dict[str, list[float]] = {name: [] for name in served}
    for server in served.values():
        load(server, lines, options.clients, options.warm_up)
    for place in range(options.rounds):
        for name in list(served)[:: 1 if place % 2 else -1]:
            worked = served[name].worked()
            seen = load(served[name], lines, options.clients, options.round_seconds)
            rates[name].append(seen.rate)
            costs[name].append(1e3 * (served[name].worked() - worked) / len(seen.times))
    ratios = [a / b for a, b in zip(rates["side by side"], rates["one by one"], strict=True)]
    return {
        "rates": rates,
        "median rates": {name: statistics.median(found) for name, found in rates.items()},
        "median CPU milliseconds": {name: statistics.median(found) for name, found in costs.items()},
        "ratio": statistics.median(ratios),
        "ratios": ratios,
    }


def endure(server: Served, lines: list[str], options: argparse.Namespace) -> dict[str, object]:
    """One long run."""
    before = server.resident()
    seen = load(server, lines, options.clients, options.seconds)
    times = {f"{percent} %": 1e3 * seen.percentile(percent) for percent in (50, 95, 99)}
    memory = {"before": before, "after": server.resident()}
    return {"seconds": seen.seconds, "requests": len(seen.times), "errors": seen.errors, "rate": seen.rate} | {
        "milliseconds": times,
        "resident": memory,
    }


def load(server: Served, lines: list[str], clients: int, seconds: float) -> Load:
    return asyncio.run(_load(server.url, lines, clients, seconds))


async def _load(url: str, lines: list[str], clients: int, seconds: float) -> Load:
    times: list[float] = []
    errors = 0
    async with AsyncExitStack() as stack:
        sessions = []
        for _ in range(clients):  # one each: a pool that all share looks through all connections for every request
            session = httpx.AsyncClient(base_url=url, timeout=120, verify=False, trust_env=False)
            sessions.append(await stack.enter_async_context(session))
        languages = (await sessions[0].get("/frontend/settings")).json()["language"]
        body = {side: languages[side]["code"] for side in ("source", "target")}
        began = time.perf_counter()

        async def client(place: int) -> None:
            nonlocal errors
            draw = random.Random(place)
            while (begin := time.perf_counter()) < began + seconds:
                try:
                    answer = await sessions[place].post("/translate", json=body | {"q": draw.choice(lines)})
                    is_fine = answer.status_code == 200 and "translatedText" in answer.json()
                except httpx.HTTPError:
                    is_fine = False
                if is_fine:
                    times.append(time.perf_counter() - begin)
                else:
                    errors += 1

        await asyncio.gather(*map(client, range(clients)))
        return Load(time.perf_counter() - began, times, errors)


@contextmanager
def serving(model: Path, more: tuple[str, ...]) -> Iterator[Served]:
    """A server on a free port, with one thread."""
    command = [sys.executable, "-m", "trellex", "serve", model, "--port", "0", *more]
    source = str(Path(__file__).resolve().parents[1] / "src")
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": source, "COLUMNS": "200"}
    with subprocess.Popen(list(map(str, command)), env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        told = process.stderr.readline()
        found = re.match(r"http://\S+", told)
        if not found:
            sys.exit(told + process.stderr.read())
        try:
            yield Served(found[0], process.pid)
        finally:
            process.terminate()


def random_model(folder: Path) -> Path:
    from forced import make_sources
    from random_models import RandomModels

    sources = make_sources(32, LENGTH, SOURCE_WORDS)
    RandomModels(SOURCE_WORDS, TARGET_WORDS, HIDDEN).export(METHOD, folder, "int8", sources, 2 * LENGTH + 10)
    return folder


def random_lines() -> list[str]:
    draw = random.Random(0)
    return [" ".join(f"w{draw.randrange(SOURCE_WORDS - 3)}" for _ in range(LENGTH)) for _ in range(1000)]


def machine() -> str:
    names = re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return f"{names[0] if names else platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def show(figures: dict[str, object]) -> None:
    medians, times, memory = figures["median rates"], figures["milliseconds"], figures["resident"]
    table = Table("", "", show_header=False)
    for name, rate in medians.items():
        table.add_row(f"requests a second, {name}", f"{rate:,.0f}")
    table.add_row("ratio, median of rounds", f"{figures['ratio']:.2f}")
    table.add_row("ratio, lowest and highest", f"{min(figures['ratios']):.2f}, {max(figures['ratios']):.2f}")
    for name, cost in figures["median CPU milliseconds"].items():
        table.add_row(f"CPU time of the server a request, {name}", f"{cost:.2f} ms")
    table.add_row(f"then for {figures['seconds']:.0f} s: requests", f"{figures['requests']:,}")
    table.add_row("errors", f"{figures['errors']}")
    table.add_row("requests a second", f"{figures['rate']:,.0f}")
    for name, value in times.items():
        table.add_row(f"{name} are answered within", f"{value:,.0f} ms")
    for name, value in memory.items():
        table.add_row(f"memory of the server {name}", f"{value / 1e6:,.0f} MB")
    Console(width=100).print(f"{figures['clients']} clients; {figures['machine']}", table)


if __name__ == "__main__":
    main()
