"""A process of an experiment: `python -m trellex.experiment train|score|time job.json …`, as the runner starts it."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path


def _end_with_the_runner() -> None:
    """Wait until standard input ends, which is when the runner is gone, then end as if it had asked for it."""
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def main(phase: str, *paths: Path) -> int:
    """Run a phase of a job, or time several; returns the exit status.

    What it needs takes seconds to import, hence the watch before.
    """
    threading.Thread(target=_end_with_the_runner, daemon=True).start()
    from trellex.experiment.job import Job

    jobs = [Job.load(path) for path in paths]
    if phase == "time":
        from trellex.experiment.timing import time_cells

        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            time_cells(jobs)
        except KeyboardInterrupt:
            return 130
        return 0
    from trellex.experiment.phases import score, train

    [job] = jobs
    if phase == "train":
        return 0 if train(job) else 130
    score(job)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(Path, sys.argv[2:])))
