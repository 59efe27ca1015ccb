"""Rows that read shelves together, against every row by itself."""

import pytest
import torch

from trellex.heads import build_head, gathered_products, shelf_scores
from trellex.heads.shelf_scores import scores_by_shelf

SHELVES, WORDS, SIZE = 9, 5, 7
VOCAB = SHELVES * WORDS - 3  # some places are empty


def words_on(shelves):
    words = shelves[..., None] + SHELVES * torch.arange(WORDS, device=shelves.device)
    return words.where(words < VOCAB, -1)


def inputs(rows, visited, size=SIZE):
    random = torch.Generator().manual_seed(0)
    shapes = (rows, size), (VOCAB, size), (VOCAB,)
    values = [torch.randn(shape, generator=random, dtype=torch.float64).requires_grad_() for shape in shapes]
    shelves = torch.rand(rows, SHELVES, generator=random).argsort(-1)[:, :visited]
    return *values, shelves


def by_hand(states, vectors, bias, shelves):
    words = words_on(shelves)
    scores = torch.einsum("te,tkwe->tkw", states, vectors[words.clamp(min=0)]) + bias[words.clamp(min=0)]
    return scores.masked_fill(words < 0, -torch.inf)


def gradients(scores, *inputs):
    """Of a sum with fixed weights."""
    weights = torch.linspace(-1, 2, scores.numel(), dtype=scores.dtype, device=scores.device).view_as(scores)
    return torch.autograd.grad((scores.masked_fill(scores == -torch.inf, 0) * weights).sum(), inputs)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("most", [1, 3 * WORDS * SIZE, 1 << 26], ids=["one", "three", "all"])
@pytest.mark.parametrize("in_memory", [True, False], ids=["shelves", "blocks"])
@pytest.mark.parametrize(("rows", "visited"), [(0, 2), (1, 1), (2, 9), (40, 3), (300, 2)])
def test_scores_and_gradients(rows, visited, in_memory, most, sparse, monkeypatch):
    """Some shelves at a time in main memory, elsewhere some blocks."""
    monkeypatch.setattr(shelf_scores, "MOST_CACHED", most)
    monkeypatch.setattr(gathered_products, "MOST_GATHERED", most)
    monkeypatch.setattr(shelf_scores, "is_inspectable", lambda _: in_memory)
    *values, shelves = inputs(rows, visited)
    states, vectors, bias = values
    scores = scores_by_shelf(states, shelves, words_on, vectors, bias, SHELVES, sparse)
    expected = by_hand(*values, shelves)
    torch.testing.assert_close(scores, expected)
    of_states, of_vectors, of_bias = gradients(scores, *values)
    assert of_vectors.is_sparse == sparse
    for found, exact in zip((of_states, of_vectors.to_dense(), of_bias), gradients(expected, *values), strict=True):
        torch.testing.assert_close(found, exact)


PLACE = "cuda" if torch.cuda.is_available() else "cpu"
HALF = torch.bfloat16 if PLACE == "cuda" else torch.float16  # whose products the interpreter knows


@pytest.mark.parametrize(("rows", "visited"), [(0, 2), (1, 1), (2, 9), (40, 3), (70, 2)])
@pytest.mark.parametrize("dtype", [torch.float32, HALF])
def test_kernels(rows, visited, dtype, monkeypatch):
    """In Triton's interpreter where there is no GPU; some rows of a shelf, and some columns, at a time."""
    fused = pytest.importorskip("trellex.heads.fused_shelves", reason="Triton is not installed")
    for name, value in (("ROWS", 16), ("COLUMNS", 16), ("SPLIT", 2)):
        monkeypatch.setattr(fused, name, value)
    *values, shelves = inputs(rows, visited, size=40)
    states, vectors, bias = (each.detach().to(PLACE, torch.float32).requires_grad_() for each in values)
    words, shelves = words_on(torch.arange(SHELVES)).to(PLACE), shelves.to(PLACE)
    scores = fused.scores_by_shelf(states.to(dtype), shelves, words, vectors, bias)
    expected = by_hand(*values, shelves.cpu())
    near = {"rtol": 1e-5, "atol": 1e-5} if dtype == torch.float32 else {"rtol": 0.02, "atol": 0.1}
    assert scores.dtype == torch.float32
    torch.testing.assert_close(scores.cpu().double(), expected, **near)
    for found, exact in zip(gradients(scores, states, vectors, bias), gradients(expected, *values), strict=True):
        torch.testing.assert_close(found.cpu().double(), exact, **near)


@pytest.mark.parametrize(("rows", "visited"), [(0, 2), (1, 1), (2, 8), (7, 3)])
@pytest.mark.parametrize("dtype", [torch.float32, HALF])
@pytest.mark.parametrize("has_table", [False, True])
def test_kernels_for_every_row_by_itself(rows, visited, dtype, has_table, monkeypatch):
    fused = pytest.importorskip("trellex.heads.fused_shelves", reason="Triton is not installed")
    monkeypatch.setattr(fused, "COLUMNS", 16)
    bits, width = 3, 6
    states, vectors, bias, shelves = inputs(rows, visited, size=40)
    shelves = shelves % (1 << bits)
    table = torch.randperm(VOCAB, generator=torch.Generator().manual_seed(1)) if has_table else torch.arange(VOCAB)
    numbers = shelves[..., None] + (torch.arange(width) << bits)
    words = table[numbers.clamp(max=VOCAB - 1)]
    expected = torch.einsum("te,tkwe->tkw", states, vectors[words]) + bias[words]
    expected = expected.masked_fill(numbers >= VOCAB, -torch.inf).detach()
    places = (each.detach().to(PLACE, torch.float32) for each in (vectors, bias))
    beside = torch.cat([shelves, shelves[:, :1]], 1).to(PLACE)[:, :visited]  # as part of a wider array
    known = table.to(PLACE) if has_table else None
    scores = fused.scores_by_read(states.detach().to(PLACE, dtype), beside, known, *places, width, bits)
    near = {"rtol": 1e-5, "atol": 1e-5} if dtype == torch.float32 else {"rtol": 0.02, "atol": 0.1}
    torch.testing.assert_close(scores.cpu().double(), expected, **near)


def test_kernels_read_vectors_however_they_lie():
    fused = pytest.importorskip("trellex.heads.fused_shelves", reason="Triton is not installed")
    *values, shelves = inputs(6, 2)
    expected = by_hand(*values, shelves)
    states, vectors, bias = (each.detach().float().to(PLACE) for each in values)
    vectors, bias = vectors.T.contiguous().T.requires_grad_(), torch.stack([bias, bias * 0], 1)[:, 0]
    words = words_on(torch.arange(SHELVES)).to(PLACE)
    scores = fused.scores_by_shelf(states, shelves.to(PLACE), words, vectors, bias)
    torch.testing.assert_close(scores.cpu().double(), expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(gradients(scores, vectors)[0].cpu().double(), *gradients(expected, values[1]))


def test_kernels_bound_scores():
    fused = pytest.importorskip("trellex.heads.fused_shelves", reason="Triton is not installed")
    states = torch.tensor([[3e38] * 4, [-3e38] * 4, [torch.nan] * 4], device=PLACE)
    words, bias = torch.tensor([[0, -1]], device=PLACE), torch.zeros(1, device=PLACE)
    shelves = torch.zeros(3, 1, dtype=torch.int64, device=PLACE)
    scores = fused.scores_by_shelf(states, shelves, words, torch.ones(1, 4, device=PLACE), bias)[:, 0]
    assert scores[:2, 0].isfinite().all()
    assert scores[2, 0].isnan()
    assert (scores[:, 1] == -torch.inf).all()


@pytest.mark.parametrize("sparse", [False, True])
def test_one_gradient_alone(sparse):
    """Of frozen vectors, and of frozen states."""
    states, vectors, bias, shelves = inputs(6, 2)
    of_states, of_vectors = gradients(by_hand(states, vectors, bias, shelves), states, vectors)
    frozen = scores_by_shelf(states, shelves, words_on, vectors.detach(), bias, SHELVES, sparse)
    torch.testing.assert_close(*gradients(frozen, states), of_states)
    frozen = scores_by_shelf(states.detach(), shelves, words_on, vectors, bias, SHELVES, sparse)
    torch.testing.assert_close(gradients(frozen, vectors)[0].to_dense(), of_vectors)


def test_an_embedding_may_ask_for_a_sparse_gradient():
    """Its vectors may be read by the decoder, too; an optimiser for sparse gradients moves only what was read."""
    torch.manual_seed(1)
    embedding = torch.nn.Embedding(2048, 4, sparse=True)
    spec = {"type": "shelves", "words": 4, "visit": 2, "memory": 3, "code": "random"}
    head = build_head(spec, hidden_size=4, vocab=2048, embedding=embedding)
    before = embedding.weight.detach().clone()
    words = torch.tensor([3, 1500])
    (head.loss(embedding(words), words)).sum().backward()
    assert embedding.weight.grad.is_sparse
    torch.optim.SparseAdam(embedding.parameters(), lr=0.1).step()
    moved = (embedding.weight != before).any(-1)
    assert moved[words].all()
    assert moved.sum() <= 2 * 3 * 4  # of two rows, those of three shelves
