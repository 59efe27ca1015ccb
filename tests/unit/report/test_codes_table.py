"""The table of codes: output layers that differ in nothing else."""

import pytest
from synthetic import make_result, save_all

from trellex.evaluation.result import Result
from trellex.report.codes import codes
from trellex.report.result_set import ResultSet
from trellex.report.sections import sections

SHELVES = {"type": "shelves", "label_smoothing": 0.1}
BINARY = {"type": "binary-ec", "loss": "trellis"}
BROWN = BINARY | {"code": "brown"}


def table_of(results, folder):
    return codes(ResultSet.load(save_all(results, folder)).corpora[0].directions[0])


def changed(result, **changes):
    """The same of another cell."""
    return Result.model_validate(result.model_dump() | {"cell": result.cell.model_dump() | changes})


def learning(result):
    return changed(result, variant="numbers learn")


@pytest.fixture
def results():
    return [
        make_result(),
        make_result(head=BINARY, perplexity=61.5, bleu=13.0),
        make_result(head=BROWN, perplexity=60.5, bleu=13.5),
        make_result(head=BROWN, perplexity=59.5, bleu=14.5, seed=2),
        learning(make_result(head=BROWN, perplexity=55.5)),
        make_result(head="hybrid-512-ec"),  # with one code alone
        make_result(head=SHELVES, perplexity=31.0),
        make_result(head=SHELVES | {"code": "frequency"}, perplexity=33.0),
    ]


def test_codes_of_a_layer_stand_together(results, tmp_path):
    table = table_of(results, tmp_path)
    assert [[cell.text for cell in row][:2] for row in table.rows] == [
        ["binary-ec (trellis)", "brown"],
        ["binary-ec (trellis)", "brown, numbers learn"],
        ["binary-ec (trellis)", "frequency"],
        ["shelves (label smoothing 0.1)", "clusters"],
        ["shelves (label smoothing 0.1)", "frequency"],
    ]


def test_figures(results, tmp_path):
    table = table_of(results, tmp_path)
    figures = {tuple(cell.text for cell in row[:2]): [cell.text for cell in row] for row in table.rows}
    plain = results[1]
    assert figures["binary-ec (trellis)", "frequency"][2:] == [
        f"{plain.best.dev:.2f}",
        f"{plain.scores['greedy'].token_bleu:.2f}",
        f"{plain.scores['beam 5'].token_bleu:.2f}",
        "61.50",
        "6.80",
        "2.10",
        "8.40",
    ]
    assert figures["binary-ec (trellis)", "brown"][5] == "60.00 ± 0.50"


def test_free_codes_come_last(results, tmp_path):
    free = changed(make_result(), head={"type": "free", "bits": 128})
    assert [cell.text for cell in table_of([*results, free], tmp_path).rows[-1]][:2] == ["free", "128 bits that learn"]


def test_none_where_layers_differ_in_more(results, tmp_path):
    assert table_of([*results[:2], learning(results[1]), *results[5:7]], tmp_path) is None
    assert not any(getattr(block, "text", "") == "Codes of words" for block in sections(ResultSet.load(tmp_path)))


def test_none_where_text_is_cut_otherwise_or_vectors_are_others(results, tmp_path):
    pieces, composed = changed(results[1], cut="bpe 64"), changed(results[1], variant="composed")
    for other in (pieces, composed):
        assert table_of([results[0], results[2], other], tmp_path) is None
        (tmp_path / f"{other.cell.name}.json").unlink()


def test_pieces_stand_apart(results, tmp_path):
    pieces = [changed(result, cut="bpe 64") for result in results[1:3]]
    layers = [row[0].text for row in table_of([*results, *pieces], tmp_path).rows]
    assert layers.count("binary-ec (trellis), bpe 64") == 2
    assert layers.count("binary-ec (trellis)") == 3


def test_no_columns_of_wrong_bits_where_none_are_read(results, tmp_path):
    assert table_of(results, tmp_path).headings[-3:] == ["wrong bits, %", "after correction", "wrong words"]
    unread = [result.model_copy(update={"bit_errors": None}) for result in results]
    assert table_of(unread, tmp_path).headings[-1] == "perplexity, dev"


def test_a_section(results, tmp_path):
    headings = [getattr(block, "text", "") for block in sections(ResultSet.load(save_all(results, tmp_path)))]
    assert "Codes of words" in headings
