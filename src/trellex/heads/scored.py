"""A softmax of the scores that a layer gives all words, trained by all of them or by drawn ones."""

from __future__ import annotations

from torch import Tensor, nn

from trellex.arrays import bounded
from trellex.heads.cross_entropy import cross_entropy
from trellex.heads.distribution import SoftmaxDistribution
from trellex.heads.free_spec import FreeSpec
from trellex.heads.head import Head, at_least_single
from trellex.heads.projected_words import ProjectedWords
from trellex.heads.proposals import Proposal
from trellex.heads.sampled_losses import LOSSES
from trellex.heads.softmax_spec import SoftmaxSpec
from trellex.heads.word_scores import scores_of


class ScoredHead(SoftmaxDistribution, Head):
    """P(w) = softmax over all V words of the scores of a layer.

    A loss by drawn words is that of training mode; in evaluation mode it is −log P, and all else never depends on it.

    Attributes:
        linear: from H to V
        proposal: which words are drawn, if some are
    """

    spec: SoftmaxSpec | FreeSpec
    linear: nn.Linear | ProjectedWords
    proposal: Proposal | None

    def _logits(self, h: Tensor) -> Tensor:
        return at_least_single(self.linear(h))

    def _loss(self, h: Tensor, target: Tensor) -> Tensor:
        if self.proposal is not None and self.training:
            return self._sampled_loss(self.proposal, h, target)
        return cross_entropy(self.linear, h, target, self.label_smoothing)

    def _sampled_loss(self, proposal: Proposal, h: Tensor, target: Tensor) -> Tensor:
        """That of the drawn words, and the proposal's own."""
        samples = proposal.draw(h, target, self.spec.num_samples)
        of_target, scores = scores_of(self.linear, h, target, samples.words)
        return bounded(LOSSES[self.spec.loss](of_target, scores, target, samples) + samples.loss)
