"""Hierarchical softmax: a weight vector for every node of a tree of words, of which one path is read."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch.nn.functional import embedding

from trellex.arrays import bounded
from trellex.codes import Code
from trellex.heads.head import Cost, Head, at_least_single
from trellex.heads.rival_spec import HierarchicalSpec
from trellex.heads.tree_distribution import TreeDistribution


class HierarchicalHead(TreeDistribution, Head):
    """A choice between two at every node on the way to a word: O(H log V) time to train, O(HV) memory.

    Which word is best takes a search, which is short where the network is sure.
    """

    spec: HierarchicalSpec
    code: Code

    def __init__(self, spec: HierarchicalSpec, hidden_size: int, vocab: Any, _: Any = None) -> None:
        Head.__init__(self, spec, hidden_size, vocab)
        TreeDistribution.__init__(self, spec.build_code(vocab))
        self.nodes = nn.Linear(hidden_size, self.tree.num_nodes)

    def node_logits(self, h: Tensor, nodes: Tensor) -> Tensor:
        products = embedding(nodes, self.nodes.weight).to(h.dtype) @ h[:, :, None]
        return bounded(at_least_single(products[:, :, 0] + self.nodes.bias[nodes]))

    def all_logits(self, h: Tensor) -> Tensor:
        return bounded(at_least_single(self.nodes(h)))

    def _loss(self, h: Tensor, target: Tensor) -> Tensor:
        return -self.path_log_prob(h, target, exact=False)

    def cost(self) -> Cost:
        """Outputs and multiply-adds are those of the longest path; all nodes have parameters."""
        parameters = sum(parameter.numel() for parameter in self.nodes.parameters())
        return Cost(self.num_outputs, 0, parameters, self.num_outputs * self.hidden_size)
