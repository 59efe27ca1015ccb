"""A checkpoint that was changed is refused, in words, or does what it did; a run's other files may hold anything."""

import json
import shutil
import struct
from types import SimpleNamespace

import documents
import pytest
import torch
from mutations import Mutation
from safetensors.torch import load_file, save_file

from trellex.nmt.word_codes import WORD_CODES
from trellex.text.manifest import PIECE_MODELS
from trellex.training import checkpoint
from trellex.training.average import Average, make_average
from trellex.training.display import Display
from trellex.training.loading import load_checkpoint
from trellex.training.metrics import Metrics
from trellex.training.recipe import Recipe
from trellex.training.trainer import Trainer

HEAD = {"type": "hybrid-4-ec", "code": "random", "seed": 3}
FILES = [name for name in checkpoint.FILES if name not in (*PIECE_MODELS, *WORD_CODES)]  # of words and their table
REFUSAL = (ValueError, OSError)
NAMES = (  # of values that stand in place of others
    *("null", "empty text", "empty list", "empty mapping", "minus one", "beyond floats", "NaN", "text", "a deep list"),
    *("400 digits", "true", "a half", "a rather deep list", "5000 digits"),
)
VALUES = [documents.VALUES[name] for name in NAMES]
CHANGES_OF_A_VALUE = {"dropped": ("drop", {})} | {name: ("set", {"value": name}) for name in NAMES}
DEEP = documents.VALUES["a deep list"]


def unseal(folder):
    """Take its own checksum from a checkpoint.json, as older versions wrote it."""
    path = folder / "checkpoint.json"
    data = json.loads(path.read_text())
    del data["checksum"]
    path.write_text(json.dumps(data, indent=1))


@pytest.fixture(scope="module")
def original(tmp_path_factory, data):
    """A run of 4 steps, and what it becomes at step 6: the weights, and its recipe for 6 steps."""
    sizes = {"embedding_size": 8, "hidden_size": 8, "dropout": 0.2}
    training = {"validate_every": 2, "save_every": 2, "keep_checkpoints": 1, "batch_sentences": 8, "device": "cpu"}

    def train(output, max_steps):
        recipe = Recipe(
            data=data, output=output, head=HEAD, model=sizes, training=training | {"max_steps": max_steps, "threads": 1}
        )
        trainer = Trainer(recipe, Display("test", quiet=True))
        trainer.run()
        return {name: value.clone() for name, value in trainer.model.state_dict().items()}

    run = tmp_path_factory.mktemp("original") / "run"
    four = train(run, 4)
    kept = shutil.copytree(run, run.with_name("kept"))
    unseal(checkpoint.step_folder(kept, 4))  # so that what is said, not its checksum, must tell
    return SimpleNamespace(run=kept, train=train, four=four, six=train(run, 6))


@pytest.fixture
def copied(original, tmp_path):
    """A copy of the run, to damage: its folder, and that of its newest checkpoint."""
    run = shutil.copytree(original.run, tmp_path / "run")
    return SimpleNamespace(run=run, folder=checkpoint.step_folder(run, 4))


def same(weights, others):
    return weights.keys() == others.keys() and all(torch.equal(weights[name], others[name]) for name in weights)


def attempt(action, *arguments, **options):
    """What an action gives, or None if it was refused in words that name the place."""
    try:
        return action(*arguments, **options)
    except REFUSAL as error:
        told = str(error)
    assert "/run/step-000000004" in told
    return None


def assert_refused_or_the_same(original, copied):
    """Loading and going on; returns whether any was refused."""
    before = checkpoint.checkpoints(copied.run)
    loaded = [attempt(load_checkpoint, copied.folder, verify=verify) for verify in (True, False)]
    for each in filter(None, loaded):
        assert each.step == 4
        assert same(each.model.state_dict(), original.four)
    Average.find(copied.folder)
    weights = attempt(original.train, copied.run, 6)
    if weights is None:
        assert checkpoint.checkpoints(copied.run) == before
    else:
        assert same(weights, original.six)
    return weights is None or None in loaded


def test_unchanged_it_goes_on_as_if_it_had_never_stopped(original, copied):
    assert not assert_refused_or_the_same(original, copied)


TOP = ("version", "step", "evaluations", "since_report", "recipe", "corpus", "files")


def change(folder, path, how, options):
    """Changes a value of checkpoint.json."""
    Mutation(how, "checkpoint.json", {"path": path, **options}).apply(folder)


def flip(path):
    Mutation("flip", path.name, {"at": -2, "bit": 0}).apply(path.parent)


class TestDescription:
    @pytest.mark.parametrize("value", CHANGES_OF_A_VALUE)
    @pytest.mark.parametrize("key", TOP)
    def test_of_every_key(self, original, copied, key, value):
        change(copied.folder, [key], *CHANGES_OF_A_VALUE[value])
        refused = assert_refused_or_the_same(original, copied)
        optional = {"evaluations": {"dropped", "empty list"}, "files": {"dropped", "null"}}
        optional["since_report"] = {"dropped", "empty mapping"}
        assert refused == (value not in optional.get(key, ()))

    @pytest.mark.parametrize("value", CHANGES_OF_A_VALUE)
    def test_of_every_place(self, original, copied, value):
        text = (copied.folder / "checkpoint.json").read_text()
        found = documents.paths("checkpoint.json", text.encode())
        assert ["recipe", "head", "code"] in found
        for place in found:
            change(copied.folder, place, *CHANGES_OF_A_VALUE[value])
            try:
                loaded = load_checkpoint(copied.folder, verify=False)
                Trainer(checkpoint.load_info(copied.folder).recipe, Display("test", quiet=True))
            except REFUSAL:
                pass
            else:
                assert same(loaded.model.state_dict(), original.four), place
            (copied.folder / "checkpoint.json").write_text(text)

    @pytest.mark.parametrize("text", [DEEP, "", "{", "NaN", "1e400", '{"version": 2}', '{"version": 1e400}', "\x00"])
    def test_as_a_whole(self, original, copied, text):
        (copied.folder / "checkpoint.json").write_text(text)
        assert assert_refused_or_the_same(original, copied)

    def test_invalid_text(self, original, copied):
        path = copied.folder / "checkpoint.json"
        path.write_bytes(path.read_bytes().replace(b"en", b"\xff\xfe", 1))
        assert assert_refused_or_the_same(original, copied)

    def test_of_another_step(self, original, copied):
        change(copied.folder, ["step"], "nudge", {})
        with pytest.raises(ValueError, match=r"checkpoint.json: is of step 5, not of that in the folder's name; use"):
            load_checkpoint(copied.folder)
        assert assert_refused_or_the_same(original, copied)

    def test_a_model_too_large_for_any_memory(self, copied):
        for name in ("a million", "a billion", "a quintillion", "beyond int64"):
            change(copied.folder, ["recipe", "model", "hidden_size"], "set", {"value": name})
            told = rf"step-000000004/.* \(hidden_size {documents.VALUES[name]}, .*; use another checkpoint"
            with pytest.raises(ValueError, match=told):
                load_checkpoint(copied.folder)

    def test_a_model_larger_than_its_file(self, copied):
        """Though memory has room for it."""
        change(copied.folder, ["recipe", "model", "embedding_size"], "set", {"value": "a million"})
        with pytest.raises(
            ValueError, match=r"model.safetensors: too small for the sizes that .*embedding_size 1000000,"
        ):
            load_checkpoint(copied.folder)


class TestChecksums:
    @pytest.mark.parametrize("name", [name for name in FILES if name in checkpoint.OF_THE_MODEL])
    def test_a_bit_that_changed(self, copied, original, name):
        path = copied.folder / name
        flip(path)
        message = f"{path}: damaged, its checksum differs; use another checkpoint, or remove this one"
        with pytest.raises(ValueError, match=message):
            load_checkpoint(copied.folder)
        with pytest.raises(ValueError, match=name):
            original.train(copied.run, 6)

    def test_of_the_optimiser_are_compared_where_it_is_needed(self, copied, original):
        path = copied.folder / "optimizer.safetensors"
        flip(path)
        assert same(load_checkpoint(copied.folder).model.state_dict(), original.four)
        with pytest.raises(ValueError, match=f"{path}: damaged, its checksum differs"):
            original.train(copied.run, 6)

    def test_no_average_is_made_of_what_changed(self, copied):
        path = copied.folder / "model.safetensors"
        flip(path)
        with pytest.raises(ValueError, match=f"{path}: damaged, its checksum differs"):
            make_average(checkpoint.checkpoints(copied.run), copied.run / "average", None)
        assert not (copied.run / "average").exists()

    def test_older_checkpoints_have_none_and_go_on(self, copied, original):
        change(copied.folder, ["files"], "drop", {})
        assert not assert_refused_or_the_same(original, copied)


CHANGES = {
    "missing": lambda tensors, names: tensors.pop(names[0]),
    "foreign": lambda tensors, names: tensors.update(foreign=torch.zeros(2)),
    "another shape": lambda tensors, names: tensors.update({names[1]: torch.zeros(3, 2)}),
    "another type": lambda tensors, names: tensors.update({names[1]: tensors[names[1]].double()}),
    "whole numbers": lambda tensors, names: tensors.update({names[1]: tensors[names[1]].long()}),
    "NaN": lambda tensors, names: tensors[names[0]].view(-1)[:1].fill_(torch.nan),
    "infinite": lambda tensors, names: tensors[names[-1]].view(-1)[-1:].fill_(-torch.inf),
    "none": lambda tensors, names: tensors.clear(),
}


class TestTensors:
    @pytest.fixture
    def rewrite(self, copied):
        """Changes a file of tensors of a checkpoint that has no checksums."""
        change(copied.folder, ["files"], "drop", {})

        def rewrite(name, change):
            tensors = load_file(copied.folder / f"{name}.safetensors")
            change(tensors, sorted(tensors))
            save_file(tensors, copied.folder / f"{name}.safetensors")

        return rewrite

    @pytest.mark.parametrize("change", CHANGES)
    def test_of_the_model(self, copied, original, rewrite, change):
        rewrite("model", CHANGES[change])
        for load in (load_checkpoint, lambda folder: original.train(copied.run, 6)):
            with pytest.raises(ValueError, match=r"model.safetensors: .*; use another checkpoint, or remove this one"):
                load(copied.folder)

    @pytest.mark.parametrize("change", CHANGES)
    def test_of_the_optimiser(self, copied, original, rewrite, change):
        rewrite("optimizer", CHANGES[change])
        with pytest.raises(ValueError, match=r"optimizer.safetensors: .*; use another checkpoint, or remove this one"):
            original.train(copied.run, 6)

    @pytest.mark.parametrize("key", ["step", "exp_avg_sq"])
    def test_moments_below_zero(self, copied, original, rewrite, key):
        def change(tensors, names):
            name = next(name for name in names if name.endswith(f".{key}"))
            tensors[name] -= 99

        rewrite("optimizer", change)
        with pytest.raises(ValueError, match=rf"optimizer.safetensors: .*\.{key} has numbers below 0: damaged; use"):
            original.train(copied.run, 6)

    def test_moments_of_another_step(self, copied, original, rewrite):
        rewrite("optimizer", lambda tensors, names: [tensors[name].add_(1) for name in names if name.endswith(".step")])
        with pytest.raises(ValueError, match=r"optimizer.safetensors: .*\.step is [0-9]+, not that of the checkpoint"):
            original.train(copied.run, 6)

    @pytest.mark.parametrize("name", ["model", "optimizer"])
    @pytest.mark.parametrize("size", [1 << 40, 1 << 62, (1 << 64) - 1, 1 << 70])
    def test_a_header_that_claims_much(self, copied, original, rewrite, name, size):
        tensor = {"dtype": "F32", "shape": [size], "data_offsets": [0, size * 4]}
        header = json.dumps({"network.embedding.weight": tensor}).encode()
        (copied.folder / f"{name}.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + b"\0" * 64)
        assert assert_refused_or_the_same(original, copied)

    @pytest.mark.parametrize("length", [0, 1 << 40, (1 << 64) - 1])
    def test_a_header_of_a_wrong_length(self, copied, original, rewrite, length):
        (copied.folder / "model.safetensors").write_bytes(struct.pack("<Q", length) + b"{}" * 40)
        assert assert_refused_or_the_same(original, copied)


OTHERS = ("pipe", "folder", "socket", "link to zeros")


class TestOtherFiles:
    """What is no file is an error, where reading it would wait for ever."""

    @pytest.mark.parametrize("kind", OTHERS)
    @pytest.mark.parametrize("name", ["checkpoint.json", *FILES])
    def test_of_a_checkpoint(self, copied, original, name, kind):
        Mutation(kind, name).apply(copied.folder)
        with pytest.raises(REFUSAL, match="step-000000004"):
            load_checkpoint(copied.folder)
        with pytest.raises(REFUSAL, match="step-000000004"):
            original.train(copied.run, 6)

    @pytest.mark.parametrize("kind", OTHERS)
    @pytest.mark.parametrize("name", ["best.json", "metrics.jsonl"])
    def test_of_a_run(self, copied, original, name, kind):
        Mutation(kind, name).apply(copied.run)
        assert load_checkpoint(copied.run).step in (2, 4)
        assert Metrics.read(copied.run).step == (4 if name == "best.json" else 0)
        with pytest.raises(ValueError, match=f"{name}: is not a file; move that elsewhere"):
            original.train(copied.run, 6)

    @pytest.mark.parametrize(
        "text", [DEEP, "[1e400]", '{"type": "permuted", "numbers": [1e400]}', "{}", "1" + "0" * 5000]
    )
    def test_codes_that_are_none(self, copied, original, text):
        change(copied.folder, ["files"], "drop", {})
        (copied.folder / "code.json").write_text(text)
        assert assert_refused_or_the_same(original, copied)


class TestMark:
    @pytest.mark.parametrize("step", VALUES)
    def test_that_is_none(self, copied, original, step):
        for text in (f'{{"step": {step}}}', step, f'{{"step": 4, "average": {step}}}'):
            (copied.run / "best.json").write_text(text)
            assert checkpoint.model_folder(copied.run) == copied.folder
        assert same(original.train(copied.run, 6), original.six)

    def test_invalid_text(self, copied):
        (copied.run / "best.json").write_bytes(b'{"step": \xff}')
        assert checkpoint.best_checkpoint(copied.run) is None


class TestMetrics:
    REPORT = '{{"step": {}, "loss": {}, "tokens": 9, "seconds": 1.0, "tokens_per_second": 9.0, "peak_memory": null}}'
    EVALUATION = '{{"step": {}, "dev_bleu": {}, "test_bleu": null}}'

    @pytest.mark.parametrize("value", [value for value in VALUES if value != "0.5"])
    def test_foreign_lines_are_dropped(self, copied, original, value):
        path = copied.run / "metrics.jsonl"
        before = path.read_bytes()
        foreign = [value, '{"loss": 1.0}', self.REPORT.format(value, 1.0), self.EVALUATION.format(value, 1.0)]
        foreign += [self.REPORT.format(1, value)] if value != "-1" else []  # a loss may be negative
        foreign += [self.EVALUATION.format(1, value), '{"step": 1, "loss": 1.0}', '{"step": 1}']
        path.write_bytes("".join(line + "\n" for line in foreign).encode() + b'{"step": \xff}\n\x00\n' + before)
        metrics = Metrics.read(copied.run)
        assert ([each.step for each in metrics.evaluations], metrics.step) == ([2, 4], 4)
        assert (len(metrics.losses), metrics.tokens > 0, metrics.peak_memory) == (2, True, None)
        original.train(copied.run, 4)
        assert path.read_bytes() == before
