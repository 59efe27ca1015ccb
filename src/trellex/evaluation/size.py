"""The size of a model, in the columns of the paper's table."""

from __future__ import annotations

from typing import Any

from trellex.heads import Head


def model_size(model: Any) -> dict[str, Any]:
    """B, #out, parameters of the output layer and of all, and what they are of those of a softmax model."""
    head = model.head
    assert isinstance(head, Head)
    cost = head.cost()
    softmax = (head.hidden_size + 1) * head.vocab_size
    ratio = float(f"{softmax / cost.parameters:.3g}")  # three digits, as in the paper
    every = sum(parameter.numel() for parameter in model.parameters())
    return {
        "B": cost.bits or None,
        "#out": cost.outputs,
        "output parameters": cost.parameters,
        "of softmax": f"1/{ratio:g}",
        "all parameters": every,
        "of all with softmax": round(every / (every - cost.parameters + softmax), 3),
    }
