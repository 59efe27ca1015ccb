"""`trellex export`, and what an exported model says on the command line."""

import json

import pytest
from test_command_line import UNKNOWN, assert_error, contents
from test_score import lines_of, summary
from test_search import assert_alike, parsed

PRECISIONS = ("fp32", "int8")


@pytest.fixture(scope="module")
def exported(process, trained, tmp_path_factory):
    """The run in both precisions, by its name, and what the command printed."""
    folder = tmp_path_factory.mktemp("exported")
    told = {}
    for precision in PRECISIONS:
        result = process("export", trained.run, folder / precision, "--precision", precision, "--json")
        assert (result.exit_code, result.stderr) == (0, "")
        told[precision] = json.loads(result.stdout)
    return folder, told


@pytest.fixture(scope="module")
def fp32(exported):
    return exported[0] / "fp32"


@pytest.fixture(scope="module")
def source(phrasebook, tmp_path_factory):
    sentences = (phrasebook / "test.en").read_text().splitlines()[:20]
    path = tmp_path_factory.mktemp("source") / "source.en"
    path.write_text("\n".join([*sentences[:5], "", UNKNOWN, *sentences[5:], " "]) + "\n")
    return path


class TestExport:
    def test_tells_what_it_wrote(self, exported):
        folder, told = exported
        for precision in PRECISIONS:
            files = {path.name: path.stat().st_size for path in (folder / precision).iterdir()}
            expected = {"folder": str(folder / precision), "precision": precision, "bytes": sum(files.values())}
            assert told[precision] == expected | files
            assert "trellex.json" in files
        assert told["int8"]["bytes"] < 0.85 * told["fp32"]["bytes"]  # small layers stay as they are

    def test_for_people(self, trellex, trained, tmp_path):
        result = trellex("export", trained.run, tmp_path / "new")
        assert (result.exit_code, result.stderr) == (0, "")
        assert "int8" in result.stdout
        assert "encoder.onnx" in result.stdout

    def test_a_checkpoint_and_an_earlier_export(self, trellex, trained, tmp_path):
        for checkpoint in sorted(trained.run.glob("step-*"))[:2]:
            assert trellex("export", checkpoint, tmp_path / "new").exit_code == 0
            assert [path.name for path in tmp_path.iterdir()] == ["new"]

    def test_another_decoding(self, trellex, trained, source, tmp_path):
        for decoding in ("paper", "exact"):
            options = ("--precision", "fp32", "--decoding", decoding)
            assert trellex("export", trained.run, tmp_path / decoding, *options).exit_code == 0
            ours = trellex("translate", trained.run, source, "--decoding", decoding).stdout
            assert trellex("translate", tmp_path / decoding, source).stdout == ours

    def test_bad_options(self, trellex, trained, exported, tmp_path):
        new = tmp_path / "new"
        assert_error(trellex("export", trained.run, new, "--precision", "int4"), "precision", "fp32, int8", "'int4'")
        assert_error(trellex("export", trained.run, new, "--decoding", "exakt"), "decoding", "'exakt'")
        assert_error(trellex("export", tmp_path / "none", new), tmp_path / "none")
        assert_error(trellex("export", tmp_path, new), tmp_path, "train first")
        assert list(tmp_path.iterdir()) == []

    def test_what_is_no_export_is_spared(self, trellex, trained, copied):
        before = contents(copied)
        assert_error(trellex("export", trained.run, copied), copied, "choose another folder")
        assert contents(copied) == before


class TestTranslate:
    @pytest.mark.parametrize(
        "options",
        [(), ("--tokens",), ("--beam", 5), ("--batch-tokens", 20), ("--threads", 2)],
        ids=str,
    )
    def test_says_what_the_run_says(self, trellex, trained, fp32, source, options):
        ours, theirs = (trellex("translate", model, source, *options) for model in (trained.run, fp32))
        assert (theirs.exit_code, theirs.stderr) == (0, "")
        assert theirs.stdout == ours.stdout
        assert theirs.stdout.count("\n") == 23

    @pytest.mark.parametrize(
        "options", [("--json",), ("--beam", 5, "--nbest", 3), ("--beam", 5, "--nbest", 3, "--threads", 2)], ids=str
    )
    def test_and_thinks_what_it_thinks(self, trellex, trained, fp32, source, options):
        ours, theirs = (trellex("translate", model, source, *options).stdout for model in (trained.run, fp32))
        assert_alike(parsed(theirs), parsed(ours))

    def test_in_a_process_of_its_own(self, process, trellex, fp32, source):
        result = process("translate", fp32, text=source.read_text())
        assert (result.exit_code, result.stderr) == (0, "")
        assert result.stdout == trellex("translate", fp32, source).stdout

    def test_in_eight_bits_most_words_stay(self, trellex, exported, fp32, source):
        ours, theirs = (trellex("translate", model, source).stdout for model in (fp32, exported[0] / "int8"))
        same = sum(a == b for a, b in zip(ours.split("\n"), theirs.split("\n"), strict=True))
        assert same > 11

    def test_samples(self, trellex, exported, source):
        for precision in PRECISIONS:
            arguments = ("translate", exported[0] / precision, source, "--sample", "--nbest", 2, "--seed")
            first, again, other = (trellex(*arguments, seed).stdout for seed in (3, 3, 4))
            assert first == again != other

    def test_bad_options(self, trellex, fp32, source):
        for options in (("--device", "cuda"), ("--decoding", "exact")):
            assert_error(trellex("translate", fp32, source, *options), fp32, "leave the option out")
        result = trellex("translate", fp32, source, "--threads", 0)
        assert result.exit_code == 2
        assert "--threads" in result.stderr

    def test_a_damaged_export(self, trellex, fp32, source, tmp_path):
        for name, content in contents(fp32).items():
            (tmp_path / name.name).write_bytes(content[:-1] if name.name == "decoder.onnx" else content)
        result = trellex("translate", tmp_path, source)
        assert_error(result, tmp_path / "decoder.onnx", "damaged", "export the model again")


class TestScore:
    def test_says_what_the_run_says(self, trellex, trained, fp32, phrasebook, tmp_path):
        pairs = phrasebook / "test.en", phrasebook / "test.ja"
        ours, theirs = (
            summary(trellex("score", model, *pairs, "--json", "--calibration", "--output", tmp_path / model.name))
            for model in (trained.run, fp32)
        )
        assert theirs["log-probability"] == pytest.approx(ours["log-probability"], abs=0.05)
        for key in ("sentences", "tokens", "unknown tokens"):
            assert theirs[key] == ours[key]
        assert theirs["calibration error"] == pytest.approx(ours["calibration error"], abs=2e-3)
        for mine, other in zip(lines_of(tmp_path / trained.run.name), lines_of(tmp_path / "fp32"), strict=True):
            assert other["tokens"] == mine["tokens"]
            assert other["log_probs"] == pytest.approx(mine["log_probs"], abs=1e-3)

    def test_eight_bits_cost_little(self, trellex, exported, phrasebook):
        pairs = phrasebook / "test.en", phrasebook / "test.ja"
        ours, theirs = (summary(trellex("score", exported[0] / name, *pairs, "--json")) for name in PRECISIONS)
        assert theirs["perplexity"] == pytest.approx(ours["perplexity"], rel=0.02)
