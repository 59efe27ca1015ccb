"""Search: from a model's calls (`start`, `step`, `best`, `topk`, `log_prob`, `sample`) to translations. No torch."""

from trellex.search.beam_search import beam, greedy
from trellex.search.loop import Hypothesis, Model, State, length_limit
from trellex.search.sampling import sample
from trellex.search.scoring import score
from trellex.search.settings import SearchSettings, in_batches

__all__ = [
    "Hypothesis",
    "Model",
    "SearchSettings",
    "State",
    "beam",
    "greedy",
    "in_batches",
    "length_limit",
    "sample",
    "score",
]
