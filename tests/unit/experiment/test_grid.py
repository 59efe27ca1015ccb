"""A grid is checked before anything is trained, and its errors name the file or the key and the remedy."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import yaml
from rich.console import Console

from trellex.codes import FrequencyCode
from trellex.evaluation.result import Timing, WordSelection
from trellex.evaluation.size import Size
from trellex.experiment import grid as grid_module
from trellex.experiment.grid import Grid
from trellex.experiment.runner import Runner, to_be_timed
from trellex.experiment.status import JobStatus
from trellex.heads import coded_spec
from trellex.nmt.build import build_model
from trellex.nmt.word_codes import WordCodes
from trellex.text.manifest import PrepareSettings
from trellex.text.vocabulary import MARKERS, Vocabulary
from trellex.training import checkpoint
from trellex.training.display import Display
from trellex.training.recipe import load_recipe
from trellex.training.trainer import Trainer

GRIDS = sorted((Path(__file__).parents[3] / "recipes" / "grids").glob("*.yaml"))


class TestCells:
    def test_a_product_in_the_order_of_the_grid(self, write_grid, corpora, tmp_path):
        data = [str(corpora["en-ja"]), str(corpora["ja-en"])]
        heads = ["softmax", {"type": "binary-ec", "loss": "trellis", "decoding": "exact"}]
        jobs = Grid.load(write_grid({"data": data, "heads": heads, "seeds": [1, 2], "stands_for": "BTEC"})).jobs()
        assert [job.name for job in jobs] == [
            f"tiny-{direction}-{head}-seed-{seed}"
            for direction in ("en-ja", "ja-en")
            for head in ("softmax", "binary-ec-trellis")
            for seed in (1, 2)
        ]
        last = jobs[-1]
        assert (last.cell.corpus, last.cell.stands_for, last.cell.direction) == ("Tiny", "BTEC", "ja-en")
        assert (last.recipe.data, last.recipe.output) == (corpora["ja-en"], tmp_path / "runs" / last.name)
        assert last.recipe.head.model_dump() == last.cell.head.model_dump() == heads[1]
        assert (last.recipe.training.seed, last.recipe.training.max_steps) == (2, 4)
        assert last.result_file == tmp_path / "results" / f"{last.name}.json"

    def test_a_block_may_train_otherwise_than_its_recipe(self, write_grid):
        job = Grid.load(write_grid({"training": {"max_steps": 3, "decay_steps": 2}})).jobs()[0]
        settings = job.recipe.training
        assert (settings.max_steps, settings.decay_steps, settings.validate_every) == (3, 2, 2)

    def test_a_code_by_clusters_is_not_made_before_training(self, write_grid, monkeypatch):
        monkeypatch.setattr(coded_spec, "cluster_code", None)
        head = {"type": "binary-ec", "code": "clusters", "loss": "trellis"}
        (job,) = Grid.load(write_grid({"heads": [head]})).jobs()
        assert job.name == "tiny-en-ja-binary-ec-clusters-trellis-seed-1"
        assert job.recipe.head.model_dump() == head

    def test_word_vectors_may_be_composed(self, write_grid, corpora, tmp_path):
        """From codes that are made when training begins."""
        path = write_grid({})
        recipe = Path(Grid.load(path).grid[0].recipe)
        recipe.write_text(recipe.read_text().replace("model:", "model:\n  embeddings: {type: composed, residual: 2}"))
        assert all(job.recipe.model.embeddings.code == "clusters" for job in Grid.load(path).jobs())

    def test_two_cells_of_one_name(self, write_grid):
        path = write_grid({"heads": ["binary", {"type": "binary", "decoding": "exact"}]})
        with pytest.raises(
            ValueError,
            match=r"two cells are called tiny-en-ja-binary-exact-decoding-seed-1: binary on .* and \{.*\} on .*; give",
        ):
            Grid.load(path).jobs()

    def test_variants_of_the_model_have_names_of_their_own(self, write_grid, tmp_path):
        path = write_grid({"model": {"hidden_size": 4}, "variant": "4 units"})
        grid = yaml.safe_load(path.read_text())
        grid["grid"].append({key: value for key, value in grid["grid"][0].items() if key not in ("model", "variant")})
        path.write_text(yaml.safe_dump(grid))
        small, usual = Grid.load(path).jobs()
        assert (small.name, usual.name) == ("tiny-en-ja-softmax-4-units-seed-1", "tiny-en-ja-softmax-seed-1")
        assert small.cell.method == "softmax, 4 units"
        assert (small.recipe.model.hidden_size, usual.recipe.model.hidden_size) == (4, 8)
        assert small.recipe.model.embedding_size == 8

    def test_only_some(self, write_grid):
        grid = Grid.load(write_grid({"heads": ["softmax", "binary", "binary-ec"]}, at_once=8))
        names = [status.job.cell.head.type for status in Runner(grid, ["binary-ec", "softmax"]).statuses]
        assert names == ["softmax", "binary-ec"]
        assert {status.job.side_by_side for status in Runner(grid).statuses} == {3}
        assert {status.job.side_by_side for status in Runner(grid, at_once=2).statuses} == {2}
        with pytest.raises(ValueError, match=r"only: no cell's name has 'sofmax' in it; there are tiny-en-ja-softmax"):
            Runner(grid, ["sofmax"])

    @pytest.mark.parametrize("en_ja", [["noon", None, "noon"], ["noon", "one", "noon"]], ids=["not all", "apart"])
    def test_what_is_compared_is_timed_together(self, write_grid, corpora, result_of, tmp_path, en_ja):
        data = [str(corpora[name]) for name in ("en-ja", "ja-en")]
        grid = Grid.load(write_grid({"data": data, "heads": ["softmax", "binary", "binary-ec"]}))
        (tmp_path / "results").mkdir()
        timing = dict.fromkeys(("train_batch", "batch_sentences", "batch_tokens", "cpu_sentence", "sentences"), 1)
        timing |= dict.fromkeys(("gpu_sentence", "gpu")) | {"cpu": "a CPU", "int8": {"sentence": 1, "steps": 1}}
        begun = {"ja-en": ["noon", "noon", "noon"], "en-ja": en_ja}
        for job in grid.jobs():
            when = begun[job.cell.direction].pop(0)
            timed = Timing(**timing, begun=when) if when else None
            result_of(job).model_copy(update={"timing": timed}).save(job.result_file)
            if job.cell.head.type != "binary-ec":  # whose checkpoints were removed
                checkpoint.step_folder(job.run, 2).mkdir(parents=True)
                (job.run / "best.json").write_text('{"step": 2}')
        groups = to_be_timed(Runner(grid).statuses)
        assert [[status.job.name for status in group] for group in groups] == [
            ["tiny-en-ja-softmax-seed-1", "tiny-en-ja-binary-exact-decoding-seed-1"]
        ]

    @pytest.mark.parametrize(
        ("measured", "is_timed_again"),
        [((), True), (("int8",), True), (("int8", "listed"), False)],
        ids=["as older versions", "without lists", "all"],
    )
    def test_what_was_not_measured_is_timed_again(self, write_grid, result_of, tmp_path, measured, is_timed_again):
        [job] = Grid.load(write_grid({"shortlist": True})).jobs()
        timing = dict.fromkeys(("train_batch", "batch_sentences", "batch_tokens", "cpu_sentence", "sentences"), 1)
        timing |= {"gpu_sentence": None, "gpu": None, "cpu": "a CPU", "begun": "noon"}
        timing |= {name: {"sentence": 1, "steps": 1} for name in measured}
        changes = {"timing": Timing(**timing), "selection": WordSelection(scores={}, recall=1, list_words=9)}
        (tmp_path / "results").mkdir()
        result_of(job).model_copy(update=changes).save(job.result_file)
        checkpoint.step_folder(job.run, 2).mkdir(parents=True)
        (job.run / "best.json").write_text('{"step": 2}')
        assert bool(to_be_timed([JobStatus(job)])) == is_timed_again

    def test_what_the_grid_does_not_ask_for_need_not_be_timed(self, write_grid, result_of, tmp_path):
        timing = dict.fromkeys(("train_batch", "batch_sentences", "batch_tokens", "sentences"), 1)
        timing |= {"cpu": "a CPU", "begun": "noon"}
        (tmp_path / "results").mkdir()

        def is_timed_again(timed, **gpu):
            [job] = Grid.load(write_grid({}, timed=[timed])).jobs()
            result_of(job).model_copy(update={"timing": Timing(**timing, **gpu)}).save(job.result_file)
            checkpoint.step_folder(job.run, 2).mkdir(parents=True, exist_ok=True)
            (job.run / "best.json").write_text('{"step": 2}')
            return bool(to_be_timed([JobStatus(job)]))

        on_gpu = {"gpu": "a GPU", "gpu_sentence": 1}
        assert [is_timed_again(timed, **on_gpu) for timed in ("gpu", "cpu", "int8", "compact")] == [
            False,
            True,
            True,
            True,
        ]
        assert is_timed_again("gpu", gpu="a GPU", gpu_sentence=None)
        assert not is_timed_again("gpu", gpu=None, gpu_sentence=None)  # there is none

    def test_words_and_pieces_are_timed_together(self, write_grid, corpora, pieces, result_of, tmp_path):
        jobs = Grid.load(write_grid({"data": [str(corpora["en-ja"]), str(pieces)]})).jobs()
        (tmp_path / "results").mkdir()
        for job in jobs:
            result_of(job).save(job.result_file)
            checkpoint.step_folder(job.run, 2).mkdir(parents=True)
            (job.run / "best.json").write_text('{"step": 2}')
        [group] = to_be_timed([JobStatus(job) for job in jobs])
        assert [status.job.cell.cut for status in group] == [None, "whitespace to bpe 24"]

    def test_a_missing_tokenizer_is_found_out_before_any_training(self, write_grid, pieces, monkeypatch, tmp_path):
        """And by the training of a recipe likewise."""

        def missing(self):
            raise ImportError("tokenizer 'mecab' needs the package fugashi")

        monkeypatch.setattr(PrepareSettings, "word_tokenizer", missing)
        runner = Runner(Grid.load(write_grid({"data": [str(pieces)]})))
        with pytest.raises(ImportError, match="needs the package fugashi"):
            runner.run(False, Console())
        assert not (tmp_path / "runs").exists()
        with pytest.raises(ImportError, match="needs the package fugashi"):
            Trainer(runner.statuses[0].job.recipe, Display("a training", quiet=True)).run()

    def test_shortlists_are_for_softmax_alone(self, write_grid):
        heads = ["softmax", "binary-ec", {"type": "softmax", "tied": True}, "shelves"]
        jobs = Grid.load(write_grid({"heads": heads, "shortlist": True})).jobs()
        assert [job.shortlist for job in jobs] == [True, False, True, False]
        assert not any(job.shortlist for job in Grid.load(write_grid({"heads": heads})).jobs())


def test_what_this_machine_cannot_train_is_found_before_anything_is_begun(write_grid, tmp_path):
    runner = Runner(Grid.load(write_grid(training={"precision": "bfloat16"})))
    assert [status.state for status in runner.statuses] == ["waiting"]  # they can be listed
    with pytest.raises(ValueError, match=r"training.precision: bfloat16 is for GPUs; use float32"):
        runner.run(timing=False, console=Console())
    assert not (tmp_path / "runs").exists()


class TestErrors:
    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"at_onec": 3}, r"grid.yaml: at_onec: unknown key; did you mean 'at_once'\?"),
            ({"at_once": 0}, r"grid.yaml: at_once: .*greater than or equal to 1"),
            ({"grid": []}, r"grid.yaml: grid: .*at least 1 item"),
            ({"grid": [None]}, r"grid.yaml: grid.0: .*valid dictionary"),
            ({"grid": 0}, r"grid.yaml: grid: .*valid list"),
            ({"block": {"training": 0}}, r"grid.yaml: grid.0.training: .*valid dictionary"),
            ({"block": {"training": []}}, r"grid.yaml: grid.0.training: .*valid dictionary"),
            ({"block": {"heads": [None]}}, r"grid.yaml: grid.0.heads.0: .*expected a name or a mapping"),
            ({"block": {"head": ["softmax"]}}, r"grid.yaml: grid.0.head: unknown key; did you mean 'heads'\?"),
            ({"block": {"heads": []}}, r"grid.yaml: grid.0.heads: .*at least 1 item"),
            ({"block": {"shortlist": 1}}, r"grid.yaml: grid.0.shortlist: .*valid boolean"),
            ({"block": {"seeds": [-1]}}, r"grid.yaml: grid.0.seeds.0: .*greater than or equal to 0"),
        ],
    )
    def test_keys(self, write_grid, changed, message):
        with pytest.raises(ValueError, match=message):
            Grid.load(write_grid(**changed))

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"block": {"recipe": "none.yaml"}}, r"none.yaml: there is no such recipe"),
            ({"block": {"data": ["nowhere"]}}, r"nowhere.*trellex prepare"),
            ({"block": {"heads": ["softmax", "sofmax"]}}, r"grid.0.heads.1: type: expected softmax.*got 'sofmax'"),
            ({"block": {"heads": ["hybrid-9999"]}}, r"grid.0.heads.0: type: N = 9999 does not fit a vocabulary"),
            ({"block": {"heads": [{"type": "binary", "los": "x"}]}}, r"grid.0.heads.0: los: .*did you mean 'loss'"),
            (
                {"block": {"training": {"max_step": 9}}},
                r"grid.0.training: max_step: unknown .*did you mean 'max_steps'",
            ),
            (
                {"block": {"model": {"hiden_size": 9}}},
                r"grid.0.model: hiden_size: unknown .*did you mean 'hidden_size'",
            ),
            (
                {
                    "block": {
                        "heads": [{"type": "binary-ec", "loss": "trellis"}, "softmax"],
                        "training": {"renumber_every": 2},
                    }
                },
                r"grid.0.heads.1: training.renumber_every: words of softmax have no numbers",
            ),
            ({"block": {"heads": ["binary"], "shortlist": True}}, r"grid.0.shortlist: lists are for softmax.*leave it"),
            ({"block": {"training": {"max_steps": 0}}}, r"grid.0.training: max_steps: .*greater than or equal to 1"),
            ({"training": {"validate_every": 9}}, r"recipe.yaml: training.validate_every: is more than max_steps"),
        ],
    )
    def test_what_could_not_be_trained(self, write_grid, changed, message):
        with pytest.raises((ValueError, FileNotFoundError), match=message):
            Grid.load(write_grid(**changed)).jobs()

    def test_no_test_split(self, write_grid, corpora):
        with pytest.raises(ValueError, match=r"no-test: has no test split to score; prepare it with --test-source"):
            Grid.load(write_grid({"data": [str(corpora["no-test"])]})).jobs()

    def test_no_such_grid(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"grid.yaml: there is no such grid"):
            Grid.load(tmp_path / "grid.yaml")


@pytest.mark.parametrize("path", GRIDS, ids=lambda path: path.stem)
def test_shipped_grids(path):
    grid = Grid.load(path)
    for block in grid.grid:
        load_recipe(path.parents[2] / block.recipe)
    keys = re.findall(r"^[ -]*(\w+):.*$", path.read_text(encoding="utf-8"), re.MULTILINE)
    for key in set(keys):  # each is explained where it first stands
        assert re.search(rf"^[ -]*{key}:(.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)[1].count("#") == 1, key


@pytest.mark.parametrize("path", GRIDS, ids=lambda path: path.stem)
def test_shipped_grids_where_their_folders_exist(path, monkeypatch):
    """All cells can be trained, and have names of their own."""
    vocabulary = Vocabulary([*MARKERS, *map(str, range(2500))], [9] * 2503)

    def open_corpus(folder):
        source, target = (folder.stem if "-" in folder.stem else "en-ja").split("-")  # that of the phrasebook is data
        text = {"source_language": source, "target_language": target, "splits": lambda: ("train", "dev", "test")}
        settings = SimpleNamespace(**text, cut=lambda: folder.suffix.removeprefix(".") or None)
        manifest = SimpleNamespace(settings=settings, fingerprint=lambda: folder.name)
        return SimpleNamespace(manifest=manifest, source_vocabulary=vocabulary, target_vocabulary=vocabulary)

    monkeypatch.chdir(path.parents[2])
    monkeypatch.setattr(grid_module.Corpus, "open", open_corpus)
    grid = Grid.load(path)
    jobs = grid.jobs()
    assert len(jobs) == sum(len(block.data) * len(block.heads) * len(block.seeds) for block in grid.grid)
    if path.stem == "rivals":
        listed = [job.cell.method for job in jobs if job.shortlist and job.cell.corpus == "KFTT"]
        smoothed = "softmax (label smoothing 0.1, tied)"
        assert listed == ["softmax", "softmax (tied)", smoothed, "softmax, bpe", "softmax, unigram"]


def test_compact_models_are_as_small_as_their_grid_tells(monkeypatch):
    """Less than a quarter and less than a tenth of the parameters of a softmax model."""
    path = next(path for path in GRIDS if path.stem == "compact")
    monkeypatch.chdir(path.parents[2])
    found = {}
    for block in Grid.load(path).grid:
        sizes = {"KFTT": (65_536, 65_536), "Tatoeba": (17_789, 24_103)}[block.corpus]
        settings = block.load_recipe().model
        word_codes = WordCodes.stand_in(*sizes) if settings.embeddings.is_composed else None
        for head in block.heads:
            code = FrequencyCode(sizes[1]) if head.type == "shelves" else None
            with torch.device("meta"):  # shapes without numbers
                size = Size.of(build_model(settings, head, *sizes, code, word_codes=word_codes))
            found[block.corpus, head.type, block.variant] = size.all_parameters
    for corpus in ("KFTT", "Tatoeba"):
        softmax = found[corpus, "softmax", None]
        assert 1 / 5 < found[corpus, "shelves", "a quarter"] / softmax < 1 / 4
        assert 1 / 12 < found[corpus, "shelves", "a tenth"] / softmax < 1 / 10
