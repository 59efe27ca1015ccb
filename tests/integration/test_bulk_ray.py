"""Shards by a Ray cluster of several nodes, one of which is killed on the way: nothing is lost, and nothing twice."""

import json
import os
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("ray")
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
MODEL = Path(__file__).parents[1] / "models" / "export"
LINES, SHARDS = 24_000, 12


@pytest.fixture(scope="module")
def cluster():
    """A head that only leads, and three nodes with a core each, all of them processes of this machine."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    for _ in range(3):
        cluster.add_node(num_cpus=1, wait=False)
    cluster.wait_for_nodes()
    yield cluster
    cluster.shutdown()


@pytest.fixture(scope="module")
def text(repeated):
    return repeated(LINES)


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def records(folder):
    return sorted((folder / "_trellex").glob("*.json")) if folder.exists() else []


def in_work(folder):
    return list(folder.glob(".shard-*"))


def test_a_node_that_is_killed_loses_nothing(process, cluster, text, tmp_path):
    alone, together = tmp_path / "alone", tmp_path / "together"
    begun = process("translate", MODEL, text, together, "--shard", f"1/{SHARDS}")  # begun without Ray
    assert begun.exit_code == 0, begun.stderr
    running = process.start("translate", MODEL, text, together, "--ray", "--ray-address", cluster.address)
    deadline = time.monotonic() + 60
    while len(in_work(together)) < 3 and time.monotonic() < deadline:
        time.sleep(0.002)
    assert time.monotonic() < deadline
    cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
    result = process.finish(running)
    assert result.exit_code == 0, result.stderr
    assert "a worker was lost with shard" in result.stderr
    assert process("translate", MODEL, text, alone, "--shard", f"all/{SHARDS}").exit_code == 0
    assert contents(together) == contents(alone)  # nothing hidden is left over either
    assert sum(json.loads(path.read_text())["rows"] for path in records(together) if path.stem != "plan") == LINES


def test_an_error_of_a_worker_is_told_as_ever(process, cluster, tmp_path):
    (tmp_path / "bad.en").write_bytes(b"the station\ncaf\xe9\n")
    command = ("translate", "--model", MODEL, "bad.en", "out", "--ray", "--ray-address", cluster.address, "--strict")
    result = process(*command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})
    assert result.exit_code == 1
    *_, last = result.stderr.splitlines()
    assert last.startswith(f"error: {tmp_path / 'bad.en'} line 2: not valid UTF-8")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["_trellex"]


def test_a_model_of_the_package_by_its_name(process, cluster, tmp_path):
    (tmp_path / "two.en").write_text("Where is the station?\nHe is a doctor.\n", encoding="utf-8")
    command = ("translate", "--model", "en-ja", "two.en", "out", "--ray", "--ray-address", cluster.address)
    result = process(*command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "out" / "shard-00001-of-00001.txt").read_text(encoding="utf-8").count("。\n") == 2


def test_a_cluster_without_gpus(process, cluster, text, tmp_path):
    command = ("translate", MODEL, text, tmp_path / "out", "--device", "cuda", "--ray", "--ray-address")
    result = process(*command, cluster.address)
    assert result.exit_code == 1
    assert "device: the cluster has no GPU" in result.stderr


def test_no_cluster(process, text, tmp_path):
    result = process("translate", MODEL, text, tmp_path / "out", "--ray", "--ray-address", "127.0.0.1:1")
    assert result.exit_code == 1
    assert "error: ray_address: no Ray cluster at '127.0.0.1:1'" in result.stderr
