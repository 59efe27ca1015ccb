"""Arrays in files: what is damaged is refused with its name, whatever the damage."""

import re

import mutations
import numpy as np
import pytest

from trellex.npy import load_array


@pytest.mark.parametrize("mapped", [False, True])
def test_every_byte_of_a_header(tmp_path, mapped):
    path, array = tmp_path / "array.npy", np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(path, array)
    content = path.read_bytes()
    read, told = 0, set()
    for place in range(len(content) - array.nbytes):
        for bit in range(8):
            path.write_bytes(mutations.change(path.name, content, "flip", {"at": place, "bit": bit}))
            try:
                found = load_array(path, (2, 3), np.float32, remedy="copy it again", mapped=mapped)
            except ValueError as error:
                told.add(re.sub(r"\(.*\)", "()", str(error), flags=re.DOTALL))
            else:
                assert np.array_equal(found, array), (place, bit)
                read += 1
    assert read < 10  # as "=" in place of "<"
    assert all(each.startswith(f"{path}: ") and each.endswith("; copy it again") for each in told)
    assert len(told) == 3  # no array, of another kind, too long


def test_more_than_the_array(tmp_path):
    path, array = tmp_path / "array.npy", np.arange(6, dtype=np.float32)
    np.save(path, array)
    assert np.array_equal(load_array(path, (6,), np.float32, remedy="copy it again"), array)
    with path.open("ab") as file:
        file.write(b"\0")
    with pytest.raises(ValueError, match=f"{path}: more than its array, or its header was changed; copy it again"):
        load_array(path, (6,), np.float32, remedy="copy it again")


def test_too_little_memory_is_no_damage(tmp_path, monkeypatch):
    def fail(*arguments, **options):
        raise OSError(12, "Cannot allocate memory")

    np.save(tmp_path / "array.npy", np.zeros(3))
    monkeypatch.setattr(np.lib.format, "open_memmap", fail)
    with pytest.raises(OSError, match="Cannot allocate memory"):
        load_array(tmp_path / "array.npy", (3,), np.float64, remedy="copy it again")
