"""Rows that read shelves together, against every row by itself."""

import pytest
import torch

from trellex.heads import build_head, gathered_products, shelf_scores
from trellex.heads.shelf_scores import scores_by_shelf

SHELVES, WORDS, SIZE = 9, 5, 7
VOCAB = SHELVES * WORDS - 3  # some places are empty


def words_on(shelves):
    words = shelves[..., None] + SHELVES * torch.arange(WORDS)
    return words.where(words < VOCAB, -1)


def inputs(rows, visited, seed=0):
    random = torch.Generator().manual_seed(seed)
    shapes = (rows, SIZE), (VOCAB, SIZE), (VOCAB,)
    values = [torch.randn(shape, generator=random, dtype=torch.float64).requires_grad_() for shape in shapes]
    shelves = torch.rand(rows, SHELVES, generator=random).argsort(-1)[:, :visited]
    return *values, shelves


def by_hand(states, vectors, bias, shelves):
    words = words_on(shelves)
    scores = torch.einsum("te,tkwe->tkw", states, vectors[words.clamp(min=0)]) + bias[words.clamp(min=0)]
    return scores.masked_fill(words < 0, -torch.inf)


def gradients(scores, *inputs):
    """Of a sum with fixed weights."""
    weights = torch.linspace(-1, 2, scores.numel(), dtype=scores.dtype).view_as(scores)
    return torch.autograd.grad((scores.masked_fill(scores == -torch.inf, 0) * weights).sum(), inputs)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("most_gathered", [None, 1, 3 * WORDS * SIZE, 1 << 26], ids=["shelf", "block", "three", "all"])
@pytest.mark.parametrize(("rows", "visited"), [(0, 2), (1, 1), (2, 9), (40, 3), (300, 2)])
def test_scores_and_gradients(rows, visited, most_gathered, sparse, monkeypatch):
    """In main memory shelf by shelf, elsewhere some blocks at a time."""
    if most_gathered:
        monkeypatch.setattr(gathered_products, "MOST_GATHERED", most_gathered)
        monkeypatch.setattr(shelf_scores, "is_inspectable", lambda _: False)
    *values, shelves = inputs(rows, visited)
    states, vectors, bias = values
    scores = scores_by_shelf(states, shelves, words_on, vectors, bias, SHELVES, sparse)
    expected = by_hand(*values, shelves)
    torch.testing.assert_close(scores, expected)
    of_states, of_vectors, of_bias = gradients(scores, *values)
    assert of_vectors.is_sparse == sparse
    for found, exact in zip((of_states, of_vectors.to_dense(), of_bias), gradients(expected, *values), strict=True):
        torch.testing.assert_close(found, exact)


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
