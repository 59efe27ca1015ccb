"""Kernels are started on the GPU that has their tensors, be it the current one or not."""

from contextlib import contextmanager

import pytest
import torch

pytest.importorskip("triton", reason="Triton is not installed")

from trellex.heads import build_head, fused_choices, fused_cross_entropy, fused_shelves
from trellex.nmt.lstm import fused_energies
from trellex.trellis import CompleteCode, fused, fused_ranking, fused_sample, fused_words

T, LOGITS, NUMBERS = torch.empty(0, 3), torch.empty(0, 31), torch.empty(0, 4, dtype=torch.int64)  # no rows
REGISTER = CompleteCode(5).register
LAUNCHES = {
    fused.log_partition: (LOGITS, REGISTER, 5, 21),
    fused_words.topk: (LOGITS, 3, REGISTER, 5, 21),
    fused_words.best: (LOGITS, REGISTER, 5, 21),
    fused_ranking.ranked: (LOGITS, 3, REGISTER, 5),
    fused_sample.sample: (LOGITS, torch.empty(0, 4, 5), REGISTER, 5, 21),
    fused_choices.of_hybrid: (LOGITS, NUMBERS[:, 0], T[:, 0], T[:, 0], None),
    fused_choices.of_shelves: (T[:, :, None], NUMBERS, T, None, 5),
    fused_choices.on_further_shelves: (
        NUMBERS[:, 0], T[:, 0], 3, NUMBERS, T, LOGITS, CompleteCode(5), 5, T, torch.empty(9, 3), torch.empty(9), None,
    ),
    fused_shelves.scores_by_shelf: (T, NUMBERS, torch.arange(8).view(4, 2), torch.empty(8, 3), torch.empty(8)),
    fused_shelves.scores_by_read: (T, NUMBERS, None, torch.empty(8, 3), torch.empty(8), 2, 2),
    fused_cross_entropy.cross_entropy: (T, torch.empty(9, 3), torch.empty(9), NUMBERS[:, 0]),
    fused_energies.energies: (torch.empty(0, 2, 3), torch.empty(0, 4, 3), torch.empty(3)),
}  # fmt: skip


@pytest.mark.parametrize("launch", LAUNCHES, ids=lambda launch: launch.__name__)
def test_the_device_of_tensors_is_the_current_one(launch, monkeypatch):
    devices = []

    @contextmanager
    def device_of(values):
        devices.append(values)
        yield

    monkeypatch.setattr(torch.cuda, "device_of", device_of)
    launch(*LAUNCHES[launch])
    assert len(devices) == 1
    assert devices[0] is LAUNCHES[launch][0]


@pytest.mark.gpu
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="fewer than two CUDA devices")
@pytest.mark.parametrize("head", ["softmax", {"type": "binary-ec", "loss": "trellis"}, "hybrid-9-ec"], ids=str)
def test_output_layers_on_another_gpu(head):
    here = build_head(head, hidden_size=8, vocab=40)
    there, h = build_head(head, hidden_size=8, vocab=40).to("cuda:1"), torch.randn(7, 8)
    there.load_state_dict(here.state_dict())
    losses = []
    for layer, states in ((here, h), (there, h.to("cuda:1"))):
        loss = layer.loss(states, torch.arange(7, device=states.device)).mean()
        loss.backward()
        losses.append((loss.item(), layer.topk(states, 3)[0].tolist(), layer.sample(states).shape))
    assert losses[0][0] == pytest.approx(losses[1][0], rel=1e-4)
    assert losses[0][1:] == losses[1][1:]
