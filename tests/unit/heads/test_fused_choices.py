"""The Triton kernels that choose the best word, against what an output layer chooses in main memory.

In Triton's interpreter, and on a GPU where there is one.
"""

import numpy as np
import pytest
import torch
from torch import nn

from trellex.heads import build_head
from trellex.trellis import CompleteCode

fused_choices = pytest.importorskip("trellex.heads.fused_choices", reason="Triton is not installed")
fused_shelves = pytest.importorskip("trellex.heads.fused_shelves", reason="Triton is not installed")
fused_ranking = pytest.importorskip("trellex.trellis.fused_ranking", reason="Triton is not installed")
fused_words = pytest.importorskip("trellex.trellis.fused_words", reason="Triton is not installed")

PLACE = "cuda" if torch.cuda.is_available() else "cpu"
V, H, ROWS = 300, 12, 40


def on_device(*values):
    return [None if each is None else each.to(PLACE) for each in values]


def hidden_states(scale):
    return torch.randn(ROWS, H, generator=torch.Generator().manual_seed(7)) * scale


@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0])
@pytest.mark.parametrize("code", ["frequency", "random"])
@pytest.mark.parametrize("size", [2, 33, 299])
def test_of_hybrids(size, code, scale, monkeypatch):
    monkeypatch.setattr(fused_choices, "BLOCK", 16)  # several of them
    torch.manual_seed(1)
    head = build_head({"type": f"hybrid-{size}-ec", "loss": "trellis", "code": code}, hidden_size=H, vocab=V)
    with torch.no_grad():
        head.softmax.bias[-1] += 2  # rare words are sometimes the best
        h = hidden_states(scale)
        logits, bits = head.softmax(h), head.bits.outputs(h)[0][:, 0]
        numbers, scores, log_sums = (torch.from_numpy(each) for each in head.bits.ecc.best(
            bits.double().numpy(), size=head.bits.code.vocab_size
        ))  # fmt: skip
        found = fused_choices.of_hybrid(
            *on_device(logits, numbers, scores, log_sums, head.bits.code.table_like(numbers))
        )
        expected = head.best(h)
        assert torch.equal(found.cpu(), expected)
        assert scale == 0 or ((expected >= size - 1).any() and (expected < size - 1).any()) or size in (2, 299)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_bits_in_any_precision_are_added_up_in_double(dtype, monkeypatch):
    if PLACE == "cpu":
        monkeypatch.setattr(fused_words, "ROWS", 64)  # the interpreter runs a program after the other
    head = build_head({"type": "binary-ec", "loss": "trellis"}, hidden_size=H, vocab=V)
    logits = (torch.randn(ROWS, head.bits.length, generator=torch.Generator().manual_seed(3)) * 1e4).to(dtype)
    numbers, scores, log_sums = fused_words.best(logits.to(PLACE), head.bits.ecc.register, head.bits.code.num_bits, V)
    assert scores.dtype == log_sums.dtype == torch.float64
    expected = head.bits.ecc.best(logits.double().numpy(), size=V)
    for mine, theirs in zip((numbers, scores, log_sums), expected, strict=True):
        np.testing.assert_allclose(mine.cpu(), theirs, rtol=1e-13)


@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0])
@pytest.mark.parametrize("code", ["frequency", "random"])
@pytest.mark.parametrize(("words", "visit"), [(16, 3), (2, 5), (64, 64), (8, 1)])
def test_of_shelves(words, visit, code, scale, monkeypatch):
    torch.manual_seed(2)
    spec = {"type": "shelves", "words": words, "visit": visit, "memory": 4, "code": code}
    head = build_head(spec, hidden_size=H, vocab=V, embedding=nn.Embedding(V, 10))
    with torch.no_grad():
        h = hidden_states(scale)
        logits = head.shelf_logits(h).double()
        shelves = head._first_shelves(logits)
        log_shelves = head.log_prob_of_shelves(logits, shelves)
        expected = head.word_scores(h, shelves[:, : head.visit])
        table = head.code.table_like(shelves)
        where = head.width, head.shelf_bits
        read = [head.words.project(h), shelves[:, : head.visit], table, head.words.vectors, head.words.bias]
        scores = fused_shelves.scores_by_read(*on_device(*read), *where)
        torch.testing.assert_close(scores.cpu(), expected, rtol=1e-5, atol=1e-5)
        found, best = choose(head, h, expected, shelves, log_shelves), head.best(h)
        assert torch.equal(found, best) or scale == 0  # of equal ones torch may take any
        torch.testing.assert_close(head.log_prob(h, found), head.log_prob(h, best))
        if visit * words < 64 and scale == 1.0:  # some have to look further
            assert (head.best_at_once(h) < 0).any() or words == 2
            monkeypatch.setattr(fused_choices, "MOST_FURTHER", 1)
            found = choose(head, h, expected, shelves, log_shelves)
            assert torch.equal(found.where(found >= 0, best), best)
            assert (found < 0).any() or words == 2


def choose(head, h, scores, shelves, log_shelves):
    """What the kernels choose from the scores of words on visited shelves."""
    table, where = head.code.table_like(shelves), (head.visit, *on_device(shelves, log_shelves, head.shelf_logits(h)))
    found = fused_choices.of_shelves(*on_device(scores, shelves, log_shelves, table), head.shelf_bits)
    vectors = on_device(head.words.project(h), head.words.vectors, head.words.bias, table)
    return fused_choices.on_further_shelves(*found, *where, head.ecc, head.shelf_bits, *vectors).cpu()


@pytest.mark.parametrize(
    ("spec", "kernels"),
    [
        ({"type": "binary-ec", "loss": "trellis", "code": "random"}, ["best"]),
        ({"type": "binary-ec", "generators": "complete", "memory": 4, "code": "frequency"}, ["best"]),
        ({"type": "binary-ec", "decoding": "paper"}, ["best"]),
        ({"type": "binary", "decoding": "paper", "code": "random"}, ["best"]),
        ({"type": "hybrid-33-ec", "loss": "trellis", "code": "random"}, ["best", "of_hybrid"]),
        ({"type": "hybrid-33-ec", "decoding": "paper"}, ["best"]),
        ({"type": "hybrid-33", "decoding": "paper"}, ["best"]),
        (
            {"type": "shelves", "words": 16, "visit": 3, "memory": 4, "code": "random"},
            ["ranked", "scores_by_shelf", "of_shelves", "on_further_shelves"],
        ),
    ],
    ids=str,
)
def test_output_layers_choose_by_them_what_they_choose_without(spec, kernels, monkeypatch):
    """Where there is no GPU, as if there was one."""
    torch.manual_seed(4)
    embedding = nn.Embedding(V, 10)
    head, h = build_head(spec, hidden_size=H, vocab=V, embedding=embedding), hidden_states(4.0)
    asked = []
    for module in (fused_choices, fused_ranking, fused_shelves, fused_words):
        for name in {*kernels} & {*vars(module)}:
            monkeypatch.setattr(module, name, logged(asked, name, getattr(module, name)))
    with torch.no_grad():
        expected = head.best(h)
        if PLACE == "cuda":
            head.cuda()
            embedding.cuda()
        else:
            monkeypatch.setattr(fused_words, "ROWS", 64)
            for name in ("code_distribution", "shelf_distribution", "shelves", "shelf_scores"):
                monkeypatch.setattr(f"trellex.heads.{name}.has_kernels", lambda _: True)
            monkeypatch.setattr("trellex.trellis.convolutional.has_kernels", lambda _: True)
        assert not asked
        found = head.best_at_once(h.to(PLACE)).cpu()
    assert torch.equal(found, expected)
    assert asked == kernels


def logged(asked, name, kernel):
    """A kernel that logs its name."""

    def ask(*arguments, **options):
        asked.append(name)
        return kernel(*arguments, **options)

    return ask


@pytest.mark.parametrize("code", ["frequency", "random"])
def test_of_what_is_no_number_no_word_is_the_best(code, monkeypatch):
    """So that search can tell of damaged weights."""
    monkeypatch.setattr("trellex.heads.code_distribution.has_kernels", lambda _: True)
    head = build_head({"type": "binary-ec", "loss": "trellis", "code": code}, hidden_size=H, vocab=V).to(PLACE)
    with torch.no_grad():
        found = head.best_at_once(torch.full((2, H), torch.nan, device=PLACE))
    assert found.tolist() == [-1, -1]


@pytest.mark.filterwarnings("ignore:All-NaN")  # by the interpreter
def test_shelves_whose_scores_are_no_numbers_have_no_best_word():
    """Nor is any beyond the last one read."""
    shelves = torch.tensor([[31, 30, 29]] * 2)  # whose last places are beyond the last word
    scores = torch.full((2, 2, 16), torch.nan)
    words, log_probs = fused_choices.of_shelves(
        *on_device(scores, shelves, torch.zeros(2, 3, dtype=torch.float64), torch.arange(500)), 5
    )
    assert words.tolist() == [-1, -1]
    assert log_probs.isnan().all()


def test_no_rows():
    empty = torch.empty(0, device=PLACE)
    numbers = empty.long()
    assert len(fused_choices.of_hybrid(empty.view(0, 5), numbers, empty, empty, None)) == 0
    found = fused_choices.of_shelves(empty.view(0, 2, 4), numbers.view(0, 3), empty.view(0, 3), None, 4)
    assert len(found[0]) == len(found[1]) == 0
    table, where = torch.empty(64, 3, device=PLACE), (2, numbers.view(0, 3), empty.view(0, 3), empty.view(0, 15))
    vectors = empty.view(0, 3), table, table[:, 0], None
    assert len(fused_choices.on_further_shelves(*found, *where, CompleteCode(3), 4, *vectors)) == 0
