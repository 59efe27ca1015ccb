"""Tables of word vectors on disk."""

import numpy as np
import pytest

from trellex.heads import HeadSpec
from trellex.nmt.settings import ModelSettings
from trellex.runtime.folder import Export, RuntimeManifest
from trellex.runtime.vectors import GATES, RoundedVectors, Vectors
from trellex.text.manifest import TextSettings

WORDS = np.array([[0, 6], [3, 3]])
TEXT = TextSettings(source_language="en", target_language="de", source_tokenizer="moses", target_tokenizer="moses")


def export_of(folder):
    """A folder whose manifest knows all its files."""
    files = {path.name: (path.stat().st_size, "") for path in folder.iterdir()}
    about = {"text": TEXT, "model": ModelSettings(), "head": HeadSpec.parse("softmax"), "vocab_size": 7}
    return Export(folder, RuntimeManifest(precision="int8", files=files, **about))


@pytest.mark.parametrize("is_half", [False, True])
def test_vectors(tmp_path, is_half):
    table = np.random.default_rng(0).normal(size=(7, 5)).astype(np.float32)
    Vectors.save(tmp_path / "table.npy", table, is_half)
    found = Vectors.load(export_of(tmp_path), "table", 7, 5)(WORDS)
    assert found.dtype == np.float32
    assert np.array_equal(found, table.astype(np.float16 if is_half else np.float32)[WORDS])


class TestGates:
    @pytest.fixture
    def table(self):
        """Gates of very different sizes, one of them all 0."""
        table = np.random.default_rng(0).normal(size=(7, 4, 3)) * np.array([1e-4, 1, 30, 1e3])[:, None]
        table[3, 1] = 0
        return table.reshape(7, 12).astype(np.float32)

    def test_each_is_rounded_by_its_own_scale(self, tmp_path, table):
        RoundedVectors.save(tmp_path / "gates.npy", [table[:2], table[2:3], table[3:]], 7, 12, GATES)
        found = RoundedVectors.load(export_of(tmp_path), "gates", 7, 12, GATES)(WORDS)
        assert found.shape == (2, 2, 12)
        assert found.dtype == np.float32
        exact = table[WORDS].reshape(2, 2, 4, 3)
        step = np.abs(exact).max(-1, keepdims=True) / 127
        assert (np.abs(found.reshape(exact.shape) - exact) <= 0.501 * step).all()

    def test_a_table_of_other_sizes_is_refused(self, tmp_path, table):
        RoundedVectors.save(tmp_path / "gates.npy", [table], 7, 12, GATES)
        for sizes in ((8, 12), (7, 16)):
            with pytest.raises(ValueError, match=r"gates.npy: not an array of .* int8; export the model again"):
                RoundedVectors.load(export_of(tmp_path), "gates", *sizes, GATES)
        np.save(tmp_path / "gates.scales.npy", np.ones((7, 4), np.float32))
        with pytest.raises(ValueError, match=r"gates.scales.npy: not an array of 7 × 4 × 1 float32"):
            RoundedVectors.load(export_of(tmp_path), "gates", 7, 12, GATES)
