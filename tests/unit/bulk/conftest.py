"""A small model and jobs that translate with it."""

import pytest

from trellex.bulk.here import translate_here
from trellex.bulk.job import Job, Settings
from trellex.bulk.plan import open_plan


@pytest.fixture(scope="session")
def small_model(both):
    """The folder of an exported model whose translations do not depend on what stands beside a line."""
    return both("hybrid-9-ec", "fp32")[2]


@pytest.fixture
def job_of(small_model, tmp_path):
    """Makes a job from a file or a folder into tmp_path / "out", unless told otherwise."""

    def job_of(texts, output="out", model=small_model, strict=False, **settings):
        return Job(model=model, texts=texts, output=tmp_path / output, strict=strict, settings=Settings(**settings))

    return job_of


@pytest.fixture
def plan_of():
    """The plan of a job, made or found."""

    def plan_of(job, shards=None):
        return open_plan(job, shards, lambda: None, lambda: None)

    return plan_of


@pytest.fixture
def translated(plan_of):
    """Translates some shards of a job, all unless told; returns their records by number."""

    def translated(job, shards=None, numbers=None):
        plan = plan_of(job, shards)
        return dict(translate_here(job, plan, numbers or range(1, plan.shards + 1), lambda rows: None))

    return translated
