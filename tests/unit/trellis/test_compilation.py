"""Kernels run whether or not there is a place for what was compiled."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core.caching import CacheImpl, IndexDataCacheFile

import trellex
from trellex.trellis import compilation

NOTICE = "set NUMBA_CACHE_DIR to a folder that can be written"


@pytest.fixture(autouse=True)
def _nothing_was_told_yet():
    compilation._tell_once.cache_clear()
    yield
    compilation._tell_once.cache_clear()


def compiled():
    """Two kernels, one of which calls the other."""

    @compilation.compiled_with(nogil=True)
    def double(number):
        return 2 * number

    @compilation.compiled_with()
    def add_doubles(first, second):
        return double(first) + double(second)

    return add_doubles


def test_nothing_is_told_where_there_is_a_place(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    assert compiled()(3, 4) == 14
    assert {path.suffix for path in tmp_path.rglob("*.nb*")} == {".nbi", ".nbc"}
    assert capsys.readouterr().err == ""


def test_without_a_place_it_is_told_once(monkeypatch, capsys):
    monkeypatch.setattr(CacheImpl, "_locator_classes", [])
    assert compiled()(3, 4) == 14
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert NOTICE in told


def test_a_full_disk_stops_nothing(tmp_path, monkeypatch, capsys):
    def fail(*arguments):
        raise OSError("No space left on device")

    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(IndexDataCacheFile, "save", fail)
    assert compiled()(3, 4) == 14
    assert capsys.readouterr().err.count(NOTICE) == 1


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root may write everywhere")
def test_an_installation_and_a_home_that_are_read_only(tmp_path):
    package = Path(trellex.__file__).parent
    shutil.copytree(package, tmp_path / "trellex", ignore=shutil.ignore_patterns("__pycache__"))
    for path in (tmp_path, *tmp_path.rglob("*")):
        path.chmod(path.stat().st_mode & ~0o222)
    unprivileged = ["setpriv", "--bounding-set=-dac_override"] if os.geteuid() == 0 else []
    script = "from trellex.trellis import kernels; print(kernels.__file__, kernels._log_odds(0.5))"
    nowhere = {"PYTHONPATH": str(tmp_path), "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    try:
        result = subprocess.run(
            [*unprivileged, sys.executable, "-c", script],
            env={key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"} | nowhere,
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
    finally:
        for path in (tmp_path, *tmp_path.rglob("*")):
            path.chmod(path.stat().st_mode | 0o200)
    assert result.stdout == f"{tmp_path / 'trellex' / 'trellis' / 'kernels.py'} 0.0\n"
    assert result.stderr.count("\n") == 1
    assert NOTICE in result.stderr
