"""Unknown source words read by their codes: in torch and exported alike, by all that translate."""

import json
from itertools import chain

import numpy as np
import pytest
import torch
from mutations import seal

import trellex
from trellex.bulk.job import Job, Settings
from trellex.codes import RandomCode
from trellex.explanation import explain
from trellex.heads import HeadSpec
from trellex.loaded import LoadedModel
from trellex.nmt.build import build_model
from trellex.nmt.recorded_greedy import RecordedGreedy
from trellex.nmt.settings import ModelSettings
from trellex.nmt.word_codes import WordCodes
from trellex.runtime.export import export
from trellex.runtime.folder import MANIFEST
from trellex.runtime.model import load_export
from trellex.search import greedy
from trellex.serve.languages import known_percent
from trellex.shortlist.shortlist import Shortlist
from trellex.text.manifest import TextSettings
from trellex.text.vocabulary import MARKERS, UNK, Vocabulary
from trellex.translator import Translator

TEXT = TextSettings(
    source_language="en", target_language="en", source_tokenizer="whitespace", target_tokenizer="whitespace"
)
WORDS = [form.format(stem) for stem in ("walk", "talk", "jump", "cook", "paint") for form in ("{}", "{}s", "{}ed")]
LINES = ["walk walker talks", "ΩΨ painting", "jumping cooking cooks", "paint", "", "talkative ΩΨ walked jump"]
KNOWN = {"walk", "talks", "cooks", "paint", "walked", "jump"}
CLUSTERS = {"type": "composed", "code": "clusters", "memory": 2, "residual": 3, "frequent": 6}
TIED = {"type": "softmax", "tied": True}
SIZE = len(MARKERS) + len(WORDS)


def loaded(head="binary-ec", embeddings=CLUSTERS):
    """A model of random weights whose source words are those above."""
    torch.manual_seed(0)
    settings = ModelSettings(embedding_size=8, hidden_size=16, embeddings=embeddings)
    words = Vocabulary([*MARKERS, *WORDS], np.arange(SIZE, 0, -1))
    targets = Vocabulary([*MARKERS, *(f"t{place}" for place in range(37))], np.arange(40, 0, -1))
    codes = WordCodes(RandomCode(SIZE, 1), RandomCode(40, 2))
    model = build_model(settings, head, SIZE, targets, word_codes=codes).eval().requires_grad_(False)
    for parameter in model.parameters():
        parameter.normal_(0, 0.7)
    return LoadedModel(model, TEXT, words, targets, HeadSpec.parse(head))


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Makes the folder of an export."""

    def exported(precision, **options):
        folder = tmp_path_factory.mktemp("unknown") / precision
        export(loaded(**options), folder, precision)
        return folder

    return exported


def vectors(model, ids):
    """Of source words, in torch."""
    return model.network.source_embedding(torch.from_numpy(ids)).numpy()


class TestTorch:
    def test_an_unknown_word_has_the_windows_of_its_number_and_nothing_else(self):
        model = loaded().model
        code, ids = model.source_code, np.arange(SIZE)
        known, read = vectors(model, ids), vectors(model, SIZE + code.numbers(ids))
        parts = model.network.source_embedding.parts()
        beside = parts["residual"] @ parts["project"].T
        beside[:6] += parts["own"]
        np.testing.assert_allclose(known - read, beside.numpy(), atol=1e-5)
        both = vectors(model, np.array([[3, SIZE + 2], [SIZE + 31, 4]]))
        np.testing.assert_allclose(both[[0, 1], [0, 1]], known[[3, 4]], atol=1e-5)
        np.testing.assert_allclose(both[0, 1], read[code.words(np.array(2))], atol=1e-5)

    def test_training_knows_known_words_alone(self):
        model = loaded().model.train()
        words = torch.arange(SIZE)
        assert torch.equal(model.network.source_embedding(words), model.eval().network.source_embedding(words))

    def test_words_become_codes_where_that_is_asked_for(self):
        translator, symbols = Translator(loaded(), spell_unknown=True), Translator(loaded())
        assert (translator.spells_unknown, symbols.spells_unknown) == (True, False)
        for line in LINES:
            ids, tokens = translator.source_ids(line), line.split()
            assert translator.are_unknown(ids).tolist() == [token not in KNOWN for token in tokens]
            assert [number == UNK for number in ids] == [token == "ΩΨ" for token in tokens]
            assert symbols.source_ids(line).tolist() == translator.source_vocabulary.ids(tokens).tolist()
        assert translator.translate(LINES) != symbols.translate(LINES)
        assert translator.translate(LINES[3:5]) == symbols.translate(LINES[3:5])

    @pytest.mark.parametrize("embeddings", [{"type": "table"}, {**CLUSTERS, "code": "random"}], ids=["table", "random"])
    def test_other_vectors_keep_the_symbol(self, embeddings):
        model = loaded(embeddings=embeddings)
        assert model.model.source_code is None
        found, symbols = Translator(model, spell_unknown=True), Translator(model)
        assert not found.spells_unknown
        assert [found.source_ids(line).tolist() for line in LINES] == [
            symbols.source_ids(line).tolist() for line in LINES
        ]


class TestExports:
    @pytest.mark.parametrize("head", ["binary-ec", TIED], ids=str)
    @pytest.mark.parametrize("beam", [1, 3])
    def test_torch_and_fp32_say_the_same(self, exported, head, beam):
        ours = Translator(loaded(head), spell_unknown=True)
        theirs = trellex.load(exported("fp32", head=head), spell_unknown=True)
        mine, other = (each.translate(LINES, beam=beam, nbest=1) for each in (ours, theirs))
        assert [[one.text for one in best] for best in mine] == [[one.text for one in best] for best in other]
        for one, two in zip(chain(*mine), chain(*other), strict=True):
            np.testing.assert_allclose(two.log_probs, one.log_probs, atol=1e-4)

    @pytest.mark.parametrize("precision", ["fp32", "int8", "compact"])
    def test_vectors_are_near_those_of_torch(self, exported, precision):
        ours, theirs = loaded().model, load_export(exported(precision)).model
        assert theirs.source_code == ours.source_code
        ids = np.arange(SIZE + (1 << ours.source_code.num_bits)).reshape(2, -1)
        mine, other = vectors(ours, ids), theirs.network.source_vectors(ids)
        scale = 1 if precision == "fp32" else np.abs(vectors(ours, np.arange(SIZE))).max(0)
        np.testing.assert_allclose(other * scale, mine, atol={"fp32": 1e-5, "int8": 2e-2, "compact": 6e-2}[precision])

    @pytest.mark.parametrize("precision", ["int8", "compact"])
    def test_others_translate_with_codes_and_without(self, exported, precision):
        folder = exported(precision)
        found, symbols = trellex.load(folder, spell_unknown=True), trellex.load(folder)
        assert (found.source_ids(LINES[2]) >= SIZE).tolist() == [True, True, False]
        assert (symbols.source_ids(LINES[2]) == UNK).tolist() == [True, True, False]
        assert [bool(text) for text in found.translate(LINES)] == [True, True, True, True, False, True]

    @pytest.mark.parametrize("precision", ["fp32", "int8", "compact"])
    def test_tables_of_words_have_no_more_files(self, exported, precision):
        folder = exported(precision, embeddings={"type": "table"})
        assert not list(folder.glob("*windows*")) + list(folder.glob("code.source.json"))
        assert load_export(folder).model.source_code is None

    def test_an_older_export_keeps_the_symbol(self, exported):
        folder = exported("fp32")
        expected = trellex.load(folder).translate(LINES)
        manifest = json.loads((folder / MANIFEST).read_text())
        for name in ("source.windows.npy", "code.source.json"):
            (folder / name).unlink()
            del manifest["files"][name]
        (folder / MANIFEST).write_text(json.dumps(manifest))
        seal(folder, MANIFEST)
        assert trellex.load(folder, spell_unknown=True).translate(LINES) == expected

    @pytest.mark.parametrize("damage", ["code", "windows"])
    def test_what_does_not_fit_is_named(self, exported, damage):
        folder = exported("int8")
        if damage == "code":
            RandomCode(SIZE + 1).save(folder / "code.source.json")
        else:
            np.save(folder / "source.windows.npy", np.zeros((3, 8), np.float32))
        seal(folder, MANIFEST)
        with pytest.raises(ValueError, match=f"{damage}.*; export the model again"):
            load_export(folder)


class TestOthers:
    @pytest.mark.parametrize("kind", ["torch", "export"])
    def test_scores_attention_and_explanations(self, exported, kind):
        translator = (
            Translator(loaded(), spell_unknown=True)
            if kind == "torch"
            else trellex.load(exported("fp32"), spell_unknown=True)
        )
        (best,) = translator.translate(LINES[:1], nbest=1)[0]
        (scored,) = translator.score([(LINES[0], best.text)])
        np.testing.assert_allclose(scored.log_probs[: len(best.log_probs)], best.log_probs, atol=1e-4)
        explained = explain(translator, LINES[5])
        assert (explained.source, explained.unknown) == (LINES[5].split(), [0, 1])
        seen = translator.translate(LINES[:1], nbest=1, attention=True, replace_unknown=True)[0][0]
        assert seen.attention.source == LINES[0].split()
        assert "<unk>" not in seen.tokens

    def test_greedy_search_of_a_gpu_reads_them(self):
        model = loaded()
        sources = [Translator(model, spell_unknown=True).source_ids(line) for line in LINES if line]
        expected = [best.words for best in greedy(model.model, sources)]
        network, head = model.model.network, model.model.head
        found = RecordedGreedy(network, head, is_recorded=False)(sources, [len(words) + 1 for words in expected])
        assert [words[: len(one)] for words, one in zip(found, expected, strict=True)] == expected

    def test_shards_are_told_how_to_read_them(self, exported):
        folder = exported("fp32")
        for spelt in (False, True):
            settings = Settings(spell_unknown=spelt)
            translator = Job(model=folder, texts=folder, output=folder, settings=settings).load()
            assert bool(translator.source_ids("walker")[0] == UNK) is not spelt

    def test_languages_are_told_by_known_words(self):
        assert known_percent(Translator(loaded(), spell_unknown=True), LINES[5]) == 50

    def test_shortlists_take_them_as_unknown(self):
        model = loaded(TIED)
        ends = np.arange(1, SIZE + 2)
        shortlist = Shortlist.of(model.source_vocabulary, model.target_vocabulary, ends, ends % 40)
        found = shortlist.words_for(np.array([4, SIZE, SIZE + 9]))
        assert found.tolist() == shortlist.words_for(np.array([4, UNK, UNK])).tolist()
        assert len(Translator(model, shortlist, spell_unknown=True).translate(LINES)) == len(LINES)
