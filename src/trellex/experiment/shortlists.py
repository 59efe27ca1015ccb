"""The shortlists of a grid: one for each prepared corpus, learned once for all cells that ask for it."""

from __future__ import annotations

from pathlib import Path

from trellex.experiment.job import Job
from trellex.locks import exclusive
from trellex.shortlist.shortlist import Shortlist
from trellex.temporaries import make_folder
from trellex.text.corpus import Corpus

FOLDER = "shortlists"  # beside the runs


def shortlist_file(job: Job) -> Path:
    """Where that of a job's corpus is, once it has been learned."""
    return job.run.parent / FOLDER / f"{job.corpus}.shortlist"


def shortlist_of(job: Job) -> Shortlist:
    """That of a job's corpus. The first that needs it learns it, as `trellex shortlist` does, while others wait."""
    path = shortlist_file(job)
    make_folder(path.parent)
    with exclusive(path.parent, lambda: print("another cell learns a shortlist; waiting for it to end", flush=True)):
        if not path.exists():
            Shortlist.learn(Corpus.open(job.recipe.data)).save(path)
    return Shortlist.load(path)
