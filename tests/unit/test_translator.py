"""From lines to translations, with a run, a checkpoint and an exported model."""

import copy
import math
import subprocess
import sys

import numpy as np
import pytest
import torch

import trellex
from trellex.runtime.export import export
from trellex.runtime.model import RuntimeModel
from trellex.search import SearchSettings
from trellex.translator import Translation, Translator

LINES = ["s3 s4 s5", "", "s9 unknown s39", " \t ", "s12", "s4 " * 12]


@pytest.fixture(scope="module")
def exported(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("translator") / "export"
    export(run[1], folder, "fp32")
    return folder


@pytest.fixture(scope="module", params=["run", "export"])
def translator(request, run, exported):
    return trellex.load(run[0] if request.param == "run" else exported)


class TestLoad:
    def test_a_run_a_checkpoint_and_an_export_say_the_same(self, run, exported):
        expected = Translator(run[1]).translate(LINES)
        for path in (run[0], run[0] / "step-000000007", exported):
            for name in (path, str(path)):
                translator = trellex.load(name)
                assert isinstance(translator, Translator)
                assert translator.translate(LINES) == expected
        assert any(expected)

    def test_an_export_is_run_by_the_runtime(self, run, exported):
        assert isinstance(trellex.load(exported).model, RuntimeModel)
        assert not isinstance(trellex.load(run[0]).model, RuntimeModel)
        assert trellex.load(exported).head == trellex.load(run[0]).head == run[1].head

    def test_japanese_is_joined_without_mecab(self, run, monkeypatch):
        monkeypatch.setitem(sys.modules, "fugashi", None)
        text = run[1].text.model_copy(update={"target_language": "ja", "target_tokenizer": "mecab"})
        translator = Translator(run[1]._replace(text=text))
        assert any(translator.translate(LINES))
        with pytest.raises(ImportError, match="fugashi"):
            list(translator.score([("s3", "t3")]))

    def test_threads_and_the_device_auto(self, run, exported):
        expected = Translator(run[1]).translate(LINES)
        assert trellex.load(exported, threads=2).translate(LINES) == expected
        assert trellex.load(exported, device="auto").translate(LINES) == expected
        assert trellex.load(run[0], threads=2).translate(LINES) == expected
        assert torch.get_num_threads() == 2

    def test_another_decoding_of_a_run(self, run):
        assert trellex.load(run[0]).model.head.bits.decoding == "exact"
        assert trellex.load(run[0], decoding="paper").model.head.bits.decoding == "paper"

    def test_a_folder_that_is_not_there(self, tmp_path):
        (tmp_path / "file").write_text("")
        for name in ("none", "file"):
            with pytest.raises(FileNotFoundError, match="there is no such folder; give an exported model, a run or"):
                trellex.load(tmp_path / name)

    def test_a_folder_that_is_something_else(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=f"{tmp_path}: no checkpoint here; train first"):
            trellex.load(tmp_path)

    @pytest.mark.parametrize("options", [{"device": "cuda"}, {"device": "gpu"}, {"decoding": "exact"}])
    def test_an_export_is_as_it_was_exported(self, exported, options):
        with pytest.raises(ValueError, match=f"{exported}: an exported model runs on the CPU.*leave the option out"):
            trellex.load(exported, **options)

    @pytest.mark.parametrize("options", [{"device": "gpu"}, {"decoding": "exakt"}])
    def test_bad_options_of_a_run(self, run, options):
        with pytest.raises(ValueError, match=next(iter(options))):
            trellex.load(run[0], **options)

    def test_other_names_are_not_there(self):
        with pytest.raises(AttributeError, match="module 'trellex' has no attribute 'lode'"):
            trellex.lode  # noqa: B018


class TestTranslate:
    def test_a_string_a_line(self, translator):
        found = translator.translate(LINES)
        assert [type(text) for text in found] == [str] * len(LINES)
        assert [bool(line.strip()) or text == "" for line, text in zip(LINES, found, strict=True)] == [True] * 6
        assert [translator.translate([line])[0] for line in LINES] == found

    def test_any_iterable(self, translator):
        expected = translator.translate(LINES)
        assert translator.translate(line for line in LINES) == expected
        assert translator.translate(tuple(LINES)) == expected
        assert translator.translate([]) == translator.translate(iter(())) == []
        assert translator.translate(["", " "]) == ["", ""]

    def test_lines_may_end(self, translator):
        assert translator.translate(line + "\n" for line in LINES) == translator.translate(LINES)

    def test_several_of_each_line(self, translator):
        found = translator.translate(LINES, beam=5, nbest=3)
        assert [len(best) for best in found] == [3, 0, 3, 0, 3, 3]
        for best in found:
            assert all(isinstance(each, Translation) for each in best)
            finished = [each for each in best if len(each.log_probs) > len(each.tokens)]
            assert finished == sorted(finished, key=lambda each: -each.score)
            for each in best:
                assert each.text == " ".join(each.tokens)
                assert each.score == pytest.approx(sum(each.log_probs) / len(each.log_probs))
                assert not any(map(math.isnan, each.log_probs))
        alone = translator.translate(LINES, beam=5)
        assert [best[0].text if best else "" for best in found] == alone

    def test_one_of_each_line_with_scores(self, translator):
        found = translator.translate(LINES, nbest=1)
        assert [best[0].text if best else "" for best in found] == translator.translate(LINES)
        assert all(math.isfinite(each.score) for best in found for each in best)

    def test_other_settings(self, translator):
        cold = translator.translate(LINES, nbest=2, sample=True, temperature=0.001)
        assert [len(best) for best in cold] == [2, 0, 2, 0, 2, 2]
        (best,) = translator.translate(["s3 s4"], beam=2, nbest=1, length_penalty=0.0)
        assert best[0].score == pytest.approx(sum(best[0].log_probs))

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"beam": 0}, "beam"),
            ({"nbest": 2}, "nbest: a beam of 1 finds no more"),
            ({"beam": 3, "nbest": 4}, "widen the beam"),
            ({"temperature": 0.5}, "add sample"),
            ({"length_penalty": -1}, "length_penalty: expected 0 to 10"),
        ],
    )
    def test_bad_settings(self, translator, options, message):
        with pytest.raises(ValueError, match=message):
            translator.translate(LINES, **options)

    def test_a_single_string_is_refused(self, translator):
        with pytest.raises(ValueError, match="lines"):
            translator.translate("s3 s4 s5")


class TestSearch:
    def test_neither_chunks_nor_batches_change_a_translation(self, translator, monkeypatch):
        expected = translator.translate(LINES, nbest=1)
        monkeypatch.setattr("trellex.translator.CHUNK", 2)
        found = translator.translate(iter(LINES), nbest=1, batch_tokens=5)
        for ours, theirs in zip(expected, found, strict=True):
            assert [each.tokens for each in ours] == [each.tokens for each in theirs]
            for one, two in zip(ours, theirs, strict=True):
                assert two.log_probs == pytest.approx(one.log_probs, abs=1e-4)

    def test_a_seed_gives_the_same_again(self, translator):
        settings = SearchSettings(sample=True, nbest=2)
        first, again, other = (translator.search(LINES, settings, seed=seed) for seed in (3, 3, 4))
        assert first == again != other
        assert translator.translate(LINES, nbest=2, sample=True, seed=3) == first

    def test_a_seed_gives_every_chunk_other_samples(self, translator, monkeypatch):
        monkeypatch.setattr("trellex.translator.CHUNK", 2)
        found = translator.translate(["s3 s4 s5 s6"] * 6, sample=True, seed=3)
        assert found[:2] != found[2:4] != found[4:]

    def test_without_scores_words_are_the_same(self, translator):
        found = translator.search(LINES, SearchSettings(), scores=False)
        assert [best[0].text if best else "" for best in found] == translator.translate(LINES)

    def test_a_line_that_is_too_long_is_told_of(self, translator, monkeypatch):
        monkeypatch.setattr("trellex.translator.MAX_TOKENS", 11)
        expected = translator.translate(LINES[:-1], nbest=1)
        *found, problem = translator.search(LINES, SearchSettings())
        assert [[each.tokens for each in best] for best in found] == [[x.tokens for x in best] for best in expected]
        assert problem == "has 12 tokens, more than 11; split it into sentences"
        with pytest.raises(ValueError, match="line 6: has 12 tokens"):
            translator.translate(LINES)


class TestScore:
    def test_what_it_found_itself(self, translator):
        found = translator.translate(LINES, nbest=1)
        pairs = [(line, best[0].text if best else "t3") for line, best in zip(LINES, found, strict=True)]
        seen = []
        scored = list(translator.score(pairs, observe=lambda state, words: seen.append(len(words))))
        assert [each is None for each in scored] == [False, True, False, True, False, False]
        for each, best in zip(scored, found, strict=True):
            if each is not None and best[0].tokens == each.tokens:  # markers in a text are unknown words
                length = len(best[0].log_probs)
                np.testing.assert_allclose(each.log_probs[:length], best[0].log_probs, atol=1e-4)
        assert sum(seen) == sum(len(each.log_probs) for each in scored if each is not None)


class TestAttention:
    def test_tells_which_source_tokens_counted(self, translator):
        found = translator.translate(LINES, beam=3, nbest=2, attention=True)
        for line, best in zip(LINES, found, strict=True):
            for each in best:
                assert each.attention.source == line.split()
                assert each.attention.shares.shape == (len(each.tokens), len(line.split()))
                np.testing.assert_allclose(each.attention.shares.sum(1), 1, atol=1e-5)
        assert sum(len(each.tokens) for best in found for each in best) > 20
        texts = [[each.text for each in best] for best in found]
        assert texts == [[each.text for each in best] for best in translator.translate(LINES, beam=3, nbest=2)]

    def test_of_given_translations(self, translator):
        (scored,) = translator.score([("s3 s4 s5", "t3 t9")], attention=True)
        assert scored.attention.shares.shape == (2, 3)
        assert scored.scores()["alignment"] == scored.attention.alignment()
        (plain,) = translator.score([("s3 s4 s5", "t3 t9")])
        assert plain.attention is None

    def test_a_string_cannot_tell_it(self, translator):
        with pytest.raises(ValueError, match="attention: .* add nbest=1"):
            translator.translate(LINES, attention=True)


class TestReplaceUnknown:
    """The model is made to say <unk> often."""

    @pytest.fixture
    def unsure(self, run):
        translator = Translator(copy.deepcopy(run[1]))
        translator.model.head.softmax.bias[0] += 6
        return translator

    def test_by_the_source_token_that_counted_most(self, unsure):
        before, after = (
            unsure.translate(LINES, beam=2, nbest=2, attention=True, replace_unknown=replace)
            for replace in (False, True)
        )
        count = 0
        for ours, theirs in zip(before, after, strict=True):
            for one, two in zip(ours, theirs, strict=True):
                unknown = [place for place, token in enumerate(one.tokens) if token == "<unk>"]
                assert (one.replaced, two.replaced) == ((), tuple(unknown))
                looked_at = [two.attention.source[source] for source, _ in two.attention.alignment()]
                for place, (old, new) in enumerate(zip(one.tokens, two.tokens, strict=True)):
                    assert new == (looked_at[place] if place in unknown else old)
                assert two.text == " ".join(two.tokens)
                assert two.scores().get("replaced", ()) == tuple(unknown)
                count += len(unknown)
        assert count > 5

    def test_strings_and_translations_without_attention_have_it_too(self, unsure):
        texts = unsure.translate(LINES, replace_unknown=True)
        assert not any("<unk>" in text for text in texts)
        assert any("<unk>" in text for text in unsure.translate(LINES))
        found = unsure.translate(LINES, nbest=1, replace_unknown=True)
        assert [best[0].text if best else "" for best in found] == texts
        assert all(each.attention is None for best in found for each in best)

    def test_the_source_is_as_it_was_written(self, run):
        text = run[1].text.model_copy(update={"source_lowercase": True})
        translator = Translator(run[1]._replace(text=text))
        assert translator.source_surfaces("S3  Unknown s39") == ["S3", "Unknown", "s39"]
        assert translator.source_ids("S3 Unknown s39").tolist() == [3, 0, 39]
        (best,) = translator.translate(["S3 Unknown s39"], nbest=1, attention=True)
        assert best[0].attention.source == ["S3", "Unknown", "s39"]

    def test_in_lower_case_where_it_is_cut_otherwise(self, run, monkeypatch):
        text = run[1].text.model_copy(update={"source_lowercase": True})
        translator = Translator(run[1]._replace(text=text))
        monkeypatch.setattr(translator._surface_tokenizer, "tokenize", lambda line: list(line))
        assert translator.source_surfaces("S3 Unknown") == ["s3", "unknown"]


def test_names_are_imported_when_first_asked_for():
    assert (trellex.Translator, trellex.Translation) == (Translator, Translation)
    script = "import sys, trellex; assert 'trellex.translator' not in sys.modules; trellex.Translator"
    subprocess.run([sys.executable, "-c", script], check=True)
