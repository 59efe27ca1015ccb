"""Targets and words that cannot be are told in the same words by every head."""

import re

import pytest
import torch
from torch import nn

from trellex.heads import build_head

HEADS = ["softmax", "binary", "binary-ec", {"type": "binary-ec", "mixtures": 2}, "hybrid-16", "hybrid-16-ec"]
HEADS += [{"type": name, "loss": "trellis", "label_smoothing": 0.1} for name in ("binary-ec", "hybrid-16-ec")]
HEADS += [{"type": "hybrid-16-ec", "generators": "complete"}, {"type": "shelves", "code": "random", "words": 4}]
HEADS += [{"type": "softmax", "loss": "sampled"}, {"type": "softmax", "loss": "nce", "proposal": "code", "tied": True}]
HEADS += [{"type": "hierarchical", "code": "random"}, "adaptive", "differentiated", "free"]
HEADS += [{"type": "free", "loss": "sampled", "samples": 9}]


def build(spec):
    return build_head(spec, hidden_size=8, vocab=50, embedding=nn.Embedding(50, 6))


@pytest.mark.parametrize("spec", HEADS, ids=str)
@pytest.mark.parametrize(
    ("ids", "problem"),
    [
        (torch.tensor([0, 1, 2, 50]), "ids go from 0 to 49, got 0 … 50"),
        (torch.tensor([7, 1, 2, -1]), "ids go from 0 to 49, got -1 … 7"),
        (torch.tensor([7, 1, 2, -99]), "ids go from 0 to 49, got -99 … 7"),
        (torch.tensor([1, 1, 1, 2**62]), f"ids go from 0 to 49, got 1 … {2**62}"),
        (torch.tensor([0, 1, 2]), "expected shape (4,), as h has, got (3,)"),
        (torch.zeros(2, 2, dtype=torch.int64), "expected shape (4,), as h has, got (2, 2)"),
        (torch.zeros(4), "expected whole numbers, got torch.float32; convert them to int64 first"),
        (torch.zeros(4, dtype=torch.complex64), "expected whole numbers, got torch.complex64; convert them"),
        ([0, 1, 2, 3], "expected a torch tensor, got list; use torch.tensor("),
    ],
    ids=str,
)
@pytest.mark.parametrize(("method", "name"), [("loss", "target"), ("log_prob", "words")])
def test_what_cannot_be(spec, ids, problem, method, name):
    head = build(spec)
    with pytest.raises(ValueError, match=f"^{name}: {re.escape(problem)}"):
        getattr(head, method)(torch.zeros(4, 8), ids)


@pytest.mark.parametrize("spec", HEADS, ids=str)
def test_what_is_ignored_may_be_any_id(spec):
    options = {"type": spec} if isinstance(spec, str) else spec
    head = build({**options, "ignore_index": 50})
    loss = head.loss(torch.zeros(3, 8), torch.tensor([50, 49, 0]))
    assert ((loss == 0) == torch.tensor([True, False, False])).all()
