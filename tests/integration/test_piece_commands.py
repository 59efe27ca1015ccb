"""From text to translations by pieces of words, through the command line."""

import json
import os
import shutil
from types import SimpleNamespace

import pytest
import yaml
from mutations import seal

import trellex as package
from trellex.text import Corpus, build_tokenizer
from trellex.text.tokenizers import build_detokenizer

WAYS = {"bpe": ("bpe", "bpe"), "unigram": ("unigram", "unigram"), "mixed": ("whitespace", "unigram")}


@pytest.fixture(scope="module", params=WAYS)
def made(request, tmp_path_factory, process, trellex, prepare_options, phrasebook):
    """A corpus, a run of few steps and an export, each made by its command."""
    work = tmp_path_factory.mktemp(request.param)
    source, target = WAYS[request.param]
    sizes = {"source_vocab_size": 400, "target_vocab_size": 800}
    options = prepare_options(source_tokenizer=source, target_tokenizer=target, bleu_tokenizer="whitespace", **sizes)
    prepared = process("prepare", work / "data", *options, "--json")
    assert prepared.exit_code == 0, prepared.stderr
    recipe = {
        "data": str(work / "data"),
        "output": str(work / "run"),
        "head": "hybrid-64-ec",
        "model": {"embedding_size": 32, "hidden_size": 32, "dropout": 0.1},
        "training": {"max_steps": 60, "validate_every": 30, "save_every": 30, "batch_sentences": 32, "threads": 1}
        | {"learning_rate": 0.02, "device": "cpu", "average": 2},
    }
    (work / "recipe.yaml").write_text(yaml.safe_dump(recipe))
    trained = trellex("train", work / "recipe.yaml", "--json")
    assert trained.exit_code == 0, trained.stderr
    exported = trellex("export", work / "run", work / "int8")
    assert exported.exit_code == 0, exported.stderr
    names = [f"pieces.{side}.model" for side, way in (("source", source), ("target", target)) if way != "whitespace"]
    facts = {"prepared": prepared, "trained": trained, "names": names, "text": phrasebook / "test.en"}
    return SimpleNamespace(data=work / "data", run=work / "run", int8=work / "int8", target=target, **facts)


def test_piece_models_travel(made):
    for name in made.names:
        models = [folder / name for folder in (made.data, made.int8, *made.run.glob("step-*"), made.run / "average")]
        assert len(models) >= 4
        assert len({model.read_bytes() for model in models}) == 1


def test_progress_and_noise_stay_off_pipes(made):
    assert made.prepared.stderr.replace("\n", " ").count("warning:") == made.prepared.stderr.count("\n")
    facts = json.loads(made.prepared.stdout)
    assert facts["target"]["tokenizer"] == made.target
    assert facts["target words"] <= 800
    assert facts["splits"]["dev"]["target"]["unknown_rate"] < 0.1


@pytest.mark.parametrize("which", ["run", "int8"])
def test_translations_are_joined(made, trellex, which):
    model = getattr(made, which)
    result = trellex("translate", model, made.text, "--beam", 3, "--nbest", 2)
    assert result.exit_code == 0, result.stderr
    join = build_detokenizer(made.target, "ja").detokenize
    for line in map(json.loads, result.stdout.splitlines()):
        for each in line["nbest"]:
            tokens = [token for token in each["tokens"] if token != "</s>"]
            assert each["translation"] == join(tokens)
            assert "▁" not in each["translation"]


def test_validation_is_that_of_words(made, trellex, phrasebook, tmp_path):
    """BLEU that training told of its best checkpoint is that of its text, cut as the references are."""
    told = json.loads(made.trained.stdout)
    best = json.loads((made.run / "best.json").read_text())
    step = made.run / f"step-{best['step']:09d}"
    result = trellex("translate", step, phrasebook / "dev.en", "--output", tmp_path / "dev.ja")
    assert result.exit_code == 0, result.stderr
    result = trellex(
        *("evaluate", tmp_path / "dev.ja", phrasebook / "dev.ja", "--language", "ja"),
        *("--tokenizer", "whitespace", "--resamples", 0, "--json"),
    )
    found = json.loads(result.stdout)["token BLEU"]
    expected = next(value for key, value in told.items() if "dev BLEU" in key and "average" not in key)
    assert found == pytest.approx(expected, abs=0.3)  # where a piece is unknown, `translate` writes <unk>


def test_bleu_with_a_shortlist_is_that_of_words(made, trellex, tmp_path, monkeypatch):
    """Of a model that writes the pieces of the references."""
    corpus = Corpus.open(made.data)
    pieces = [corpus.target_vocabulary.tokens(corpus.split("dev").target(row)) for row in range(40)]
    found = [[SimpleNamespace(tokens=tokens)] for tokens in pieces]
    options = ("--head", "softmax", "--max-steps", 1, "--set", f"output={tmp_path / 'run'}")
    assert trellex("train", made.data.parent / "recipe.yaml", *options).exit_code == 0
    monkeypatch.setattr("trellex.translator.Translator.search", lambda *_, **__: found)
    result = trellex("shortlist", made.data, "--output", tmp_path / "words", "--model", tmp_path / "run", "--json")
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    assert min(told["dev token BLEU"], told["dev token BLEU, from lists"]) > 80  # but for unknown pieces


def test_scores_and_explanations_show_pieces(made, trellex, phrasebook):
    result = trellex("score", made.int8, phrasebook / "test.en", phrasebook / "test.ja", "--json")
    assert result.exit_code == 0, result.output
    translator = package.load(made.int8)
    line = made.text.read_text(encoding="utf-8").splitlines()[0]
    found = json.loads(trellex("explain", made.int8, line, "--json").stdout)
    assert found["source"] == translator.source_tokenizer.tokenize(line)
    assert len(found["words"][0]["attention"]) == len(found["source"])
    (best,) = translator.translate([line], nbest=1, attention=True)[0]
    assert best.attention.source == found["source"]


def test_unknown_pieces_are_replaced_without_marks(made):
    translator = package.load(made.int8)
    for (best,) in translator.translate(
        ["where is the Ωμέγα ?"] * 3, nbest=1, replace_unknown=True, sample=True, seed=1
    ):
        assert all(not best.tokens[place].startswith("▁") or best.tokens[place] == "▁" for place in best.replaced)


@pytest.mark.parametrize("damage", ["changed", "missing"])
@pytest.mark.parametrize("which", ["run", "int8"])
def test_a_damaged_piece_model_is_named(made, trellex, tmp_path, which, damage):
    folder = made.int8 if which == "int8" else max(made.run.glob("step-*"))
    copy = shutil.copytree(folder, tmp_path / folder.name)
    path = copy / made.names[-1]
    data = path.read_bytes()
    if damage == "changed":
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    else:
        path.unlink()
    for options in [[], ["--no-verify"]]:  # sums of piece models are always compared
        result = trellex("translate", copy, made.text, *options)
        assert result.exit_code == 1
        assert path.name in result.stderr
        assert "export the model again" in result.stderr or "use another checkpoint" in result.stderr


def test_without_sentencepiece(made, process, prepare_options, tmp_path):
    """Only what must cut text into pieces needs it: a target of pieces is joined without."""
    (tmp_path / "sentencepiece.py").write_text("raise ImportError('not here', name='sentencepiece')\n")
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    without = {"env": os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "COLUMNS": "200"}}
    result = process("translate", made.int8, made.text, **without)
    if len(made.names) == 1:
        assert result.exit_code == 0, result.stderr
        assert result.stdout == process("translate", made.int8, made.text).stdout
    else:
        assert result.exit_code == 1
        assert "pip install 'trellex[pieces]'" in result.stderr.replace("\n", " ")
    options = prepare_options(source_tokenizer="bpe")
    result = process("prepare", tmp_path / "data", *options, **without)
    assert result.exit_code == 1
    assert "source_tokenizer: pieces of words need the package sentencepiece: pip install 'trellex[pieces]'" in (
        result.stderr.replace("\n", " ")
    )


def test_pieces_of_another_corpus_are_not_trained_on(made, trellex, tmp_path):
    """Ids would mean other pieces."""
    copy = shutil.copytree(made.data, tmp_path / "data")
    with (copy / made.names[0]).open("ab") as file:
        file.write(b"\x9a\x06\x00")  # a field that nobody knows
    seal(copy, "manifest.json")
    result = trellex("train", made.run.with_name("recipe.yaml"), "--set", f"data={copy}")
    assert result.exit_code == 1
    assert f"{made.names[0]}: differs from" in result.stderr


def test_evaluate_knows_words_alone(trellex, phrasebook):
    result = trellex("evaluate", phrasebook / "dev.ja", phrasebook / "dev.ja", "--language", "ja", "--tokenizer", "bpe")
    assert result.exit_code == 1
    assert "tokenizer: token BLEU is of words" in result.stderr


def test_cut(made):
    """What a model reads are the pieces that its corpus was cut into."""
    translator = package.load(made.int8)
    assert translator.source_tokenizer.tokenize("where is") != []
    if made.names[0].startswith("pieces.source"):
        assert translator.source_tokenizer.tokenize("where is")[0].startswith("▁")
    else:
        assert translator.source_tokenizer.tokenize("where is") == build_tokenizer("whitespace").tokenize("where is")
