"""The benchmarks run, on sizes that take no time; what they measure is not asserted, but that they measure it is."""

import importlib.util
import json
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from trellex.text import PrepareSettings, prepare

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "heads.py"
CPU_SCRIPT = SCRIPT.with_name("cpu")
TRAINING_SCRIPT = SCRIPT.with_name("training.py")


@contextmanager
def imported(path):
    spec = importlib.util.spec_from_file_location(f"benchmark_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture(scope="module")
def heads():
    with imported(SCRIPT) as module:
        yield module


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
class TestMemory:
    def test_an_array_is_measured_as_large_as_it_is(self, heads):
        assert heads.growth_of_array() == pytest.approx(64 << 20, rel=0.03)

    def test_memory_that_was_free_before_counts_again(self, heads):
        job = lambda: [torch.ones(1000) for _ in range(4000)]  # noqa: E731  small pieces, which the C library keeps
        job()
        assert heads.growth_of(job, "cpu") == pytest.approx(16_000_000, rel=0.1)


def test_zipf_draws_words_of_the_vocabulary_and_half_of_them_from_its_root(heads):
    words = heads.zipf(10_000, 1 << 16, torch.Generator().manual_seed(0))
    assert words.min() == 0
    assert words.max() < 1 << 16
    share = (words < 255).double().mean()
    assert share == pytest.approx(heads.zipf_share(0, 255, 1 << 16), abs=0.02)
    assert share == pytest.approx(0.5, abs=0.02)


def test_the_largest_tensor_of_a_code_head_is_its_weights_gradient(heads):
    (contender,) = (contender for contender in heads.CONTENDERS if contender.name == "binary-ec, trellis")
    largest = heads.largest_of(contender, 1 << 20, heads.Job(is_loss=True, rows=1))
    assert largest.largest == 52 * 512
    assert largest.largest_other < (1 << 20) / 500
    assert largest.python_bytes < 1 << 20


class TestWarmUp:
    def test_jobs_go_through_many_hidden_states(self, heads):
        """As many with one row a batch as with 64; then the first comes again."""
        seen = []
        head = torch.nn.Linear(1, 1)
        head.topk = lambda h, k: seen.append(h)
        for rows, batches in ((1, 1024), (64, 16)):
            job = heads.Job(is_loss=False, rows=rows).prepared(head, 100)
            seen.clear()
            for _ in range(batches + 1):
                job()
            assert {tuple(h.shape) for h in seen} == {(rows, heads.HIDDEN)}
            assert len({float(h[0, 0]) for h in seen}) == batches
            assert torch.equal(seen[0], seen[-1])

    def test_a_round_times_a_job_that_has_run(self, heads, monkeypatch):
        """A job takes 5 ms, but 50 ms when it is new: that run is not timed, in any round."""
        now, runs = [0.0], []

        def prepared(*_):
            runs.append(0)
            return job

        def job():
            runs[-1] += 1
            now[0] += 0.005 if runs[-1] > 1 else 0.05

        monkeypatch.setattr(heads.time, "perf_counter", lambda: now[0])
        monkeypatch.setattr(heads.Job, "prepared", prepared)
        cell = heads.Cell(heads.CONTENDERS[0], 100, heads.Job(is_loss=False, rows=1), "cpu", parameter_bytes=0)
        cell.repeats, cell.rounds_left = 4, 3
        for _ in range(3):
            cell.run(torch.nn.Identity(), 3)
        assert cell.times == pytest.approx([0.005] * 3)
        assert runs == [5] * 3
        assert cell.rounds_left == 0

    def test_a_fast_job_is_warmed_up_as_long_as_it_is_timed(self, heads, monkeypatch):
        now = [0.0]

        def job():
            now[0] += 1 / 1024

        monkeypatch.setattr(heads.time, "perf_counter", lambda: now[0])
        monkeypatch.setattr(heads.Job, "prepared", lambda *_: job)
        cell = heads.Cell(heads.CONTENDERS[0], 100, heads.Job(is_loss=False, rows=1), "cpu", parameter_bytes=0)
        cell.run(torch.nn.Identity(), 9)
        assert (cell.repeats, cell.rounds_left) == (20, 8)
        assert now[0] == pytest.approx(2 * heads.FAST, rel=0.1)


@pytest.mark.parametrize("name", ["binary-ec, complete, memory 6", "hybrid-2048-ec, complete, memory 6"])
def test_a_short_memory_has_few_logits(heads, name):
    (contender,) = (contender for contender in heads.CONTENDERS if contender.name == name)
    frequent = 2048 if name.startswith("hybrid") else 0
    logits = contender.parameter_bytes(1 << 24) // heads.FLOAT // (heads.HIDDEN + 1)
    assert logits - frequent == pytest.approx(1215, abs=1)


def test_tokens_of_a_round_are_divided_by_its_own_time(monkeypatch):
    """Batches of 10 and of 30 tokens at 10 tokens a second: the rounds differ, their speed does not."""
    now = [0.0]

    def train_on(tokens):
        now[0] += tokens / 10

    with imported(TRAINING_SCRIPT) as training:
        monkeypatch.setattr(training.time, "perf_counter", lambda: now[0])
        feed = SimpleNamespace(
            epoch=lambda _: [1] * training.WARM_UP + [10, 10, 30, 30, 30], tokens_of=lambda tokens: tokens
        )
        trainer = SimpleNamespace(model=torch.nn.Identity(), feed=feed, train_on=train_on)
        monkeypatch.setattr(training, "Trainer", lambda *_: trainer)
        recipe = training.Recipe(data="data", output="run", training={"device": "cpu"})
        contender = training.Contender(recipe)
        for number in range(2):
            contender.round(number, 2)
    assert contender.seconds == pytest.approx([1, 3])
    assert contender.speeds == pytest.approx([10, 10])


def test_training_of_output_layers_is_timed(tmp_path, monkeypatch):
    texts = {}
    for key in ("train_source", "train_target", "dev_source", "dev_target"):
        texts[key] = tmp_path / key
        texts[key].write_text("".join(f"w{row % 17} w{row}\n" for row in range(40)))
    languages = {"source_language": "en", "target_language": "ja"}
    tokenizers = {"source_tokenizer": "whitespace", "target_tokenizer": "whitespace"}
    prepare(PrepareSettings(**texts, **languages, **tokenizers), tmp_path / "data")
    options = ["--batch-tokens", "8", "--size", "8", "--steps", "2", "--rounds", "2", "--json", tmp_path / "rows.json"]
    command = [TRAINING_SCRIPT, tmp_path / "data", "--head", "softmax", "--head", "binary-ec", *options]
    monkeypatch.setattr(sys, "argv", list(map(str, command)))
    with imported(TRAINING_SCRIPT) as training:
        training.main()
    first, second = json.loads((tmp_path / "rows.json").read_text())["rows"]
    assert (first["head"], second["head"], first["of the first"]) == ("softmax", "binary-ec", 1)
    assert min(first["tokens/s"], second["tokens/s"], first["tokens a step"]) > 0


def test_words_of_a_mixture_are_compared_with_enumeration(run, tmp_path, monkeypatch, capsys):
    (tmp_path / "source").write_text("s3 s4 s5\ns9\n")
    (tmp_path / "target").write_text("t3 t4\nt9 t30 t12\n")
    arguments = [run[0], tmp_path / "source", tmp_path / "target", "--device", "cpu", "--states", 5]
    monkeypatch.setattr(sys, "argv", ["mixture.py", *map(str, arguments)])
    with imported(SCRIPT.with_name("mixture.py")) as mixture:
        mixture.main()
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == "5 of 7 hidden states, V = 40"
    assert [line.split()[-1] for line in lines] == ["100.000%"] * 4  # a single part: always


@pytest.mark.slow
def test_the_whole_benchmark(heads, tmp_path):
    command = [sys.executable, str(SCRIPT), "--rounds", "1", "--tokens", "2", "--vocab", "12", "13", "--device", "cpu"]
    subprocess.run([*command, "--json", str(tmp_path / "numbers.json")], check=True)
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    assert len(numbers["cells"]) == len(heads.CONTENDERS) * 2 * len(heads.jobs_of(2))
    assert all(cell["seconds"] > 0 and cell["job_bytes"] is not None for cell in numbers["cells"])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_some_heads_alone_are_measured(tmp_path):
    names = ["binary-ec, trellis", "binary-ec, complete, memory 6"]
    options = ["--rounds", "1", "--tokens", "2", "--vocab", "12", "13", "--device", "cpu", "--head", names[0]]
    command = [sys.executable, str(SCRIPT), *options, "--head", names[1], "--json", str(tmp_path / "numbers.json")]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout
    assert "softmax" not in printed
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    assert [(cell["head"], cell["vocab"]) for cell in numbers["cells"][::3]] == [
        (name, vocab) for vocab in (1 << 12, 1 << 13) for name in names
    ]
    assert {row["head"] for row in numbers["largest"]} == set(names)
    assert all(cell["seconds"] > 0 and cell["job_bytes"] is not None for cell in numbers["cells"])


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_translation_on_a_cpu(tmp_path):
    pytest.importorskip("ctranslate2")
    command = [sys.executable, str(CPU_SCRIPT), "--quick", "--json", str(tmp_path / "numbers.json")]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    assert "no output layer" in printed
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    assert len(numbers["methods"]) == 14 * 2 * 2
    assert {"shelves", "softmax shortlist", "binary-ec complete"} < {cell["method"] for cell in numbers["methods"]}
    assert len(numbers["sweep"]) == 5 * 2 * 2
    assert len(numbers["engines"]["cells"]) == 5 * 2
    assert all(cell["total"] > 0 for cell in (*numbers["methods"], *numbers["sweep"], *numbers["engines"]["cells"]))
    assert {row["engine"] for row in numbers["memory"]} == {"trellex", "torch", "ctranslate2"}
    assert all(row["peak"] >= row["imports"] > 0 for row in numbers["memory"])
    assert numbers["budget"]["loop"] > 0


def test_the_demo_compares_methods():
    command = [sys.executable, str(CPU_SCRIPT / "minute.py"), "--quick"]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout
    rows = [line.split("│")[1:-1] for line in printed.splitlines() if line.startswith("│")]
    assert [row[0].strip() for row in rows] == ["softmax", "hybrid-2048-ec", "shelves", "binary-ec"]
    assert all(float(row[3]) > 0 for row in rows)


def test_the_models_of_the_package_are_measured(tmp_path):
    for split in ("test", "tanaka"):
        (tmp_path / f"{split}.en").write_text("Where is the station?\nHe is a doctor.\n", encoding="utf-8")
        (tmp_path / f"{split}.ja").write_text("駅はどこですか。\n彼は医者です。\n", encoding="utf-8")
    command = [sys.executable, str(SCRIPT.with_name("models.py")), str(tmp_path), "--model", "en-ja"]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout
    rows = [line.split("│")[1:-1] for line in printed.splitlines() if line.startswith("│")]
    assert [(row[0].strip(), row[1].strip()) for row in rows] == [
        (corpus, search) for corpus in ("Tatoeba, 2", "Tanaka, 2") for search in ("greedy", "beam 5")
    ]
    assert "beam 5" in printed.splitlines()[-1]


def test_gradients_by_drawn_words_are_compared(tmp_path):
    sizes = ("--words", 70, "--size", 8, "--steps", 2, "--learning-steps", 1, "--repeats", 2)
    sizes += ("--many-words", 70, "--large-size", 8)
    command = [SCRIPT.with_name("sampling.py"), *sizes, "--plot", tmp_path / "errors.svg"]
    done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [row[0] for row in rows if row[2:] and row[2] == "/"] == ["4", "16", "64"]
    assert sum(bool(row) and row[0].rstrip(",") in ("full", "sampled", "nce", "negative") for row in rows) == 8 + 4
    assert (tmp_path / "errors.svg").stat().st_size > 1000


@pytest.mark.slow
def test_bulk_translation_is_timed(tmp_path):
    sizes = ("--hidden", 16, "--words", 256, "--lines", 24, "--length", 3, "--shards", 3, "--rounds", 1)
    options = (*sizes, "--workers", 1, "--no-ray", "--json", tmp_path / "figures.json")
    command = [sys.executable, SCRIPT.with_name("bulk.py"), "--method", "binary-ec", *map(str, options)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert figures["words a line"] > 0
    ((whole,), (speed,)) = (figures["ways"]["1 process"][key] for key in ("with the start", "lines/s"))
    assert speed > whole > 0


@pytest.mark.slow
def test_startup_compares_ways_to_start():
    script, model = SCRIPT.with_name("startup.py"), Path(__file__).parents[1] / "models" / "export"
    other = ("--other", SCRIPT.parents[1] / "src")
    done = subprocess.run([sys.executable, script, model, "--rounds", "1", *other], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    name, size, *figures = done.stdout.splitlines()[-2].replace("│", " ").split()
    assert (name, float(size)) == ("export", pytest.approx(0.2, abs=0.1))
    assert len(figures) == 5
    assert all(float(figure) > 0 for figure in figures)


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_server_is_measured_under_load(tmp_path):
    script, models = SCRIPT.with_name("serve.py"), Path(__file__).parents[1] / "models"
    text = tmp_path / "text"
    text.write_text("may i sing here ?\nhe is rude and famous .\n")
    sizes = ("--clients", "4", "--seconds", "0.3", "--rounds", "1", "--round-seconds", "0.3", "--warm-up", "0.1")
    files = ("--model", models / "export", "--text", text, "--json", tmp_path / "numbers.json")
    done = subprocess.run([sys.executable, script, *sizes, *files], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "requests a second, one by one" in done.stdout
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    assert numbers["errors"] == 0
    assert min(numbers["requests"], numbers["ratio"], *numbers["milliseconds"].values()) > 0
    assert min(numbers["resident"].values()) > 1 << 20


def test_what_output_layers_cost_on_a_gpu(tmp_path):
    """Without one everything is computed in main memory, and directly."""
    sizes = {"--exponents": "8", "--batches": "2", "--tokens": "24", "--rounds": "1", "--json": tmp_path / "gpu.json"}
    options = [each for pair in sizes.items() for each in pair]
    command = [sys.executable, SCRIPT.with_name("gpu.py"), *options, "--head", "binary-ec", "--head", "shelves"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout.count("shelves") == found.stdout.count("binary-ec") == 3
    rows = json.loads((tmp_path / "gpu.json").read_text())
    heads = ["binary-ec", "shelves"]
    found = [
        [row["head"] for row in rows[table]][:3] for table in ("decoding", "training", "alone")
    ]  # then others' losses
    assert found == [
        heads,
        [*heads, "softmax, PyTorch"],
        [*heads, "softmax, PyTorch"],
    ]
    assert all(row.get("ms", 1) > 0 and row.get("ms a sentence", 1) > 0 for table in rows.values() for row in table)


def test_what_beams_cost_on_a_gpu_and_what_recording_brings(tmp_path):
    sizes = {"--exponents": "8", "--batches": "2", "--rounds": "1", "--beam": "3", "--json": tmp_path / "gpu.json"}
    options = [each for pair in sizes.items() for each in pair]
    command = [sys.executable, SCRIPT.with_name("gpu.py"), *options, "--head", "shelves", "--common", "--tokens"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "beams of 3, 256 words" in found.stdout
    rows = json.loads((tmp_path / "gpu.json").read_text())
    assert [(row["head"], row["beam"]) for row in rows["decoding"]] == [("shelves", 3), ("shelves, word by word", 3)]
    assert all(row["ms a sentence"] > 0 for row in rows["decoding"])
    assert rows["training"] == rows["alone"] == []


def test_trained_models_translate_on_a_gpu_as_on_the_cpu(run, tmp_path, monkeypatch, capsys):
    folder, loaded = run
    words = loaded.source_vocabulary.tokens(range(3, 12))
    texts = {}
    for key in (f"{split}_{side}" for split in ("train", "dev", "test") for side in ("source", "target")):
        texts[key] = tmp_path / key
        texts[key].write_text("".join(f"{word} {words[0]}\n" for word in words))
    languages = {"source_language": "en", "target_language": "ja"}
    tokenizers = {"source_tokenizer": "whitespace", "target_tokenizer": "whitespace"}
    prepare(PrepareSettings(**texts, **languages, **tokenizers), tmp_path / "data")
    options = ["--alone", 2, "--batch", 4, "--rounds", 1, "--json", tmp_path / "rows.json"]
    monkeypatch.setattr(sys, "argv", list(map(str, ["gpu_models.py", tmp_path / "data", folder, *options])))
    with imported(SCRIPT.with_name("gpu_models.py")) as gpu_models:
        gpu_models.main()
    (row,) = json.loads((tmp_path / "rows.json").read_text())
    assert (row["run"], row["equal"], row["sentences"]) == ("run", 9, 9)
    assert min(row["alone"], row["together"], row["words"]) > 0
    assert "9 of 9" in capsys.readouterr().out
