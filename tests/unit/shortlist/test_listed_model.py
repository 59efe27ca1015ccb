"""Translations from lists, in torch and in the runtime: the same as without where a list has all words."""

import json

import numpy as np
import pytest

import trellex
from trellex.explanation import explain
from trellex.runtime.export import export
from trellex.runtime.model import load_export
from trellex.search import beam, greedy, sample, score
from trellex.shortlist.model import ListedModel
from trellex.shortlist.shortlist import Shortlist
from trellex.text.vocabulary import EOS
from trellex.translator import Translator

TIED = {"type": "softmax", "tied": True}
HEADS = pytest.mark.parametrize("head", ["softmax", TIED], ids=["plain", "tied"])
SIZE = {"target_size": 300, "hidden_size": 80}  # more than a line of bytes
LINES = ["s3 s4 s5", "", "s9 unknown s39", "s12", "s4 " * 12]


@pytest.fixture(scope="module")
def every(both):
    """The same model in torch and exported, ready for lists, by name."""

    def every(head, precisions=("fp32",)):
        ours = both(head, **SIZE)[0]
        exported = {each: load_export(both(head, each, **SIZE)[2], by_rows=True) for each in precisions}
        return {"torch": ours} | exported

    return every


def log_probs_of(model, sources, k):
    return model.topk(model.start(sources), k)


@HEADS
def test_a_list_of_all_words_changes_nothing(every, both, shortlist_for, sources, head):
    plain = {"torch": both(head, **SIZE)[0].model, "fp32": both(head, **SIZE)[1].model}
    for name, loaded in every(head).items():
        listed, whole = ListedModel(loaded, shortlist_for(loaded, None)), plain[name]
        with whole.inference():
            for ways in ((greedy,), (greedy, False), (beam, 4, 3)):
                search, *options = ways
                ours, theirs = (search(model, sources, *options) for model in (listed, whole))
                for found, expected in zip(ours, theirs, strict=True):
                    pairs = [(found, expected)] if search is greedy else zip(found, expected, strict=True)
                    for mine, other in pairs:
                        assert mine.words == other.words
                        np.testing.assert_allclose(mine.log_probs, other.log_probs, atol=1e-4)
            words, log_probs = log_probs_of(listed, sources, 302)
            expected_words, expected = log_probs_of(whole, sources, 302)
            np.testing.assert_allclose(log_probs, expected, atol=1e-4)
            assert (words != expected_words).mean() < 0.02  # but neighbours
            given = [np.array([7, 299, 0]) for _ in sources]
            scores = [[each.log_prob for each in score(model, sources, given)] for model in (listed, whole)]
            np.testing.assert_allclose(*scores, atol=1e-3)


@HEADS
def test_probabilities_are_those_given_the_list(every, shortlist_for, sources, head):
    """By hand: the logits of the whole softmax, those of listed words alone normalised."""
    for loaded in every(head).values():
        listed = ListedModel(loaded, shortlist_for(loaded))
        with listed.inference():
            state = listed.start(sources)
            order, found = loaded.model.topk(state.inner, 300)
            words, log_probs = listed.topk(state, 400)
            whole = np.full(found.shape, -np.inf)
            np.put_along_axis(whole, order, found.astype(np.float64), 1)
            for row, source in enumerate(sources):
                chosen = listed.shortlist.words_for(source)
                own = whole[row, chosen] - np.logaddexp.reduce(whole[row, chosen])
                best = np.argsort(-own)
                assert words[row, : len(chosen)].tolist() == chosen[best].tolist()
                assert (words[row, len(chosen) :] == -1).all()
                np.testing.assert_allclose(log_probs[row, : len(chosen)], own[best], atol=1e-4)
                assert np.isneginf(log_probs[row, len(chosen) :]).all()
            assert np.array_equal(listed.best(state), words[:, 0])
            np.testing.assert_allclose(listed.log_prob(state, words[:, 1]), log_probs[:, 1], atol=1e-6)
            outside = np.array([np.setdiff1d(np.arange(300), row)[0] for row in words])
            assert np.isneginf(listed.log_prob(state, outside)).all()


@HEADS
@pytest.mark.parametrize("each", [0, 1, 6])
def test_no_other_words_are_produced(every, shortlist_for, sources, head, each):
    for loaded in every(head, ("fp32", "int8")).values():
        listed = ListedModel(loaded, shortlist_for(loaded, each))
        with listed.inference():
            hypotheses = beam(listed, sources, 20, 20)  # wider than the shortest list
            found = [*hypotheses, *([best] for best in greedy(listed, sources, scores=False))]
            found += sample(listed, sources, 3, 2.0, seed=0)
        assert all(found)
        for of_sentence, source in zip(found, list(sources) * 3, strict=True):
            words = set(listed.shortlist.words_for(source).tolist())
            assert EOS in words
            assert all(set(hypothesis.words) <= words for hypothesis in of_sentence)
            assert all(np.isfinite(hypothesis.log_prob) or np.isnan(hypothesis.log_prob) for hypothesis in of_sentence)
        assert any(hypothesis.is_finished for of_sentence in found for hypothesis in of_sentence)


@HEADS
def test_a_batch_does_not_matter(every, shortlist_for, sources, head):
    for loaded in every(head).values():
        listed = ListedModel(loaded, shortlist_for(loaded, 6))
        with listed.inference():
            together = beam(listed, sources, 3, 3), greedy(listed, sources, scores=False)
            for row, source in enumerate(sources):
                alone = beam(listed, [source], 3, 3)[0]
                assert [each.words for each in alone] == [each.words for each in together[0][row]]
                scores = ([each.score for each in some] for some in (alone, together[0][row]))
                np.testing.assert_allclose(*scores, atol=1e-5)
                assert greedy(listed, [source], scores=False)[0].words == together[1][row].words


@pytest.mark.parametrize("precision", ["torch", "fp32", "int8"])
def test_the_output_layer_gives_the_same_bits_in_any_batch(every, shortlist_for, sources, precision):
    loaded = every("softmax", ("fp32", "int8"))[precision]
    listed = ListedModel(loaded, shortlist_for(loaded, 6))
    with listed.inference():
        state = listed.start(sources)
        words, log_probs = listed.topk(state, 5)
        for row in range(len(sources)):
            alone = state.select(np.array([row]))
            assert np.array_equal(listed.topk(alone, 5)[0][0], words[row])
            assert np.array_equal(listed.topk(alone, 5)[1][0], log_probs[row])
            assert listed.best(alone) == listed.best(state)[row]


@HEADS
def test_the_runtime_says_what_torch_says(every, shortlist_for, sources, head):
    ours, theirs = (ListedModel(loaded, shortlist_for(loaded, 6)) for loaded in every(head).values())
    with ours.inference():
        for mine, other in zip(beam(ours, sources, 4, 2), beam(theirs, sources, 4, 2), strict=True):
            assert [each.words for each in mine] == [each.words for each in other]
            np.testing.assert_allclose([each.score for each in mine], [each.score for each in other], atol=1e-4)
        found = (greedy(model, sources, scores=False, attention=True) for model in (ours, theirs))
        for mine, other in zip(*found, strict=True):
            assert mine.words == other.words
            np.testing.assert_allclose(mine.attention, other.attention, atol=1e-4)


@HEADS
def test_rounded_weights_are_near(every, shortlist_for, sources, head):
    fp32, int8 = (every(head, ("fp32", "int8"))[name] for name in ("fp32", "int8"))
    listed = [ListedModel(loaded, shortlist_for(loaded, 6)) for loaded in (fp32, int8)]
    state = listed[0].start(sources)
    selections = (model.start(sources).selection for model in listed)
    exact, rounded = (each._logits(state.hidden) for each in selections)
    is_word = np.isfinite(exact)
    assert np.array_equal(is_word, np.isfinite(rounded))
    assert np.abs(exact[is_word] - rounded[is_word]).max() < 0.02 * np.abs(exact[is_word]).max()


def test_a_logit_that_is_none_is_an_error(every, shortlist_for, sources):
    for precision in ("fp32", "int8"):
        loaded = every("softmax", ("fp32", "int8"))[precision]
        listed = ListedModel(loaded, shortlist_for(loaded, 6))
        state = listed.start(sources)
        state.hidden[2, 5] = np.nan
        assert (listed.best(state) >= 0).tolist() == [True, True, False, True, True]
        assert (listed.topk(state, 3)[0][:, 0] >= 0).tolist() == [True, True, False, True, True]


@pytest.fixture(scope="module")
def lists(both, shortlist_for, tmp_path_factory):
    path = tmp_path_factory.mktemp("lists") / "words.shortlist"
    shortlist_for(both("softmax", **SIZE)[0], 6).save(path)
    return path


class TestTranslator:
    def test_takes_a_file_or_a_shortlist(self, both, shortlist_for, lists):
        loaded, _, folder = both("softmax", **SIZE)
        ours = Translator(loaded, shortlist_for(loaded, 6)).translate(LINES, beam=3)
        for given in (lists, str(lists), shortlist_for(loaded, 6)):
            translator = trellex.load(folder, shortlist=given)
            assert translator.translate(LINES, beam=3) == ours
            assert translator.translate(LINES, beam=3, batch_tokens=1) == ours
        assert ours != Translator(loaded).translate(LINES, beam=3)
        assert ours[1] == ""

    def test_has_log_probabilities_attention_and_samples(self, both, lists):
        translator = trellex.load(both("softmax", **SIZE)[2], shortlist=lists)
        ((best, _), *_) = translator.translate(LINES[:1], beam=2, nbest=2, attention=True)
        assert np.isfinite(best.log_probs).all()
        assert best.attention.shares.shape == (len(best.tokens), 3)
        drawn = translator.translate(LINES, sample=True, seed=3, replace_unknown=True)
        assert drawn == translator.translate(LINES, sample=True, seed=3, replace_unknown=True)

    def test_words_outside_have_no_probability(self, both, shortlist_for, lists):
        loaded, _, folder = both("softmax", **SIZE)
        words = shortlist_for(loaded, 6).words_for(loaded.source_vocabulary.ids(["s3"]))
        inside, outside = words[-1], np.setdiff1d(np.arange(3, 300), words)[0]
        scored = list(trellex.load(folder, shortlist=lists).score([("s3", f"t{inside}"), ("s3", f"t{outside}")]))
        assert np.isfinite(scored[0].log_probs).all()
        assert np.isneginf(scored[1].log_probs[0])

    @pytest.mark.parametrize("head", ["binary-ec", "hybrid-9", "differentiated", "adaptive", "hierarchical", "free"])
    def test_other_heads_are_refused(self, both, shortlist_for, head):
        loaded, _, folder = both(head)
        message = f"shortlist: it chooses rows of .*, which a softmax has and {head} has not; leave the shortlist out"
        with pytest.raises(ValueError, match=message):
            Translator(loaded, shortlist_for(loaded))
        with pytest.raises(ValueError, match=message):
            trellex.load(folder, shortlist=shortlist_for(loaded))

    def test_a_list_for_another_model_is_refused(self, both, lists):
        with pytest.raises(ValueError, match=f"{lists}: was learned from a corpus with other target words than"):
            trellex.load(both("softmax")[2], shortlist=lists)

    def test_exports_without_rows(self, both, lists, tmp_path):
        loaded, plain, _ = both("softmax", **SIZE)
        export(loaded, tmp_path / "compact", "compact")
        assert not (tmp_path / "compact" / "softmax.weight.npy").exists()
        assert len(trellex.load(tmp_path / "compact").translate(LINES)) == len(LINES)
        export(loaded, tmp_path / "older", "fp32")
        manifest = json.loads((tmp_path / "older" / "trellex.json").read_text())
        for name in ("softmax.weight.npy", "softmax.bias.npy"):
            (tmp_path / "older" / name).unlink()
            del manifest["files"][name]
        del manifest["checksum"]
        (tmp_path / "older" / "trellex.json").write_text(json.dumps(manifest))
        assert len(trellex.load(tmp_path / "older").translate(LINES)) == len(LINES)
        for name in ("compact", "older"):
            with pytest.raises(ValueError, match=f"{tmp_path / name}: has no weights for shortlists, .* int8 or fp32"):
                trellex.load(tmp_path / name, shortlist=lists)
        with pytest.raises(ValueError, match=r"must be loaded for it; use trellex.load\(…, shortlist=…\)"):
            Translator(plain, Shortlist.load(lists))

    def test_explanations_tell_of_all_words(self, both, lists):
        with pytest.raises(ValueError, match="translator: .*; load the model without a shortlist"):
            explain(trellex.load(both("softmax", **SIZE)[2], shortlist=lists), "s3")
