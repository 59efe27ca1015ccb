"""Losses of a softmax that look at the scores of the target and of drawn words alone.

Shape:
    T rows, S words drawn for each; of_target [T], scores [T, S], target [T] -> [T]
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import softplus

from trellex.heads.proposals import Samples


def sampled_softmax(of_target: Tensor, scores: Tensor, target: Tensor, samples: Samples) -> Tensor:
    """Which of the target and the drawn words is the target? −log of a softmax over them, scores being corrected by
    the logs of expected counts (Jean et al. 2015). If all words are drawn, once each, it is −log P.

    The scores that tell best are log P, up to a constant. A target that was drawn without repetition counts once.
    """
    of_target, others = of_target - samples.log_target_counts, scores - samples.log_counts
    if not samples.may_repeat:
        others = others.masked_fill(samples.words == target[:, None], -torch.inf)
    return torch.cat([of_target[:, None], others], -1).logsumexp(-1) - of_target


def noise_contrastive(of_target: Tensor, scores: Tensor, target: Tensor, samples: Samples) -> Tensor:
    """Is a word the target, or noise? The scores that tell best are log P, normalised without a normaliser.

    A target that was drawn is noise like any other (Gutmann & Hyvärinen 2010; Mnih & Teh 2012).
    """
    return softplus(samples.log_target_counts - of_target) + softplus(scores - samples.log_counts).sum(-1)


def negative_sampling(of_target: Tensor, scores: Tensor, target: Tensor, samples: Samples) -> Tensor:
    """The same question without what is known of the noise (Mikolov et al. 2013): scores become log P − log counts."""
    return softplus(-of_target) + softplus(scores).sum(-1)


LOSSES: dict[str, Callable[[Tensor, Tensor, Tensor, Samples], Tensor]] = {
    "sampled": sampled_softmax,
    "nce": noise_contrastive,
    "negative": negative_sampling,
}
