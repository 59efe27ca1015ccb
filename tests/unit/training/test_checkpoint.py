"""A checkpoint appears whole or not at all, and one that is damaged says so."""

import errno
import json
import os
from pathlib import Path

import pytest
import torch

from trellex.codes import FrequencyCode, HuffmanCode, RandomCode
from trellex.heads import HeadSpec
from trellex.training import checkpoint
from trellex.training.checkpoint import (
    best_checkpoint,
    checkpoints,
    load_code,
    load_info,
    load_tensors,
    mark_best,
    model_folder,
    remove_old,
    save_checkpoint,
    step_folder,
)

INFO = {
    "step": 1,
    "recipe": {"data": "data", "output": "run", "head": "softmax", "model": {}},
    "corpus": {"source_language": "en", "target_language": "ja"}
    | {f"{split}_{side}": "file" for split in ("train", "dev") for side in ("source", "target")},
}
TENSORS = {"model": {"weight": torch.arange(6.0).reshape(2, 3)}, "optimizer": {}}


@pytest.fixture
def save(tmp_path):
    """Saves a checkpoint of a step; returns its folder."""
    (tmp_path / "words.txt").write_text("word\n")

    def save(step, code=None):
        folder = step_folder(tmp_path / "run", step)
        words = dict.fromkeys(checkpoint.VOCABULARIES, tmp_path / "words.txt")
        save_checkpoint(folder, TENSORS, words, INFO | {"step": step}, code)
        return folder

    return save


def full_disk(*arguments, **options):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def killed(*arguments, **options):
    raise SystemExit


def steps(run):
    return [int(folder.name.removeprefix("step-")) for folder in checkpoints(run)]


class TestSave:
    def test_round_trip(self, save):
        folder = save(7)
        assert folder.name == "step-000000007"
        info = load_info(folder)
        assert (info.version, info.step, info.recipe.data) == (2, 7, Path("data"))
        checkpoint.verify(folder, info)
        assert torch.equal(load_tensors(folder, "model")["weight"], TENSORS["model"]["weight"])
        assert load_tensors(folder, "optimizer") == {}
        assert (folder / "vocab.source.txt").read_text() == "word\n"

    def test_views_and_transposes_are_saved_as_they_look(self, tmp_path):
        weight = torch.arange(6.0).reshape(2, 3)
        save_checkpoint(tmp_path / "x", {"model": {"view": weight.T, "row": weight[1].clone()}}, {}, INFO)
        tensors = load_tensors(tmp_path / "x", "model")
        assert torch.equal(tensors["view"], weight.T)
        assert torch.equal(tensors["row"], weight[1])

    def test_what_is_there_stays(self, save, tmp_path):
        folder = save(7)
        before = (folder / "model.safetensors").read_bytes()
        save_checkpoint(folder, {"model": {"weight": torch.zeros(1)}}, {}, INFO | {"step": 8})
        assert (folder / "model.safetensors").read_bytes() == before
        assert load_info(folder).step == 7

    @pytest.mark.parametrize(
        "place",
        [
            *("training.checkpoint.save_file", "training.checkpoint.shutil.copyfile"),
            *("training.checkpoint.Path.write_text", "files.os.fsync", "files.os.replace"),
        ],
    )
    def test_full_disk_leaves_no_trace_and_spares_the_others(self, save, tmp_path, monkeypatch, place):
        first = save(1)
        before = {path.name: path.read_bytes() for path in first.iterdir()}
        monkeypatch.setattr(f"trellex.{place}", full_disk)
        with pytest.raises(OSError, match=r"step-000000002: could not be written .*no space left.*; make room"):
            save(2)
        assert [path.name for path in (tmp_path / "run").iterdir()] == ["step-000000001"]
        assert {path.name: path.read_bytes() for path in first.iterdir()} == before
        monkeypatch.undo()
        assert load_info(save(2)).step == 2

    def test_interruption_leaves_no_trace(self, save, tmp_path, monkeypatch):
        def interrupt(*arguments):
            raise KeyboardInterrupt

        monkeypatch.setattr("trellex.training.checkpoint.save_file", interrupt)
        with pytest.raises(KeyboardInterrupt):
            save(2)
        assert list((tmp_path / "run").iterdir()) == []


class TestCode:
    """The code of a model is a part of it, like its weights."""

    @pytest.fixture
    def save_code(self, save):
        return lambda code: save(1, code)

    @pytest.mark.parametrize("code", [FrequencyCode(9), RandomCode(9, 3), HuffmanCode([5, 3, 1])], ids=repr)
    def test_round_trip(self, save_code, code):
        for head in ("binary-ec", "shelves") if code.automaton is None else ("binary-ec",):
            assert load_code(save_code(code), HeadSpec.parse(head), code.vocab_size) == code

    def test_a_softmax_has_none(self, save_code):
        folder = save_code(None)
        assert not (folder / "code.json").exists()
        assert load_code(folder, HeadSpec.parse("softmax"), 9) is None

    def test_missing(self, save_code):
        folder = save_code(None)
        with pytest.raises(ValueError, match=f"{folder / 'code.json'}: missing, damaged or .*; use another checkpoint"):
            load_code(folder, HeadSpec.parse("hybrid-9-ec"), 40)

    @pytest.mark.parametrize(
        "content", [b"", b"{", b"[]", b"{}", b"\xff", b'{"type": "morse"}', b'{"type": "frequency", "vocab_size": "x"}']
    )
    def test_damaged(self, save_code, content):
        folder = save_code(FrequencyCode(9))
        (folder / "code.json").write_bytes(content)
        with pytest.raises(ValueError, match=f"{folder / 'code.json'}: missing, damaged or .*; use another checkpoint"):
            load_code(folder, HeadSpec.parse("binary"), 9)

    def test_of_another_number_of_words(self, save_code):
        folder = save_code(RandomCode(9, 3))
        with pytest.raises(ValueError, match=f"{folder / 'code.json'}: .*of 32 words, got .*vocab_size=9.*; use"):
            load_code(folder, HeadSpec.parse("hybrid-9-ec"), 40)

    def test_full_disk_leaves_no_trace(self, save_code, tmp_path, monkeypatch):
        monkeypatch.setattr("trellex.codes.code.atomic_writer", full_disk)
        with pytest.raises(OSError, match=r"step-000000001: could not be written .*no space left.*; make room"):
            save_code(FrequencyCode(9))
        assert list((tmp_path / "run").iterdir()) == []


class TestLoad:
    def test_another_version(self, save):
        folder = save(1)
        (folder / "checkpoint.json").write_text('{"version": 99, "step": 1}')
        with pytest.raises(ValueError, match=r"checkpoint.json: written by another version \(format 99, .* reads 2\)"):
            load_info(folder)

    @pytest.mark.parametrize("text", ["", '{"version": 1, "st', "[]", "3", '{"step": 1}', "\ud800"])
    def test_json_cut_short(self, save, text):
        folder = save(1)
        (folder / "checkpoint.json").write_bytes(text.encode("utf-8", "surrogatepass"))
        with pytest.raises(
            ValueError, match=r"checkpoint.json: not the description of a checkpoint \(.*\); use another"
        ):
            load_info(folder)

    @pytest.mark.parametrize("kept", [0, 1, 7, 8, 20, -1])
    def test_tensors_cut_short(self, save, kept):
        folder = save(1)
        path = folder / "model.safetensors"
        path.write_bytes(path.read_bytes()[:kept])
        with pytest.raises(ValueError, match=r"model.safetensors: damaged or cut short .*; use another"):
            load_tensors(folder, "model")

    def test_missing(self, save, tmp_path):
        folder = save(1)
        with pytest.raises(ValueError, match=r"other.safetensors: missing, or not a file; use another"):
            load_tensors(folder, "other")
        with pytest.raises(FileNotFoundError, match=r"no checkpoint.json here"):
            load_info(tmp_path)

    @pytest.mark.parametrize(
        ("like", "problem"),
        [
            ({"weight": torch.zeros(3, 2)}, r"weight: found \(2, 3\), expected \(3, 2\)"),
            ({"weight": torch.zeros(2, 3).double()}, "weight: found torch.float32, expected torch.float64"),
            ({}, r"weight: found \(2, 3\), expected nothing"),
            ({"weight": torch.zeros(2, 3), "bias": torch.zeros(2)}, r"bias: found nothing, expected \(2,\)"),
        ],
    )
    def test_other_tensors_than_expected(self, save, like, problem):
        with pytest.raises(ValueError, match=rf"model.safetensors: does not fit the model \({problem}\); use another"):
            load_tensors(save(1), "model", like)


class TestRun:
    def test_checkpoints_are_in_order_and_nothing_else_counts(self, save, tmp_path):
        for step in (10, 9, 100):
            save(step)
        (tmp_path / "run" / ".step-000000200.0123abcd.new").mkdir()
        (tmp_path / "run" / "notes").mkdir()
        assert steps(tmp_path / "run") == [9, 10, 100]
        assert checkpoints(tmp_path / "none") == []

    @pytest.mark.parametrize(
        ("keep", "best", "kept"),
        [(2, [], [4, 5]), (1, [2], [2, 5]), (2, [5], [4, 5]), (9, [1], [1, 2, 3, 4, 5]), (1, [77, 1, 3], [1, 3, 5])],
    )
    def test_the_newest_and_the_best_are_kept(self, save, tmp_path, keep, best, kept):
        for step in range(1, 6):
            save(step)
        remove_old(tmp_path / "run", keep, best)
        assert steps(tmp_path / "run") == kept

    def test_a_kill_while_one_is_removed_leaves_no_half_of_it(self, save, tmp_path, monkeypatch):
        for step in (1, 2, 3):
            save(step)
        monkeypatch.setattr("trellex.temporaries.shutil.rmtree", killed)
        with pytest.raises(SystemExit):
            remove_old(tmp_path / "run", 1)
        assert steps(tmp_path / "run") == [2, 3]

    def test_model_folder_is_the_best_or_the_newest_or_the_folder_itself(self, save, tmp_path):
        run = tmp_path / "run"
        for step in (1, 2, 3):
            save(step)
        assert model_folder(run) == step_folder(run, 3)
        mark_best(run, 2)
        assert best_checkpoint(run) == model_folder(run) == step_folder(run, 2)
        assert model_folder(step_folder(run, 1)) == step_folder(run, 1)

    @pytest.mark.parametrize("text", ["", "{}", "[]", '{"step": "x"}', '{"step": 8}'])
    def test_a_damaged_mark_is_no_mark(self, save, tmp_path, text):
        save(1)
        (tmp_path / "run" / "best.json").write_text(text)
        assert best_checkpoint(tmp_path / "run") is None
        assert model_folder(tmp_path / "run") == step_folder(tmp_path / "run", 1)

    def test_no_model(self, tmp_path):
        (tmp_path / "file").touch()
        for folder in (tmp_path, tmp_path / "none", tmp_path / "file"):
            with pytest.raises(FileNotFoundError, match=f"{folder}: no checkpoint here; train first"):
                model_folder(folder)

    def test_full_disk_spares_the_mark(self, save, tmp_path, monkeypatch):
        save(1)
        mark_best(tmp_path / "run", 1)
        monkeypatch.setattr("trellex.files.os.fsync", full_disk)
        with pytest.raises(OSError, match=r"best.json: could not be written"):
            mark_best(tmp_path / "run", 2)
        assert json.loads((tmp_path / "run" / "best.json").read_text()) == {"step": 1}
