"""Arrays in files: what is damaged is refused with its name, whatever the damage."""

import numpy as np
import pytest

from trellex.npy import load_array


@pytest.mark.parametrize("mapped", [False, True])
def test_every_byte_of_a_header(tmp_path, mapped):
    path, array = tmp_path / "array.npy", np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(path, array)
    content = path.read_bytes()
    refused = 0
    for place in range(len(content) - array.nbytes):
        for bit in range(8):
            damaged = bytearray(content)
            damaged[place] ^= 1 << bit
            path.write_bytes(damaged)
            try:
                found = load_array(path, (2, 3), np.float32, remedy="copy it again", mapped=mapped)
            except ValueError as error:
                refused += str(error).startswith(f"{path}: ") and str(error).endswith("; copy it again")
            else:
                assert np.array_equal(found, array) or found.shape == (2, 3)  # its checksum is not asked for here
                refused += 1
    assert refused == 8 * (len(content) - array.nbytes)


def test_too_little_memory_is_no_damage(tmp_path, monkeypatch):
    def fail(*arguments, **options):
        raise OSError(12, "Cannot allocate memory")

    np.save(tmp_path / "array.npy", np.zeros(3))
    monkeypatch.setattr(np.lib.format, "open_memmap", fail)
    with pytest.raises(OSError, match="Cannot allocate memory"):
        load_array(tmp_path / "array.npy", (3,), np.float64, remedy="copy it again")
