"""The size of a model, in the columns of the paper's table."""

from __future__ import annotations

from typing import Any

from trellex.records import Record


class Size(Record):
    """What a model holds."""

    vocabulary: int
    bits: int | None  # B, or B' with error correction; none: softmax
    outputs: int
    output_parameters: int
    all_parameters: int
    softmax_parameters: int  # of a softmax over the same vocabulary
    multiply_adds: int | None = None  # of the output layer for a word; not known of older results

    @classmethod
    def of(cls, model: Any) -> Size:
        """The size of a translation model."""
        cost = model.head.cost()
        return cls(
            vocabulary=model.head.vocab_size,
            bits=cost.bits or None,
            outputs=cost.outputs,
            output_parameters=cost.parameters,
            all_parameters=sum(parameter.numel() for parameter in model.parameters()),
            softmax_parameters=(model.head.hidden_size + 1) * model.head.vocab_size,
            multiply_adds=cost.multiply_adds,
        )

    @property
    def times_smaller(self) -> float:
        """How many times the parameters of its output layer a softmax would have."""
        return self.softmax_parameters / self.output_parameters

    @property
    def times_fewer_multiply_adds(self) -> float | None:
        """How many times the multiply-adds of its output layer a softmax would take, if those are known."""
        softmax = self.softmax_parameters - self.vocabulary  # its weights, without the biases
        return softmax / self.multiply_adds if self.multiply_adds else None

    @property
    def share_of_all(self) -> float:
        """All parameters, of those of the model with a softmax."""
        return self.all_parameters / (self.all_parameters - self.output_parameters + self.softmax_parameters)

    def columns(self) -> dict[str, Any]:
        """B, #out, parameters of the output layer and of all, and what they are of those of a softmax model."""
        return {
            "B": self.bits,
            "#out": self.outputs,
            "output parameters": self.output_parameters,
            "of softmax": f"1/{float(f'{self.times_smaller:.3g}'):g}",  # three digits, as in the paper
            "all parameters": self.all_parameters,
            "of all with softmax": round(self.share_of_all, 3),
        }
