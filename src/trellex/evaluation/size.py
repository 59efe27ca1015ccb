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
    vector_parameters: int | None = None  # of source and target words; of older results as many as tables have
    table_parameters: int | None = None  # of a vector for each of these words

    @classmethod
    def of(cls, model: Any) -> Size:
        """The size of a translation model."""
        cost = model.head.cost()
        vectors = model.network.source_embedding, model.network.embedding
        return cls(
            vocabulary=model.head.vocab_size,
            bits=cost.bits or None,
            outputs=cost.outputs,
            output_parameters=cost.parameters,
            all_parameters=sum(parameter.numel() for parameter in model.parameters()),
            softmax_parameters=(model.head.hidden_size + 1) * model.head.vocab_size,
            multiply_adds=cost.multiply_adds,
            vector_parameters=sum(parameter.numel() for each in vectors for parameter in each.parameters()),
            table_parameters=sum(each.num_embeddings * each.embedding_dim for each in vectors),
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
        """All parameters, of those of the model with a softmax and tables of word vectors."""
        spared = self.softmax_parameters - self.output_parameters
        spared += (self.table_parameters or 0) - (self.vector_parameters or 0)
        return self.all_parameters / (self.all_parameters + spared)

    def columns(self) -> dict[str, Any]:
        """B, #out, parameters of the output layer and of all, and what they are of those of a softmax model.

        Of composed word vectors also their parameters, and what they are of those of tables.
        """
        vectors: dict[str, Any] = {}
        if self.vector_parameters and self.table_parameters and self.vector_parameters != self.table_parameters:
            of_tables = _one_in(self.table_parameters / self.vector_parameters)
            vectors = {"vector parameters": self.vector_parameters, "of tables": of_tables}
        return {
            "B": self.bits,
            "#out": self.outputs,
            "output parameters": self.output_parameters,
            "of softmax": _one_in(self.times_smaller),
            **vectors,
            "all parameters": self.all_parameters,
            "of all with softmax": round(self.share_of_all, 3),
        }


def _one_in(times: float) -> str:
    """How many times smaller, as a fraction of three digits, as in the paper; of what is larger, how many times."""
    return f"1/{float(f'{times:.3g}'):g}" if times >= 1 else f"{1 / times:.3g} ×"
