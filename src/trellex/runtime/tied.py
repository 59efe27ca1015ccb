"""Words that share the decoder's vectors, as the linear layer that they amount to."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray


def tied_words(weights: Any, name: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Vectors [V, E], what they are multiplied by to be the rows of a linear layer [E, H], and its bias [V].

    weights: arrays of the whole model by name; name: that of the `TiedWords`
    """
    names = "network.decoder.embedding.weight", f"{name}.project.weight", f"{name}.bias"
    vectors, project, bias = (weights[each] for each in names)
    return vectors, project, bias
