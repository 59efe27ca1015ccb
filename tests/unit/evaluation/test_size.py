"""The network at the paper's sizes, with input feeding as in Luong et al., against the paper's table."""

import pytest
import torch

from trellex.evaluation.size import Size
from trellex.nmt.build import build_model
from trellex.nmt.settings import ModelSettings


def measured(head, vocab, **settings):
    with torch.device("meta"):  # shapes without numbers
        return Size.of(build_model(ModelSettings(input_feeding=True, **settings), head, vocab, vocab))


def size_of(head, vocab, **settings):
    return measured(head, vocab, **settings).columns()


def test_all_parameters_are_those_of_the_paper():
    """33.6 M of the output layer are 1 − 0.698 of all."""
    assert size_of("softmax", 65536)["all parameters"] == pytest.approx(111.3e6, rel=0.01)


@pytest.mark.parametrize(
    ("vocab", "head", "bits", "of_softmax", "of_all"),
    [
        (65536, "softmax", None, "1/1", 1),
        (65536, "binary", 16, "1/4100", 0.698),
        (65536, "hybrid-512", 16, "1/124", 0.700),
        (65536, "hybrid-2048", 16, "1/31.8", 0.707),
        (65536, "binary-ec", 44, "1/1490", 0.698),
        (65536, "hybrid-512-ec", 44, "1/118", 0.700),
        (65536, "hybrid-2048-ec", 44, "1/31.3", 0.707),  # 31.4 in the paper, from rounded sizes
        (25000, "binary", 15, "1/1670", 0.738),
        (25000, "hybrid-512", 15, "1/47.4", 0.743),
        (25000, "hybrid-2048", 15, "1/12.1", 0.759),
        (25000, "binary-ec", 42, "1/595", 0.738),
        (25000, "hybrid-512-ec", 42, "1/45.1", 0.744),
        (25000, "hybrid-2048-ec", 42, "1/12", 0.760),
    ],
)
def test_ratios_of_the_paper_s_table(vocab, head, bits, of_softmax, of_all):
    size = size_of(head, vocab)
    assert (size["B"], size["of softmax"]) == (bits, of_softmax)
    unknown = 0.003 if vocab == 65536 else 0.004  # the paper's has half a million weights more, it does not say where
    assert size["of all with softmax"] == pytest.approx(of_all, abs=unknown)
    softmax = size_of("softmax", vocab)
    assert size["of all with softmax"] == round(size["all parameters"] / softmax["all parameters"], 3)
    assert size["all parameters"] - size["output parameters"] == 77_085_184 + 2 * 512 * (vocab - 65536)


@pytest.mark.parametrize("head", ["softmax", {"type": "softmax", "tied": True}, "binary-ec"], ids=str)
def test_composed_vectors_are_compared_with_tables(head):
    table, composed = (size_of(head, 65536, embeddings=each) for each in ({}, {"type": "composed", "code": "random"}))
    vectors = 2 * ((1406 + 32) * 512 + 65536 * 32)
    assert (composed["vector parameters"], composed["of tables"]) == (vectors, "1/11.8")
    assert composed["all parameters"] == table["all parameters"] - 2 * 65536 * 512 + vectors
    softmax = size_of("softmax", 65536)["all parameters"]
    assert composed["of all with softmax"] == round(composed["all parameters"] / softmax, 3)
    assert {name for name in composed if name not in table} == {"vector parameters", "of tables"}


def test_vectors_of_frequent_words_count():
    sizes = [
        size_of("binary-ec", 500, embeddings={"type": "composed", "code": "random", "frequent": frequent})
        for frequent in (0, 100, 9000)
    ]
    few, some, all_words = (size["vector parameters"] for size in sizes)
    assert (some - few, all_words - few) == (2 * 100 * 512, 2 * 500 * 512)


def test_composed_vectors_of_few_words_are_more_than_tables():
    assert (
        size_of("softmax", 64, embeddings={"type": "composed", "code": "random"})["of tables"] == "2.53 ×"
    )  # 158 vectors and 64 residuals of 32 numbers


def test_older_results_have_tables():
    size = measured("binary", 100)
    older = Size.model_validate(size.model_dump(exclude={"vector_parameters", "table_parameters"}))
    assert older.share_of_all == size.share_of_all
    assert older.columns() == size.columns()


@pytest.mark.parametrize(
    ("head", "multiply_adds"),
    [
        ("softmax", 512 * 65536),
        ({"type": "softmax", "tied": True}, 512 * 512 + 512 * 65536),
        ("hybrid-512-ec", 512 * (512 + 44)),
    ],
    ids=str,
)
def test_multiply_adds(head, multiply_adds):
    size = measured(head, 65536)
    assert size.multiply_adds == multiply_adds
    assert size.times_fewer_multiply_adds == 512 * 65536 / multiply_adds


def test_multiply_adds_are_not_known_of_older_results():
    size = Size.model_validate(measured("softmax", 100).model_dump(exclude={"multiply_adds"}))
    assert (size.multiply_adds, size.times_fewer_multiply_adds) == (None, None)
