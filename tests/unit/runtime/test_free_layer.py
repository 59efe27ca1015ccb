"""The scan of free codes against products with their signs, and the files of the codes."""

import shutil

import numpy as np
import pytest
from mutations import seal

from trellex.runtime import code_scan
from trellex.runtime.folder import MANIFEST, REMEDY
from trellex.runtime.model import load_export

FREE = {"type": "free", "bits": 16}
NAMES = ["codes.npy", "codes.bias.npy", "codes.onnx"]


def scanned(numbers, codes, bias):
    """Scores of all words, and the best of them. [N, V], [N]"""
    scores, words = np.empty((len(numbers), len(codes)), np.float32), np.empty(len(numbers), np.int64)
    code_scan.score_codes(numbers, codes, bias, scores)
    code_scan.best_codes(numbers, codes, bias, words)
    return scores, words


def tables(vocab, bits, gain, rows=4):
    random = np.random.default_rng(vocab + bits)
    codes, bias = random.integers(0, 256, (vocab, bits // 8), np.uint8), gain * random.normal(size=vocab)
    return (gain * random.normal(size=(rows, bits))).astype(np.float32), codes, bias.astype(np.float32)


class TestScan:
    @pytest.mark.parametrize("bits", [8, 16, 64, 256])
    @pytest.mark.parametrize("vocab", [2, 3, 255, 1000])
    @pytest.mark.parametrize("gain", [0, 1e-3, 1, 1e6, 1e30])
    def test_is_the_product_with_signs(self, bits, vocab, gain):
        numbers, codes, bias = tables(vocab, bits, gain)
        signs = np.array([[1.0 if code[bit // 8] >> bit % 8 & 1 else -1.0 for bit in range(bits)] for code in codes])
        scores, words = scanned(numbers, codes, bias)
        np.testing.assert_allclose(scores, numbers.astype(np.float64) @ signs.T + bias, rtol=1e-5, atol=1e-4 * gain)
        assert np.array_equal(words, scores.argmax(-1))

    def test_of_equals_the_first_is_best(self):
        numbers, codes, bias = tables(50, 64, 1)
        codes[20:], bias[:] = codes[19], 0
        bias[20:] = bias[19] = 1e6
        assert (scanned(numbers, codes, bias)[1] == 19).all()
        assert (scanned(numbers * 0, codes, bias * 0)[1] == 0).all()

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    def test_of_what_is_no_number(self, bad):
        numbers, codes, bias = tables(50, 64, 1)
        numbers[1, 3] = bad
        words = scanned(numbers, codes, bias)[1]
        assert words[1] == -1 or not np.isnan(bad)
        assert np.array_equal(words[[0, 2, 3]], scanned(numbers[[0, 2, 3]], codes, bias)[1])

    def test_of_no_rows(self):
        numbers, codes, bias = tables(50, 64, 1, rows=0)
        assert scanned(numbers, codes, bias)[0].shape == (0, 50)


class TestFiles:
    @pytest.fixture
    def folder(self, both, tmp_path):
        return shutil.copytree(both(FREE)[2], tmp_path / "export")

    @pytest.mark.parametrize("precision", ["fp32", "int8", "compact"])
    @pytest.mark.parametrize("bits", [8, 64])
    def test_hold_a_bit_for_every_sign(self, both, precision, bits):
        ours, theirs, folder = both({"type": "free", "bits": bits}, precision)
        latent = ours.model.head.linear.latent.detach().numpy()
        codes = np.load(folder / "codes.npy")
        assert codes.dtype == np.uint8
        assert codes.nbytes == latent.size // 8
        assert np.array_equal(np.unpackbits(codes, axis=1, bitorder="little"), latent >= 0)
        assert theirs.head == ours.head
        assert not (folder / "code.json").exists()

    @pytest.mark.parametrize(
        ("name", "changed"),
        [
            ("codes", lambda array: array[1:]),
            ("codes", lambda array: array[:, 1:]),
            ("codes", lambda array: np.repeat(array, 2, 1)),
            ("codes", lambda array: array.astype(np.int16)),
            ("codes", lambda array: array.T),
            ("codes.bias", lambda array: array[1:]),
            ("codes.bias", lambda array: array.astype(np.float64)),
            ("codes.bias", lambda array: np.where(np.arange(len(array)) == 3, np.nan, array)),
            ("codes.bias", lambda array: np.where(np.arange(len(array)) == 3, np.inf, array)),
        ],
    )
    def test_of_another_kind_are_refused(self, folder, name, changed):
        array = np.load(folder / f"{name}.npy")
        other = changed(array)
        np.save(folder / f"{name}.npy", other.astype(np.float32) if other.dtype == array.dtype == np.float32 else other)
        seal(folder, MANIFEST)
        with pytest.raises(ValueError, match=f"{folder}: the codes do not fit .*{name}.npy.*; {REMEDY}"):
            load_export(folder)

    def test_that_claim_more_than_there_is_take_no_memory(self, folder):
        """The header says a trillion words; what the manifest says is less."""
        with (folder / "codes.npy").open("wb") as file:
            header = {"descr": "|u1", "fortran_order": False, "shape": (10**12, 2)}
            np.lib.format.write_array_header_1_0(file, header)
        seal(folder, MANIFEST)
        with pytest.raises(ValueError, match=f"codes.npy.*; {REMEDY}"):
            load_export(folder)

    def test_a_graph_of_other_sizes_is_refused(self, both, folder):
        other = both({"type": "free", "bits": 24})[2]
        for path in other.glob("codes.[ow]*"):
            shutil.copy(path, folder / path.name)
        seal(folder, MANIFEST)
        with pytest.raises(ValueError, match=f"codes.onnx: not the graph it should be.*; {REMEDY}"):
            load_export(folder)

    @pytest.mark.parametrize("name", NAMES)
    def test_missing_or_cut_short(self, folder, name):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[:-1])
        with pytest.raises(ValueError, match=f"{name}: has .* bytes instead of .*: damaged; {REMEDY}"):
            load_export(folder)
        (folder / name).unlink()
        with pytest.raises(ValueError, match=f"{name}: missing, or not a file; {REMEDY}"):
            load_export(folder)
