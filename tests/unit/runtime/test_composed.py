"""Word vectors that an exported model composes as it reads them, against those of the model in torch."""

import json
import lzma
import re

import numpy as np
import pytest
import torch
from mutations import seal

from trellex.codes import FrequencyCode, HuffmanCode, RandomCode
from trellex.loaded import LoadedModel
from trellex.nmt.build import build_model
from trellex.nmt.composed_embedding import ComposedEmbedding
from trellex.nmt.settings import EmbeddingSettings, ModelSettings
from trellex.runtime.composed import ComposedVectors
from trellex.runtime.composed_shelves import ComposedShelves
from trellex.runtime.composed_softmax import ComposedSoftmax
from trellex.runtime.export import export
from trellex.runtime.folder import MANIFEST
from trellex.runtime.model import load_export
from trellex.search import beam, greedy
from trellex.text.manifest import TextSettings
from trellex.text.vocabulary import MARKERS, Vocabulary

COMPOSED = {"type": "composed", "code": "random", "memory": 3, "residual": 4, "frequent": 20}
TIED = {"type": "softmax", "tied": True}
SHELVES = {"type": "shelves", "words": 8, "visit": 2, "memory": 3, "code": "random"}
OPTIONS = {"embeddings": COMPOSED, "target_size": 300, "hidden_size": 32}
TEXT = TextSettings(source_language="en", target_language="de", source_tokenizer="moses", target_tokenizer="moses")
HEADS = ["softmax", "binary-ec", "hybrid-9-ec", TIED, SHELVES, {**SHELVES, "code": "frequency"}]


def vectors_of(code, memory, frequent=10):
    """Composed vectors in torch, and the same with residuals in 8 bits that nothing is lost by."""
    torch.manual_seed(0)
    sizes = EmbeddingSettings(type="composed", memory=memory, residual=3, frequent=frequent)
    embedding = ComposedEmbedding(sizes, code, 5)
    with torch.no_grad():
        embedding.residual.copy_(torch.randint(-127, 128, embedding.residual.shape))
        if embedding.own is not None:
            embedding.own.normal_(0, 50)
        table, residual, project, own = (part.numpy() for part in embedding.parts().values())
    return embedding, ComposedVectors(code, memory, table, residual.astype(np.int8), project.T.copy(), own)


def unpack(path):
    """Put a file of an export in the place of its packed one, as exports have it whose text is not packed."""
    manifest = path.with_name(MANIFEST)
    path.with_suffix("").write_bytes(lzma.decompress(path.read_bytes()))
    path.unlink()
    manifest.write_text(manifest.read_text().replace(f'"{path.name}"', f'"{path.stem}"'))
    seal(path.parent, MANIFEST)


@pytest.mark.parametrize("code", [FrequencyCode(2), FrequencyCode(40), RandomCode(64), RandomCode(1500)], ids=str)
@pytest.mark.parametrize("memory", [1, 3, 10])
@pytest.mark.parametrize("frequent", [0, 1, 10])
class TestVectors:
    def test_are_those_of_torch(self, code, memory, frequent):
        embedding, vectors = vectors_of(code, memory, frequent)
        words = np.arange(2 * code.vocab_size).reshape(2, -1) % code.vocab_size
        with torch.no_grad():
            np.testing.assert_allclose(vectors(words), embedding(torch.from_numpy(words)), atol=1e-3, rtol=1e-5)

    def test_products_are_those_with_vectors(self, code, memory, frequent):
        vectors = vectors_of(code, memory, frequent)[1]
        states = np.random.default_rng(0).normal(size=(3, 5)).astype(np.float32)
        every = states.astype(float) @ vectors(np.arange(code.vocab_size)).T
        np.testing.assert_allclose(vectors.all_products(states), every, atol=1e-2, rtol=1e-4)


def test_no_words_have_no_vectors():
    vectors = vectors_of(RandomCode(40), 3)[1]
    assert vectors(np.empty((0, 2), int)).shape == (0, 2, 5)


def log_probs(ours, theirs, sources):
    """log P of random words after random words, of both models."""
    random, size, found = np.random.default_rng(6), len(ours.target_vocabulary), ([], [])
    states = ours.model.start(sources), theirs.model.start(sources)
    for _ in range(8):
        for words in random.integers(0, size, (10, len(sources))):
            for model, state, into in zip((ours.model, theirs.model), states, found, strict=True):
                into.append(model.log_prob(state, words))
        words = random.integers(0, size, len(sources))
        states = ours.model.step(states[0], words), theirs.model.step(states[1], words)
    return np.concatenate(found[0]), np.concatenate(found[1])


@pytest.mark.parametrize("precision", ["int8", "compact"])
@pytest.mark.parametrize("head", HEADS, ids=str)
def test_probabilities_are_near_those_of_torch(both, sources, head, precision):
    ours, theirs, _ = both(head, precision, **OPTIONS)
    mine, other = log_probs(ours, theirs, sources)
    assert np.abs(mine - other).mean() < 0.02 * np.abs(mine).mean()
    assert np.corrcoef(mine, other)[0, 1] > 0.998


@pytest.mark.parametrize("head", HEADS, ids=str)
class TestCompact:
    def test_is_as_good_as_a_table_in_eight_bits(self, both, sources, head):
        """To compose vectors from rounded parts loses about as much as to round the vectors."""
        errors = {}
        for precision in ("int8", "compact"):
            mine, other = log_probs(*both(head, precision, **OPTIONS)[:2], sources)
            errors[precision] = np.abs(mine - other).mean()
        assert errors["compact"] < 3 * errors["int8"]

    def test_search_asks_it_as_any_other(self, both, sources, head):
        _, theirs, _ = both(head, "compact", **OPTIONS)
        model, size = theirs.model, len(theirs.target_vocabulary)
        state = model.start(sources)
        words, found = model.topk(state, size)
        np.testing.assert_allclose(np.exp(found).sum(-1), 1, atol=1e-4)
        assert (np.sort(words) == np.arange(size)).all()
        clear = found[:, 0] - found[:, 1] > 1e-4
        assert (model.best(state)[clear] == words[clear, 0]).all()
        assert [len(each) for each in beam(model, sources, 3, 2)] == [2] * len(sources)
        assert any(one.words for one in greedy(model, sources))

    def test_holds_no_table_of_vectors(self, both, head):
        folder = both(head, "compact", **OPTIONS)[2]
        names = {path.name for path in folder.iterdir()}
        assert not {"source.vectors.npy", "target.vectors.npy", "words.weight.npy"} & names
        for side, size in (("source", 40), ("target", 300)):
            assert {f"{side}.{part}.npy" for part in ("windows", "residuals", "project")} <= names
            assert names & {f"code.{side}.json", f"code.{side}.json.xz"}
            assert np.load(folder / f"{side}.residuals.npy").shape == (size, 4)
            assert np.load(folder / f"{side}.own.npy").shape == (20, 1, 16)
        if head == TIED:
            assert "softmax.onnx" not in names


@pytest.mark.parametrize("head", ["binary-ec", SHELVES], ids=str)
def test_text_is_packed_and_need_not_be(both, sources, head):
    _, packed, folder = both(head, "compact", **OPTIONS)
    assert {"code.target.json", "vocab.target.txt"} <= {path.stem for path in folder.glob("*.xz")}
    for path in folder.glob("*.xz"):
        unpack(path)
    plain = load_export(folder)
    assert plain.source_vocabulary == packed.source_vocabulary
    assert plain.target_vocabulary == packed.target_vocabulary
    mine, other = log_probs(packed, plain, sources)
    assert (mine == other).all()


@pytest.mark.parametrize("head", ["binary-ec", SHELVES], ids=str)
def test_words_need_no_vectors_of_their_own(both, sources, head):
    ours, theirs, folder = both(head, "compact", **{**OPTIONS, "embeddings": {**COMPOSED, "frequent": 0}})
    assert not list(folder.glob("*.own*"))
    mine, other = log_probs(ours, theirs, sources)
    assert np.corrcoef(mine, other)[0, 1] > 0.998


def test_the_layers_of_tied_words_are_composed_too(both):
    for head, kind in ((TIED, ComposedSoftmax), (SHELVES, ComposedShelves)):
        model = both(head, "compact", **OPTIONS)[1].model
        assert type(model.layer) is kind
        assert model.network.target_vectors is model.layer.vectors


@pytest.mark.parametrize("head", ["binary-ec", TIED, {**SHELVES, "words": 64, "memory": 7}], ids=str)
def test_many_words_take_few_bytes(tmp_path, head):
    """65,536 on either side, which would have 33 MB of vectors in 8 bits."""
    words = Vocabulary([*MARKERS, *(f"{place:x}" for place in range((1 << 16) - len(MARKERS)))], [9] * (1 << 16))
    vectors = {**COMPOSED, "memory": 4, "residual": 16, "frequent": 2048}
    settings = ModelSettings(embedding_size=384, hidden_size=384, embeddings=vectors)
    model = build_model(settings, head, len(words), len(words))
    export(LoadedModel(model, TEXT, words, words, model.head.spec), tmp_path / "export", "compact")
    assert sum(path.stat().st_size for path in (tmp_path / "export").iterdir()) < 12e6
    assert load_export(tmp_path / "export").model.start([np.arange(5)]).hidden.shape == (1, 384)


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_other_exports_hold_tables_and_no_codes(both, precision):
    folder = both("binary-ec", precision, **OPTIONS)[2]
    assert (folder / "source.vectors.npy").exists()
    assert not list(folder.glob("code.*.json"))
    assert json.loads((folder / MANIFEST).read_text())["model"]["embeddings"] == COMPOSED


class TestErrors:
    @pytest.fixture
    def folder(self, model_of, tmp_path):
        export(model_of("binary-ec", **OPTIONS), tmp_path / "export", "compact")
        return tmp_path / "export"

    @pytest.mark.parametrize("code", [FrequencyCode(299), HuffmanCode(range(300))], ids=str)
    def test_a_code_of_other_words_is_named(self, folder, code):
        unpack(folder / "code.target.json.xz")
        code.save(folder / "code.target.json")
        seal(folder, MANIFEST)
        told = f"(code: expected a code of 300 words whose numbers have no gaps, got {code!r}); export the model again"
        with pytest.raises(ValueError, match="code.target.json: not the code of its words " + re.escape(told)):
            load_export(folder)

    @pytest.mark.parametrize(
        "name", ["source.windows", "source.windows.scales", "target.residuals", "target.project", "target.own"]
    )
    def test_parts_of_other_sizes_are_named(self, folder, name):
        array = np.load(folder / f"{name}.npy")
        np.save(folder / f"{name}.npy", array[:-1])
        seal(folder, MANIFEST)
        with pytest.raises(ValueError, match=rf"{name}.npy: not an array of .*; export the model again"):
            load_export(folder)
