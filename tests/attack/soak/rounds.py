"""Rounds: a command is killed some times, then left alone; then all must be as if nothing had happened."""

from __future__ import annotations

import json
import random
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from kills import NEVER, Attempt, Ending, Moment, choose_moment
from victims import VICTIMS, Victim, differences

MOST_KILLS = {"experiment": 3}  # of a round, before it is left alone; others: 12
REFUSED = "another process"  # what a second command on one folder may be told
SHOWN = 5  # differences of a finding


def work(build: Path, seed: str, minutes: float, only: Sequence[str]) -> None:
    """Torment the victims in turn until the time is over, and print a line of JSON about every round."""
    import torch  # noqa: F401  # before processes are forked, so that they need not

    import trellex.cli
    import trellex.runtime.export
    import trellex.training.trainer  # noqa: F401

    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))
    place, shared = build.resolve() / seed, build.resolve() / "shared"
    place.mkdir()
    until, choice = time.monotonic() + 60 * minutes, random.Random(seed)
    rounds = [Rounds(victim(shared), place, choice) for victim in VICTIMS if victim.name in only]
    while time.monotonic() < until:
        min(rounds, key=lambda each: each.spent / each.victim.share).play()


class Rounds:
    """A victim that is tormented: killed some times, then left alone; then all must be as if nothing had happened."""

    def __init__(self, victim: Victim, place: Path, choice: random.Random) -> None:
        self.victim, self.place, self.choice = victim, place, choice
        self.here, self.log = place / victim.name, place / "log.txt"
        self.spent, self.number = 0.0, 0
        self.seconds, self.changes = 0.0, 0

    def play(self) -> None:
        """One round."""
        began, counts = time.monotonic(), Counter({"rounds": 1})
        report: dict[str, object] = {"victim": self.victim.name, "counts": counts}
        try:
            if not self.victim.finished:
                self._watch()
            self._torment(counts)
        except (AssertionError, OSError, ValueError) as error:
            self.number += 1
            kept = self.place / f"finding-{self.victim.name}-{self.number}"
            shutil.copytree(self.here, kept, symlinks=True)
            shutil.copyfile(self.log, kept / "the-last-log.txt")
            report["finding"] = f"{error} (kept in {kept})"
            counts["findings"] += 1
        print(json.dumps(report), flush=True)
        self.spent += time.monotonic() - began

    def _begin(self, is_new: bool) -> None:
        shutil.rmtree(self.here, ignore_errors=True)
        self.here.mkdir()
        self.victim.begin(self.here, is_new)

    def _watch(self) -> None:
        """See the command undisturbed, twice: how long it takes and what it leaves, and how often it changes files."""
        for moment in (Moment(), Moment(change=NEVER)):
            self._begin(is_new=True)
            ending = self._attempt(moment)
            assert ending.status == 0, f"fails undisturbed: {ending.output}"
            before, self.victim.finished = self.victim.finished, self.victim.contents(self.here)
        assert before == self.victim.finished, f"differs by itself: {differences(before, self.victim.finished)}"
        self.seconds = ending.seconds
        self.changes = int(ending.output.rsplit("changes: ", 1)[-1])

    def _torment(self, counts: Counter[str]) -> None:
        is_new = self.choice.random() < 0.3
        self._begin(is_new)
        for _ in range(self.choice.randint(1, MOST_KILLS.get(self.victim.name, 12))):
            moment = choose_moment(self.choice, self.seconds, self.changes)
            beside_a_twin = self.victim.has_twin and self.choice.random() < 0.15
            for ending in self._beside_a_twin(moment) if beside_a_twin else [self._attempt(moment)]:
                if ending.was_killed:
                    counts.update(["kills", "beside a twin" if beside_a_twin else moment.kind])
                self._check(ending, beside_a_twin)
            self.victim.check(self.here, is_new)
            if ending.status == 0:
                break
        ending = self._attempt(Moment())
        assert ending.status == 0, f"does not go on: {ending.output}"
        found = differences(self.victim.contents(self.here), self.victim.finished)
        assert not found, "; ".join([*found[:SHOWN], *(["…"] if found[SHOWN:] else [])])

    def _check(self, ending: Ending, beside_a_twin: bool) -> None:
        is_of_trellex = "trellex/" in ending.output  # else the signal came while Python itself was starting
        assert "Traceback" not in ending.output or not is_of_trellex, f"shows a traceback: {ending.output}"
        if not ending.was_killed and not (beside_a_twin and REFUSED in ending.output):
            assert ending.status == 0, f"ended with status {ending.status}: {ending.output}"

    def _attempt(self, moment: Moment) -> Ending:
        return Attempt(self.victim.arguments(self.here), moment, self.log).end()

    def _beside_a_twin(self, moment: Moment) -> list[Ending]:
        """Run the same command twice at once; either is killed at its moment."""
        later = Moment(seconds=self.seconds * self.choice.random())
        twin = Attempt(self.victim.arguments(self.here), later, self.log.with_name("twin.txt"))
        return [self._attempt(moment), twin.end()]
