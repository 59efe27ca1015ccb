"""Models of words and of pieces stand in one table, since BLEU is that of words."""

import pytest
from synthetic import make_result, make_size, save_all

from trellex.report import quality_tables
from trellex.report.bands import bleu_by_rarest_word, word_f1
from trellex.report.figures import frequency_bands
from trellex.report.page import write_report
from trellex.report.result_set import ResultSet
from trellex.report.styles import method_styles


def of_pieces(head="softmax", bleu=32.0, cut="bpe 8192", **replaced):
    """A result with ids of pieces, of the same test set."""
    words = make_result(head=head, bleu=bleu, **replaced)
    changes = {"rarest": [], "bands": [], "size": make_size(head, 8192), "perplexity": 30.0}
    return type(words).model_validate(words.model_dump() | changes | {"cell": words.cell.model_dump() | {"cut": cut}})


@pytest.fixture
def both(tmp_path):
    results = [make_result(head=head, perplexity=20.0) for head in ("softmax", "binary-ec")]
    return save_all([*results, of_pieces(), of_pieces("binary-ec", 28.0)], tmp_path / "results")


def test_one_table(both):
    (corpus,) = ResultSet.load(both).corpora
    (direction,) = corpus.directions
    assert list(direction.methods) == ["softmax", "softmax, bpe 8192", "binary-ec", "binary-ec, bpe 8192"]
    assert direction.softmax_of("binary-ec, bpe 8192") == "softmax, bpe 8192"
    assert direction.softmax_of("binary-ec") == "softmax"
    assert len(quality_tables.scores(direction).rows) == 4
    assert set(bleu_by_rarest_word(direction).values) == set(direction.methods)
    assert set(word_f1(direction).values) == {"softmax", "binary-ec"}
    styles = method_styles({name: method.head for name, method in direction.methods.items()})
    assert len(set(styles.values())) == 4


def test_a_variant_is_compared_with_the_usual_softmax(tmp_path):
    """Of text that is cut alike."""
    variants = [make_result(head="binary-ec"), of_pieces("binary-ec")]
    for each in variants:
        each.cell = each.cell.model_copy(update={"variant": "composed"})
    assert [each.cell.method for each in variants] == ["binary-ec, composed", "binary-ec, composed, bpe 8192"]
    direction = ResultSet.load(save_all([make_result(), of_pieces(), *variants], tmp_path)).corpora[0].directions[0]
    assert [direction.softmax_of(each.cell.method) for each in variants] == ["softmax", "softmax, bpe 8192"]


def test_the_report_says_so(both, tmp_path):
    write_report(both, tmp_path / "report")
    text = (tmp_path / "report" / "report.md").read_text(encoding="utf-8")
    assert "Behind a comma stands how text is cut into pieces" in text
    assert "softmax, bpe 8192" in text


def test_pieces_alone(tmp_path):
    (corpus,) = ResultSet.load(save_all([of_pieces()], tmp_path / "results")).corpora
    (direction,) = corpus.directions
    assert bleu_by_rarest_word(direction) is word_f1(direction) is frequency_bands(direction, {}) is None
    write_report(tmp_path / "results", tmp_path / "report")


def test_other_test_sets_are_refused(both):
    save_all([of_pieces(cut="unigram 8192", sentences=399)], both)
    with pytest.raises(ValueError, match="their test sets or vocabularies differ"):
        ResultSet.load(both)
