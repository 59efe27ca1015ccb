"""Word vectors that a decoder and its output layer share."""

import pytest
import torch

from trellex.nmt.build import build_model
from trellex.nmt.settings import ModelSettings
from trellex.nmt.shared_embedding import SharedEmbedding

SETTINGS = ModelSettings(embedding_size=256, hidden_size=64)


def test_it_is_read_longer_than_it_is():
    embedding = SharedEmbedding(1000, 256)
    words = torch.tensor([[3, 999], [0, 3]])
    torch.testing.assert_close(embedding(words), 16 * embedding.weight[words])
    assert 0.98 < embedding(torch.arange(1000)).std() < 1.02  # as a plain embedding's


@pytest.mark.parametrize("head", [{"type": "softmax", "tied": True}, {"type": "shelves", "code": "random"}])
def test_models_that_share_have_one(head):
    torch.manual_seed(0)
    model = build_model(SETTINGS, head, 50, 1000)
    assert isinstance(model.network.embedding, SharedEmbedding)
    assert not isinstance(build_model(SETTINGS, "softmax", 50, 1000).network.embedding, SharedEmbedding)


def test_scores_begin_as_those_of_a_plain_softmax():
    torch.manual_seed(0)
    h = torch.randn(100, 64)
    with torch.no_grad():
        tied, plain = (
            build_model(SETTINGS, head, 50, 1000).head.linear(h).std()
            for head in ({"type": "softmax", "tied": True}, "softmax")
        )
    assert 0.5 < tied / plain < 2
