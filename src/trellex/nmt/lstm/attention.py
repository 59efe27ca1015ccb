"""Global attention with the concat score of Luong et al. (2015)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from trellex.arrays import has_kernels


class ConcatAttention(nn.Module):
    """score(h_t, h_s) = v · tanh(W [h_t; h_s]), with the two halves of W applied apart.

    Shape:
        queries [N, T, H], states [N, S, C], mask [N, S] true on real words -> context [N, T, C]
    """

    def __init__(self, query_size: int, state_size: int, hidden_size: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_size, hidden_size)
        self.key = nn.Linear(state_size, hidden_size, bias=False)
        self.energy = nn.Linear(hidden_size, 1, bias=False)

    def keys(self, states: Tensor) -> Tensor:
        """What `forward` needs of the states, to be computed once a sentence. [N, S, C] -> [N, S, H]"""
        return self.key(states)

    def forward(self, queries: Tensor, keys: Tensor, states: Tensor, mask: Tensor) -> Tensor:
        return self.shares(queries, keys, mask).to(states.dtype) @ states

    def shares(self, queries: Tensor, keys: Tensor, mask: Tensor) -> Tensor:
        """How much each query looks at each state, 0 on padding; they sum to 1. -> [N, T, S]"""
        return self._scores(self.query(queries), keys).masked_fill(~mask[:, None], -torch.inf).softmax(-1)

    def _scores(self, queries: Tensor, keys: Tensor) -> Tensor:
        """queries [N, T, H], keys [N, S, H] -> [N, T, S]"""
        if torch.is_grad_enabled() and has_kernels(keys) and keys.dtype != torch.float64:
            from trellex.nmt.lstm import fused_energies

            return fused_energies.energies(queries, keys, self.energy.weight[0])
        return self.energy(torch.tanh(queries[:, :, None] + keys[:, None]))[..., 0]  # of [N, T, S, H]
