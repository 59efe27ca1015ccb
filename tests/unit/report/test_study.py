"""A folder of results, grouped; and what is said of folders that make no report."""

import random

import pytest
from synthetic import all_results, make_result, save_all

from trellex.report.method import MethodName, method_order
from trellex.report.study import Study


def load(results, tmp_path):
    return Study.load(save_all(results, tmp_path / "results"))


class TestOrder:
    def test_of_methods(self):
        names = [
            "softmax",
            "binary",
            "binary (trellis)",
            "hybrid-512",
            "hybrid-2048",
            "binary-ec",
            "binary-ec (mixtures 4)",
            "binary-ec (trellis)",
            "hybrid-512-ec",
            "hybrid-512-ec (trellis)",
            "hybrid-2048-ec",
            "something-else",
        ]
        shuffled = random.Random(0).sample(names, len(names))
        assert sorted(shuffled, key=method_order) == names

    def test_a_name_taken_apart(self):
        assert MethodName.parse("hybrid-512-ec (trellis)") == ("hybrid-512", 512, True, "trellis")
        assert MethodName.parse("softmax") == ("softmax", 0, False, "")


class TestLoad:
    def test_groups_by_corpus_direction_method_and_seed(self, tmp_path):
        study = load(all_results(seeds=(2, 1), methods=("softmax", "hybrid-512"), sentences=20), tmp_path)
        assert [corpus.name for corpus in study.corpora] == ["KFTT", "Tanaka"]
        assert [corpus.stands_for for corpus in study.corpora] == ["ASPEC", "BTEC"]
        for corpus in study.corpora:
            assert [direction.name for direction in corpus.directions] == ["en-ja", "ja-en"]
            for direction in corpus.directions:
                assert list(direction.methods) == ["softmax", "hybrid-512"]
                for name, method in direction.methods.items():
                    cells = [result.cell for result in method.results]
                    assert [cell.seed for cell in cells] == [1, 2]
                    assert {(cell.corpus, cell.direction, cell.method) for cell in cells} == {
                        (corpus.name, direction.name, name)
                    }
        assert len(study.results) == 16

    def test_a_head_with_options_that_change_nothing_is_the_same_method(self, tmp_path):
        results = [make_result(sentences=9), make_result(head={"type": "softmax"}, seed=2, sentences=9)]
        assert load(results, tmp_path).methods == ["softmax"]


class TestErrors:
    def test_no_folder(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"nowhere: there is no such folder; name"):
            Study.load(tmp_path / "nowhere")

    def test_no_results(self, tmp_path):
        (tmp_path / "notes.txt").write_text("{}")
        with pytest.raises(FileNotFoundError, match=r"no results \(\*\.json\); run an experiment"):
            Study.load(tmp_path)

    def test_a_damaged_file_is_named(self, tmp_path):
        save_all([make_result(sentences=9)], tmp_path)
        whole = next(tmp_path.glob("*.json")).read_text()
        (tmp_path / "damaged.json").write_text(whole[: len(whole) // 2])
        with pytest.raises(ValueError, match=r"damaged\.json: not the result.*run the experiment again"):
            Study.load(tmp_path)

    def test_two_results_of_one_cell(self, tmp_path):
        save_all([make_result(sentences=9)], tmp_path)
        make_result(head={"type": "softmax"}, sentences=9).save(tmp_path / "again.json")
        with pytest.raises(ValueError, match=r"again\.json: both are .* KFTT en-ja softmax seed 1; remove one"):
            Study.load(tmp_path)

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
