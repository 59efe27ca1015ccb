"""A folder of results, grouped; and what is said of folders that make no report."""

import json

import pytest
from synthetic import all_results, make_result, save_all

from trellex.report.result_set import ResultSet, methods_of


def load(results, tmp_path):
    return ResultSet.load(save_all(results, tmp_path / "results"))


class TestLoad:
    def test_groups_by_corpus_direction_method_and_seed(self, tmp_path):
        result_set = load(all_results(seeds=(2, 1), methods=("softmax", "hybrid-512"), sentences=20), tmp_path)
        assert [corpus.name for corpus in result_set.corpora] == ["KFTT", "Tanaka"]
        assert [corpus.stands_for for corpus in result_set.corpora] == ["ASPEC", "BTEC"]
        for corpus in result_set.corpora:
            assert [direction.name for direction in corpus.directions] == ["en-ja", "ja-en"]
            for direction in corpus.directions:
                assert list(direction.methods) == ["softmax", "hybrid-512"]
                for name, method in direction.methods.items():
                    cells = [result.cell for result in method.results]
                    assert [cell.seed for cell in cells] == [1, 2]
                    assert {(cell.corpus, cell.direction, cell.method) for cell in cells} == {
                        (corpus.name, direction.name, name)
                    }
        assert len(result_set.results) == 16

    def test_a_head_with_options_that_change_nothing_is_the_same_method(self, tmp_path):
        results = [make_result(sentences=9), make_result(head={"type": "softmax"}, seed=2, sentences=9)]
        assert list(methods_of(load(results, tmp_path).results)) == ["softmax"]

    def test_methods_come_in_the_order_of_tables(self, tmp_path):
        names = ["softmax", "binary", "hybrid-512", "binary-ec", "binary-ec (mixtures 4)", "binary-ec (trellis)"]
        mixtures, trellis = ({"type": "binary-ec", **options} for options in ({"mixtures": 4}, {"loss": "trellis"}))
        heads = ["binary-ec", trellis, "hybrid-512", "softmax", mixtures, "binary"]
        result_set = load([make_result(head=head, sentences=9) for head in heads], tmp_path)
        assert list(methods_of(result_set.results)) == names
        assert list(result_set.corpora[0].directions[0].methods) == names


class TestErrors:
    def test_no_folder(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"nowhere: there is no such folder; name"):
            ResultSet.load(tmp_path / "nowhere")

    def test_no_results(self, tmp_path):
        (tmp_path / "notes.txt").write_text("{}")
        with pytest.raises(FileNotFoundError, match=r"no results \(\*\.json\); run an experiment"):
            ResultSet.load(tmp_path)

    def test_a_damaged_file_is_named(self, tmp_path):
        save_all([make_result(sentences=9)], tmp_path)
        whole = next(tmp_path.glob("*.json")).read_text()
        (tmp_path / "damaged.json").write_text(whole[: len(whole) // 2])
        with pytest.raises(ValueError, match=r"damaged\.json: not the result.*run the experiment again"):
            ResultSet.load(tmp_path)

    def test_an_unknown_head_is_told_with_the_file(self, tmp_path):
        result = make_result(sentences=9).model_dump(mode="json")
        result["cell"]["head"] = "softmin"
        (tmp_path / "other.json").write_text(json.dumps(result))
        with pytest.raises(ValueError, match=r"other\.json: not the result .*type: expected softmax.*got 'softmin'"):
            ResultSet.load(tmp_path)

    def test_two_results_of_one_cell(self, tmp_path):
        save_all([make_result(sentences=9)], tmp_path)
        make_result(head={"type": "softmax"}, sentences=9).save(tmp_path / "again.json")
        with pytest.raises(ValueError, match=r"again\.json: both are .* KFTT en-ja softmax seed 1; remove one"):
            ResultSet.load(tmp_path)

    def test_different_test_sets(self, tmp_path):
        with pytest.raises(ValueError, match=r"KFTT en-ja, but their test sets or vocabularies differ; run"):
            load([make_result(sentences=9), make_result(head="binary", sentences=10)], tmp_path)

    def test_different_bands(self, tmp_path):
        other = make_result(head="binary", sentences=9)
        other.bands.pop(1)
        with pytest.raises(ValueError, match="their test sets or vocabularies differ"):
            load([make_result(sentences=9), other], tmp_path)

    def test_a_corpus_that_stands_for_two(self, tmp_path):
        other = make_result(head="binary", sentences=9)
        other.cell.stands_for = "BTEC"
        with pytest.raises(ValueError, match=r"KFTT stands for ASPEC in one and for BTEC in the other; give"):
            load([make_result(sentences=9), other], tmp_path)

    @pytest.mark.parametrize("spoil", [list.pop, lambda sentences: sentences[3].pop()])
    def test_scores_without_some_sentences(self, tmp_path, spoil):
        result = make_result(sentences=9)
        spoil(result.scores["beam 5"].sentences)
        with pytest.raises(ValueError, match=r"scores of beam 5 are not 10 numbers for each of the 9 test sentences"):
            load([result], tmp_path)
