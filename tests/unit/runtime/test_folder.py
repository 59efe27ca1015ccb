"""The folder of an exported model is written whole or not at all, and what is wrong with it is named."""

import contextlib
import copy
import json
import os
import pickle
import shutil
import sys
from pathlib import Path

import mutations
import numpy as np
import onnx
import pytest
import torch
from mutations import PLACES, Mutation, seal

import trellex
from trellex.codes import FrequencyCode, HuffmanCode, RandomCode
from trellex.runtime.export import export
from trellex.runtime.folder import MANIFEST, REMEDY, Export, is_export, new_export
from trellex.runtime.model import load_export

HEAD = {"type": "hybrid-9-ec", "mixtures": 3, "hidden_layer": 12}
NAMES = [
    *("encoder.onnx", "encoder.weights", "decoder.onnx", "decoder.weights", "softmax.onnx"),
    *("source.vectors.npy", "target.vectors.npy", "vocab.source.txt", "vocab.target.txt"),
    *(f"bits.{layer}.{part}.npy" for layer in ("hidden", "linear", "weights") for part in ("weight", "bias")),
    *("softmax.weight.npy", "softmax.bias.npy", "code.json"),
]
ARRAYS = [name for name in NAMES if name.endswith(".npy")]
GRAPHS = [name for name in NAMES if name.endswith(".onnx")]


@pytest.fixture
def folder(both, tmp_path):
    """An export that a test may damage."""
    return shutil.copytree(both(HEAD)[2], tmp_path / "export")


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def change(folder, change):
    """Changes the manifest, as one may that has no checksum."""
    path = folder / MANIFEST
    data = json.loads(path.read_text())
    data.pop("checksum", None)
    change(data)
    path.write_text(json.dumps(data))


def replace(folder, name, content):
    """Replaces a file and makes the manifest say that it is as it should be."""
    (folder / name).write_bytes(content)
    seal(folder, MANIFEST)


def assert_refused(folder, *parts):
    with pytest.raises(ValueError, match=REMEDY) as error:
        load_export(folder)
    for part in parts:
        assert str(part) in str(error.value)
    with pytest.raises(ValueError, match=REMEDY):
        trellex.load(folder)


class TestFiles:
    @pytest.mark.parametrize("name", ["target.vectors.scales", "softmax.weight", "softmax.bias"])
    def test_of_8_bits_are_missing(self, both, tmp_path, name):
        folder = shutil.copytree(both(HEAD, "int8")[2], tmp_path / "export")
        (folder / f"{name}.npy").unlink()
        assert_refused(folder, folder / f"{name}.npy", "missing")
        change(folder, lambda data: data["files"].pop(f"{name}.npy"))
        assert_refused(folder, folder / MANIFEST, f"does not list {name}.npy")

    def test_are_listed(self, folder):
        listed = Export.open(folder).manifest.files
        assert set(listed) == {path.name for path in folder.iterdir()} - {MANIFEST}
        assert set(listed) >= set(NAMES)

    def test_that_are_not_listed_cannot_be_loaded(self, folder):
        np.save(folder / "mine.npy", np.zeros(3, np.float32))
        opened = Export.open(folder)
        assert opened.file("encoder.onnx") == folder / "encoder.onnx"
        for load in (lambda: opened.file("mine.npy"), lambda: opened.array("mine", (3,))):
            with pytest.raises(ValueError, match=f"{MANIFEST}: does not list mine.npy; {REMEDY}"):
                load()

    @pytest.mark.parametrize("name", NAMES)
    def test_missing(self, folder, name):
        (folder / name).unlink()
        assert_refused(folder, folder / name, "missing")

    @pytest.mark.parametrize("name", NAMES)
    def test_of_another_size(self, folder, name):
        content = (folder / name).read_bytes()
        for damaged in (b"", content[:-1], content[: len(content) // 2], content + b"\0"):
            (folder / name).write_bytes(damaged)
            assert_refused(folder, folder / name, f"{len(damaged):,} bytes instead of {len(content):,}")

    @pytest.mark.parametrize("name", NAMES)
    def test_a_folder_in_its_place(self, folder, name):
        (folder / name).unlink()
        (folder / name).mkdir()
        assert_refused(folder, folder / name)

    def test_of_eight_bits_are_checked_too(self, both, tmp_path):
        folder = shutil.copytree(both(HEAD, "int8")[2], tmp_path / "export")
        for name, content in contents(folder).items():
            if name != MANIFEST:
                (folder / name).write_bytes(content[:-1])
                assert_refused(folder, folder / name)
                (folder / name).write_bytes(content)
        load_export(folder)

    def test_others_are_left_alone(self, folder):
        (folder / "README").write_text("mine")
        load_export(folder)


class TestOtherThings:
    """In the place of a file: nothing is waited for, and what is wrong is named."""

    @pytest.mark.parametrize("name", [*NAMES, MANIFEST])
    @pytest.mark.parametrize("kind", [kind for kind in PLACES if kind not in ("swap", "delete")])
    def test_is_refused(self, folder, name, kind):
        Mutation(kind, name).apply(folder)
        assert_refused(folder, f"{folder / name}: missing, or not a file")
        with pytest.raises(ValueError, match="missing, or not a file"):
            Export.open(folder)

    @pytest.mark.parametrize("kind", ["fifo", "link"])
    def test_beside_the_files_does_not_matter(self, folder, kind):
        os.mkfifo(folder / "other.json") if kind == "fifo" else (folder / "other.json").symlink_to("nowhere")
        load_export(folder)

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
    @pytest.mark.parametrize("name", [*NAMES, MANIFEST])
    def test_that_may_not_be_read(self, folder, name):
        (folder / name).chmod(0)
        with pytest.raises(PermissionError, match=f"{folder / name}: permission denied"):
            trellex.load(folder)


class TestManifest:
    @pytest.mark.parametrize(
        "content", [b"", b"{", b"[]", b"null", b"{}", b"\xff\xfe", b'{"format": "trellex-runtime", "version": 1}']
    )
    def test_malformed(self, folder, content):
        (folder / MANIFEST).write_bytes(content)
        assert_refused(folder, folder / MANIFEST, "not the manifest of an exported model")

    def test_cut_short(self, folder):
        content = (folder / MANIFEST).read_bytes()
        for length in range(0, len(content) - 2, 97):
            (folder / MANIFEST).write_bytes(content[:length])
            assert_refused(folder, folder / MANIFEST)

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("version", 3),
            ("version", "4"),
            ("format", "onnx"),
            ("precision", "int4"),
            ("model", {"hidden_size": 0}),
            ("model", {"input_feeding": "perhaps"}),
            ("model", {"type": "transformer"}),
            ("vocab_size", 1),
            ("vocab_size", "many"),
            ("head", "softmin"),
            ("head", None),
            ("files", ["encoder.onnx"]),
            ("files", {"encoder.onnx": "long"}),
            ("more", 1),
        ],
    )
    def test_of_something_else(self, folder, key, value):
        change(folder, lambda data: data.update({key: value}))
        assert_refused(folder, folder / MANIFEST, key)

    @pytest.mark.parametrize(
        "name", ["../x", "/etc/passwd", "a/b", "./encoder.onnx", "..", ".", "", "encoder.onnx/", "a\0b"]
    )
    def test_names_only_files_of_the_folder(self, folder, name):
        (folder.parent / "x").write_bytes(b"12345")
        change(folder, lambda data: data["files"].update({name: [5, "0" * 64]}))
        assert_refused(folder)

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            *(
                ("type", value)
                for value in ("hybrid-8-ec", "hybrid-10-ec", "hybrid-9", "binary-ec", "hybrid-9-es", None)
            ),
            *(("mixtures", value) for value in (-1, 1, 2, 4)),
            *(("hidden_layer", value) for value in (None, 11, 0)),
            *(("generators", value) for value in ([], ["101"], ["1"], ["101", "111"], ["xyz", "abc"], [1, 2])),
            *(("decoding", value) for value in ("best", "paper", None)),
            *(("loss", value) for value in ("squared", "hinge")),
            ("more", 1),
        ],
    )
    def test_of_another_output_layer(self, folder, key, value):
        change(folder, lambda data: data["head"].update({key: value}))
        assert_refused(folder)

    @pytest.mark.parametrize("size", [39, 41, 1_000_000])
    def test_of_another_number_of_words(self, folder, size):
        change(folder, lambda data: data.update(vocab_size=size))
        assert_refused(folder, f"40 words instead of {size:,}")

    def test_of_a_head_that_needs_other_files(self, folder):
        """Which were exported for a hybrid: a softmax over all words is not there."""
        change(folder, lambda data: data.update(head="softmax"))
        assert_refused(folder, "softmax.onnx: not the graph it should be")

    def test_with_an_unknown_tokenizer(self, folder):
        change(folder, lambda data: data["text"].update(source_tokenizer="mosess"))
        assert_refused(folder, folder / MANIFEST, "source_tokenizer")

    @pytest.mark.parametrize("name", [name for name in NAMES if not name.endswith(".weights")])
    def test_that_forgets_a_file(self, folder, name):
        change(folder, lambda data: data["files"].pop(name))
        assert_refused(folder, MANIFEST, f"does not list {name}")

    @pytest.mark.parametrize("name", NAMES)
    def test_that_forgets_a_file_which_is_missing(self, folder, name):
        (folder / name).unlink()
        change(folder, lambda data: data["files"].pop(name))
        assert_refused(folder)


class TestCode:
    """The code of the words, which stands in a file of its own."""

    @pytest.mark.parametrize(
        "content",
        [
            *(b"", b"{", b"[]", b"null", b"{}", b"\xff\xfe", b'{"type": "morse"}', b'{"type": "frequency"}'),
            *(b'{"type": "frequency", "vocab_size": "x"}', b'{"type": "permuted", "numbers": [0, 0]}'),
        ],
    )
    def test_malformed(self, folder, content):
        replace(folder, "code.json", content)
        assert_refused(folder, folder / "code.json")

    @pytest.mark.parametrize("code", [FrequencyCode(31), RandomCode(31), HuffmanCode([16, 8, 4, 2, 1, 1])], ids=repr)
    def test_of_another_number_of_words(self, folder, code):
        replace(folder, "code.json", json.dumps(code.to_dict()).encode())
        assert_refused(
            folder,
            "the layer of the bits does not fit",
            "code: expected one of 32 words",
            f"vocab_size={code.vocab_size}",
        )

    @pytest.mark.parametrize("code", [FrequencyCode(40), FrequencyCode(33), RandomCode(40), HuffmanCode([5, 3, 1])])
    def test_of_another_number_of_bits(self, folder, code):
        replace(folder, "code.json", json.dumps(code.to_dict()).encode())
        assert_refused(folder, "the layer of the bits does not fit")

    def test_the_file_that_it_was_made_from_is_not_needed(self, model_of, tmp_path):
        RandomCode(40, 3).save(tmp_path / "mine.json")
        loaded = model_of({"type": "binary-ec", "code": {"file": tmp_path / "mine.json"}})
        export(loaded, tmp_path / "export", "fp32")
        (tmp_path / "mine.json").unlink()
        assert load_export(tmp_path / "export").model.layer.code == RandomCode(40, 3)
        assert load_export(tmp_path / "export").head == loaded.head


class Trap:
    """Creates a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


class TestGarbage:
    @pytest.mark.parametrize("name", [*GRAPHS, *ARRAYS, "vocab.source.txt", "vocab.target.txt"])
    def test_of_the_same_size(self, folder, name):
        size = (folder / name).stat().st_size
        for seed in range(3):
            replace(folder, name, np.random.default_rng(seed).bytes(size))
            assert_refused(folder)
        replace(folder, name, bytes(size))
        assert_refused(folder)

    @pytest.mark.parametrize("name", GRAPHS)
    def test_graphs_are_named(self, folder, name):
        replace(folder, name, b"x" * (folder / name).stat().st_size)
        assert_refused(folder, folder / name, "ONNX Runtime")

    @pytest.mark.parametrize("name", ARRAYS)
    def test_pickles_are_not_executed(self, folder, name, tmp_path):
        trap = tmp_path / "trap"
        np.save(tmp_path / "trap.npy", np.array([Trap(trap)], object), allow_pickle=True)
        for content in ((tmp_path / "trap.npy").read_bytes(), pickle.dumps(Trap(trap))):
            replace(folder, name, content)
            assert_refused(folder)
            assert not trap.exists()
        np.load(tmp_path / "trap.npy", allow_pickle=True)
        assert trap.exists()  # so the trap works

    @pytest.mark.parametrize("name", ARRAYS)
    @pytest.mark.parametrize("array", [np.zeros(7), np.zeros((0, 0)), np.array(["x" * 9] * 4), np.float32(3)], ids=str)
    def test_arrays_of_another_shape(self, folder, name, array):
        np.save(folder / "array.npy", array)
        replace(folder, name, (folder / "array.npy").read_bytes())
        assert_refused(folder)

    @pytest.mark.parametrize(
        ("name", "kind"),
        [
            *(("source.vectors.npy", kind) for kind in ("no zip", "zip", "empty", "header")),
            *(("bits.linear.weight.npy", kind) for kind in ("no zip", "zip", "empty", "header", "huge")),
        ],
    )
    def test_arrays_that_numpy_takes_for_something_else(self, folder, name, kind):
        np.savez(folder / "array.npz", np.zeros((3, 3)))
        shape = b"{'descr': '<f4', 'fortran_order': False, 'shape': (10**9, 10**9)}".replace(b"10**9", b"1" + b"0" * 9)
        content = {
            "no zip": b"PK\3\4" + bytes(90),
            "zip": (folder / "array.npz").read_bytes(),
            "empty": b"",
            "header": b"\x93NUMPY\1\0\x10\0" + b"(" * 15 + b"\n" + bytes(90),
            "huge": b"\x93NUMPY\1\0\x76\0" + shape.ljust(117) + b"\n" + bytes(90),
        }[kind]
        replace(folder, name, content)
        assert_refused(folder)

    @pytest.mark.parametrize("name", ["source.vectors.npy", "target.vectors.npy", "bits.hidden.weight.npy"])
    def test_arrays_of_another_width(self, folder, name):
        array = np.load(folder / name)
        np.save(folder / "array.npy", np.pad(array, ((0, 0), (0, 1))))
        replace(folder, name, (folder / "array.npy").read_bytes())
        assert_refused(folder)


class TestVerify:
    def test_random_bytes_do_not_pass_for_weights(self, both, tmp_path):
        folder = shutil.copytree(both(HEAD, "int8")[2], tmp_path / "export")
        for path in folder.glob("*.weights"):
            content = path.read_bytes()
            path.write_bytes(np.random.default_rng(0).bytes(len(content)))
            assert_refused(folder, f"{path}: damaged, its checksum differs")
            path.write_bytes(content)
        load_export(folder)

    @pytest.mark.parametrize("load", [load_export, trellex.load])
    def test_only_if_it_is_wanted(self, folder, load):
        content = (folder / "vocab.target.txt").read_bytes()
        (folder / "vocab.target.txt").write_bytes(content.replace(b"t5", b"t_"))
        with pytest.raises(ValueError, match=r"vocab.target.txt: damaged"):
            load(folder)
        assert load(folder, verify=False).target_vocabulary.tokens(np.array([5])) == ["t_"]

    def test_files_are_verified_before_they_are_parsed(self, folder, monkeypatch):
        opened = []
        monkeypatch.setattr("trellex.runtime.session.onnxruntime.InferenceSession", opened.append)
        (folder / "source.vectors.npy").write_bytes(bytes((folder / "source.vectors.npy").stat().st_size))
        assert_refused(folder, "source.vectors.npy: damaged")
        assert opened == []

    @pytest.mark.parametrize("precision", ["fp32", "int8", "compact"])
    def test_every_byte_of_the_manifest(self, both, tmp_path, precision):
        """Whatever still is the same JSON may be read; all else is refused."""
        folder = shutil.copytree(both(HEAD, precision)[2], tmp_path / "export")
        content, before = (folder / MANIFEST).read_bytes(), Export.open(folder).manifest
        read = 0
        for place in range(len(content)):
            for bit in (0, 5):
                damaged = mutations.change(MANIFEST, content, "flip", {"at": place, "bit": bit})
                (folder / MANIFEST).write_bytes(damaged)
                with contextlib.suppress(ValueError):
                    assert Export.open(folder).manifest == before, bytes(damaged[place - 20 : place + 20])
                    read += 1
        assert read < len(content) / 4  # spaces

    def test_a_manifest_of_before_checksums(self, folder):
        change(folder, lambda data: None)
        assert "checksum" not in json.loads((folder / MANIFEST).read_text())
        load_export(folder)

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    @pytest.mark.parametrize("name", ["bits.linear.weight", "softmax.weight", "target.vectors.scales"])
    def test_numbers_that_are_not_finite(self, both, tmp_path, name, value):
        folder = shutil.copytree(both(HEAD, "int8")[2], tmp_path / "export")
        array = np.load(folder / f"{name}.npy")
        array[3] = value
        np.save(folder / f"{name}.npy", array)
        replace(folder, f"{name}.npy", (folder / f"{name}.npy").read_bytes())
        assert_refused(folder, f"{folder / name}.npy: holds numbers that are not finite")

    def test_a_whole_folder(self, folder):
        Export.open(folder).verify()

    @pytest.mark.parametrize("name", NAMES)
    def test_a_flipped_bit(self, folder, name):
        Mutation("flip", name, {"at": (folder / name).stat().st_size // 2, "bit": 0}).apply(folder)
        with pytest.raises(ValueError, match=REMEDY) as error:
            Export.open(folder).verify()
        assert str(error.value).startswith(f"{folder / name}: damaged")
        assert_refused(folder, f"{folder / name}: damaged, its checksum differs")


class TestExport:
    @pytest.fixture
    def loaded(self, model_of):
        return model_of("binary-ec")

    def test_makes_folders_on_the_way(self, loaded, tmp_path):
        export(loaded, tmp_path / "a" / "b", "fp32")
        assert is_export(tmp_path / "a" / "b")
        assert [path.name for path in (tmp_path / "a").iterdir()] == ["b"]

    def test_fills_an_empty_folder(self, loaded, tmp_path):
        (tmp_path / "new").mkdir()
        export(loaded, tmp_path / "new")
        assert is_export(tmp_path / "new")

    def test_replaces_an_earlier_export(self, loaded, folder):
        assert (folder / "bits.hidden.weight.npy").exists()
        export(loaded, folder, "fp32")
        assert not (folder / "bits.hidden.weight.npy").exists()
        Export.open(folder).verify()
        assert [path.name for path in folder.parent.iterdir()] == [folder.name]

    def test_replaces_one_of_an_older_format(self, loaded, folder):
        change(folder, lambda data: (data.update(version=3, input_feeding=False), data.pop("model")))
        assert_refused(folder, folder / MANIFEST)
        export(loaded, folder, "fp32")
        Export.open(folder).verify()

    def test_is_the_same_each_time(self, loaded, tmp_path):
        for name in ("one", "two"):
            export(loaded, tmp_path / name)
        assert contents(tmp_path / "one") == contents(tmp_path / "two")

    def test_spares_what_is_no_export(self, loaded, tmp_path):
        (tmp_path / "thesis").mkdir()
        (tmp_path / "thesis" / "thesis.tex").write_text("years of work")
        (tmp_path / "file").write_text("more")
        for name in ("thesis", "file"):
            with pytest.raises(ValueError, match=f"{tmp_path / name}: is there already .*choose another folder"):
                export(loaded, tmp_path / name)
        assert (tmp_path / "thesis" / "thesis.tex").read_text() == "years of work"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "thesis"]

    def test_an_unknown_precision(self, loaded, tmp_path):
        with pytest.raises(ValueError, match="precision: expected one of fp32, int8, compact, got 'int4'"):
            export(loaded, tmp_path / "new", "int4")
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("step", ["folder.sha256", "lstm_export.Vectors.save", "lstm_export._decoder_graph"])
    def test_a_failure_leaves_no_trace(self, loaded, folder, monkeypatch, step):
        def fail(*arguments, **options):
            raise OSError("No space left on device")

        before = contents(folder)
        monkeypatch.setattr(f"trellex.runtime.{step}", fail)
        for target in (folder, folder.parent / "new"):
            with pytest.raises(OSError, match="no space left"):
                export(loaded, target)
        assert contents(folder) == before
        assert [path.name for path in folder.parent.iterdir()] == [folder.name]

    def test_a_failure_at_the_very_end_keeps_the_earlier_export(self, loaded, folder, monkeypatch):
        replace = os.replace

        def fail(source, target):
            if Path(source).is_dir() and str(source).endswith(".new"):
                raise OSError("Input/output error")
            replace(source, target)

        before = contents(folder)
        monkeypatch.setattr("trellex.temporaries._exchange", lambda *folders: False)  # then they are renamed
        monkeypatch.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="Input/output error"):
            export(loaded, folder)
        assert contents(folder) == before
        assert [path.name for path in folder.parent.iterdir()] == [folder.name]

    def test_into_the_folder_that_one_is_in(self, loaded, tmp_path, monkeypatch):
        (tmp_path / "new").mkdir()
        monkeypatch.chdir(tmp_path / "new")
        export(loaded, Path("."))
        assert is_export(tmp_path / "new")


class TestForeignThings:
    def test_a_file_that_comes_while_the_export_is_made_is_spared(self, model_of, folder):
        with pytest.raises(ValueError, match="holds other files"), new_export(folder, Export.open(folder).manifest):
            (folder / "notes.txt").write_text("mine")
        assert (folder / "notes.txt").read_text() == "mine"
        assert [path.name for path in folder.parent.iterdir()] == [folder.name]

    @pytest.mark.parametrize("kind", ["link", "folder", "fifo"])
    @pytest.mark.parametrize("name", ["encoder.onnx", MANIFEST, "notes"])
    def test_links_and_folders_are_not_ours_whatever_their_names(self, model_of, folder, tmp_path, kind, name):
        change(folder, lambda data: data["files"].update(notes=[4, "0" * 64]))
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "thesis").write_bytes((folder / MANIFEST).read_bytes())
        (folder / name).unlink(missing_ok=True)
        if kind == "link":
            (folder / name).symlink_to(tmp_path / "mine" / "thesis")
        elif kind == "folder":
            shutil.move(tmp_path / "mine", folder / name)
        else:
            os.mkfifo(folder / name)
        before = sorted(path for path in tmp_path.rglob("*"))
        with pytest.raises(ValueError, match="holds other files; choose another folder"):
            export(model_of("binary-ec"), folder)
        assert sorted(path for path in tmp_path.rglob("*")) == before

    @pytest.mark.skipif(sys.platform != "linux", reason="names are text elsewhere")
    def test_a_name_that_is_no_text(self, model_of, folder, tmp_path):
        name = os.fsdecode(b"model\xff")
        problem = "its name is no UTF-8, which ONNX needs; choose another name$"
        with pytest.raises(ValueError, match=problem):
            export(model_of("binary-ec"), tmp_path / name)
        folder.rename(tmp_path / name)
        with pytest.raises(ValueError, match=problem):
            Export.open(tmp_path / name)

    @pytest.mark.parametrize("name", ["../thesis", "thesis/..", "/thesis", "notes/thesis"])
    def test_what_a_manifest_names_outside_is_not_touched(self, model_of, folder, name):
        (folder.parent / "thesis").write_text("years of work")
        change(folder, lambda data: data["files"].update({name: [13, "0" * 64]}))
        export(model_of("binary-ec"), folder)
        assert (folder.parent / "thesis").read_text() == "years of work"
        assert sorted(path.name for path in folder.parent.iterdir()) == [folder.name, "thesis"]

    def test_a_damaged_export_is_replaced(self, model_of, folder):
        """As the message about it advises."""
        (folder / "encoder.weights").write_bytes(b"short")
        export(model_of("binary-ec"), folder)
        load_export(folder)

    def test_a_link_stays_and_what_it_leads_to_is_replaced(self, model_of, folder):
        link, before = folder.with_name("link"), contents(folder)
        link.symlink_to(folder)
        export(model_of("binary-ec"), link)
        assert link.is_symlink()
        assert contents(folder) == contents(link) != before
        assert sorted(path.name for path in folder.parent.iterdir()) == [folder.name, "link"]

    @pytest.mark.parametrize("target", ["nowhere", "link"])
    def test_a_link_that_leads_nowhere(self, model_of, tmp_path, target):
        (tmp_path / "link").symlink_to(tmp_path / target)
        with pytest.raises(ValueError, match="link: is a link that leads nowhere; remove it"):
            export(model_of("binary-ec"), tmp_path / "link")
        assert [path.name for path in tmp_path.iterdir()] == ["link"]

    def test_an_export_with_other_files_beside_it_is_not_replaced(self, model_of, folder):
        (folder / "notes.txt").write_text("mine")
        with pytest.raises(ValueError, match="holds other files; choose another folder"):
            export(model_of("binary-ec"), folder)
        assert (folder / "notes.txt").read_text() == "mine"

    def test_weights_that_are_not_finite_are_not_exported(self, model_of, tmp_path):
        loaded = copy.deepcopy(model_of("binary-ec"))
        with torch.no_grad():
            loaded.model.head.bits.linear.bias[3] = torch.nan
        with pytest.raises(ValueError, match="head.bits.linear.bias is not finite: training diverged"):
            export(loaded, tmp_path / "new")
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        ("name", "other"), [("decoder", "encoder"), ("encoder", "decoder"), ("softmax", "decoder")]
    )
    def test_one_graph_in_place_of_another(self, both, tmp_path, name, other):
        folder = shutil.copytree(both("softmax")[2], tmp_path / "export")
        for variant in ("", ".signed"):
            if (folder / f"{name}{variant}.onnx").exists():
                (folder / f"{name}{variant}.onnx").write_bytes((folder / f"{other}{variant}.onnx").read_bytes())
        seal(folder, MANIFEST)
        with pytest.raises(ValueError, match=rf"{name}.*\.onnx: .*export the model again"):
            trellex.load(folder)

    @pytest.mark.parametrize("head", ["binary-ec", "hybrid-9-ec", "softmax"])
    @pytest.mark.parametrize("precision", ["fp32", "int8"])
    def test_a_graph_that_gives_more_than_it_declares(self, both, tmp_path, head, precision):
        """Its output is twice as wide, which would lead compiled code astray."""
        folder = shutil.copytree(both(head, precision)[2], tmp_path / "export")
        for path in folder.glob("decoder*.onnx"):
            graph = onnx.load(path, load_external_data=False)
            for node in graph.graph.node:
                node.output[:] = ["own output" if name == "output" else name for name in node.output]
                node.input[:] = ["own output" if name == "output" else name for name in node.input]
            graph.graph.initializer.append(onnx.numpy_helper.from_array(np.array([1, 1, 2]), "repeats"))
            graph.graph.node.extend(
                [
                    onnx.helper.make_node("NonZero", ["own output"], ["places"]),  # nobody knows how many
                    onnx.helper.make_node("ReduceMin", ["places"], ["first"], axes=[1], keepdims=0),
                    onnx.helper.make_node("Sub", ["first", "first"], ["zeros"]),
                    onnx.helper.make_node("Add", ["zeros", "repeats"], ["times"]),
                    onnx.helper.make_node("Tile", ["own output", "times"], ["output"]),
                ]
            )
            path.write_bytes(graph.SerializeToString())
        seal(folder, MANIFEST)
        with pytest.raises(ValueError, match=r"decoder.*\.onnx: .*export the model again"):
            trellex.load(folder).translate(["a b c"])

    def test_a_manifest_that_lists_nothing(self, folder):
        change(folder, lambda data: data.update(files={}))
        with pytest.raises(ValueError, match=r"trellex\.json: does not list .*; export the model again"):
            trellex.load(folder)
