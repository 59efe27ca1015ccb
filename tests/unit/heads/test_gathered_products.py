"""Rows that read words of their own, against the whole table."""

import pytest
import torch

from trellex.heads import gathered_products
from trellex.heads.gathered_products import products_by_row


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("most_gathered", [1, 2 * 4 * 7, 1 << 26], ids=["one row", "two rows", "all"])
@pytest.mark.parametrize("rows", [0, 1, 5])
def test_products_and_gradients(rows, most_gathered, sparse, monkeypatch):
    monkeypatch.setattr(gathered_products, "MOST_GATHERED", most_gathered)
    random = torch.Generator().manual_seed(rows)
    states, vectors = (torch.randn(n, 7, generator=random, dtype=torch.float64).requires_grad_() for n in (rows, 9))
    words = torch.randint(9, (rows, 4), generator=random)  # some of them twice
    found, expected = products_by_row(states, words, vectors, sparse), (states @ vectors.T).gather(1, words)
    torch.testing.assert_close(found, expected)
    weights = torch.linspace(-1, 2, found.numel(), dtype=found.dtype).view_as(found)
    of_states, of_vectors = torch.autograd.grad((found * weights).sum(), (states, vectors))
    assert of_vectors.is_sparse == sparse
    exact = torch.autograd.grad((expected * weights).sum(), (states, vectors))
    torch.testing.assert_close((of_states, of_vectors.to_dense()), exact)
