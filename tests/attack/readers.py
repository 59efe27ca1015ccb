"""Readers of single files: a function for each, and whole files to begin from."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import lzma
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import workspace
from targets import FileTarget

from trellex.kinds import CHECKPOINT_FILE, CORPUS_FILE, EXPORT_FILE

ROOT = Path(__file__).resolve().parents[2]
MANY = 4  # files to begin from are enough


def _recipe(path: Path) -> None:
    from trellex.training.recipe import load_recipe

    load_recipe(path).identity()


def _recipes() -> list[bytes]:
    return _without_comments(ROOT / "recipes")


def _without_comments(folder: Path) -> list[bytes]:
    """The YAML files of a folder, short, so that faults hit what counts."""
    return [re.sub(rb" *#.*", b"", path.read_bytes()).strip() + b"\n" for path in sorted(folder.glob("*.yaml"))]


def _yaml_traps() -> list[bytes]:
    """Aliases that stand for a billion words, that hold themselves, and depth without end."""
    laughs = "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9))
    deep = [b"[" * 20_000, b"a: " + b"[" * 20_000, b"head: " + b"{a: " * 5000, b"- " * 20_000]
    return [f"a0: &a0 [x]\n{laughs}\nhead: *a8\n".encode(), b"head: &a [*a]\n", b"head: {<<: &m {a: *m}}\n", *deep]


def _grid(path: Path) -> None:
    from trellex.experiment.grid import Grid

    Grid.load(path)


def _grids() -> list[bytes]:
    return _without_comments(ROOT / "recipes" / "grids")


def _corpus(path: Path) -> None:
    from trellex.text import Corpus

    corpus = Corpus.open(path.parent)
    corpus.manifest.fingerprint()
    [corpus.split(name).source(0) for name in corpus.manifest.settings.splits()]


def _checkpoint(path: Path) -> None:
    from trellex.training.loading import load_checkpoint
    from trellex.training.origin import recipe_of

    load_checkpoint(path.parent)
    recipe_of(path.parent)


def _export(path: Path) -> None:
    from trellex.runtime.folder import Export

    Export.open(path.parent).verify()


def _array(path: Path) -> None:
    from trellex.npy import load_array

    for mapped in (False, True):
        assert load_array(path, (2, 3), np.float32, np.int8, remedy="make it again", mapped=mapped).shape == (2, 3)


def _arrays() -> list[bytes]:
    files = []
    for array in (np.arange(6, dtype=np.float32).reshape(2, 3), np.ones((2, 3), np.int8)):
        file = io.BytesIO()
        np.save(file, array)
        files.append(file.getvalue())
    return files


def _vocabulary(path: Path) -> None:
    from trellex.text.vocabulary import Vocabulary

    vocabulary = Vocabulary.load(path)
    copy = path.with_name("copy.txt")
    vocabulary.save(copy)
    assert Vocabulary.load(copy) == vocabulary


def _pieces(path: Path) -> None:
    """The checksum is made to fit, so that sentencepiece reads what it is given."""
    from trellex.text import build_tokenizer
    from trellex.text.pieces import MAX_BYTES, PieceModel

    with path.open("rb") as file:
        sha256 = hashlib.sha256(file.read(MAX_BYTES)).hexdigest()
    model = PieceModel.load(path, sha256, "make it again")
    tokenizer = build_tokenizer("bpe", pieces=model)
    for line in ("a cat sat here", "猫 <unk> ▁ \u200b" * 9, ""):
        tokenizer.detokenize(tokenizer.tokenize(line))
    model.pieces()


def _piece_models() -> list[bytes]:
    from trellex.text.piece_training import train_pieces

    lines = ["a cat sat on the mat", "the dog ate the food of a cat"] * 9
    return [train_pieces(kind, 60, "en", lines) for kind in ("bpe", "unigram")]


def _piece_traps() -> list[bytes]:
    """As many pieces as a file may have, lengths that it has not, and fields of fields of fields."""
    number = (b"\x0a\x0d\x0a\x06%06d\x15\0\0\0\0" % place for place in range(1_000_000))
    return [b"".join(number), b"\x0a\xff\xff\xff\xff\x07", b"\x9b\x06" * 100_000, bytes(1 << 25)]


def _text(path: Path) -> None:
    from trellex.text.lines import Amount, read_chunks, read_lines

    for chunk in read_chunks([path], amount=Amount()):
        assert all("\n" not in line.text for line in chunk)
    for line in read_lines(path):
        assert "\n" not in line


def _texts() -> list[bytes]:
    return [b"a b c\nd e\n", "\ufeffか き\r\n\r\n\n".encode(), b"\x00\x1b[0m\n\xff\n", b"x" * 2000, b"\n" * 3000]


def _packed(pack: Callable[[bytes], bytes]) -> Callable[[], list[bytes]]:
    """Lines; also two files in a row, and one that ends early."""
    return lambda: [*map(pack, _texts()), pack(b"a\n") * 2, pack(b"a\n") + b"rest", pack(b"a\nb\n")[:-3]]


def _bombs(pack: Callable[[bytes], bytes]) -> Callable[[], list[bytes]]:
    """Little that becomes much: a line of more than memory may hold, many lines, and many words in one."""
    return lambda: [pack(bytes(1 << 24)) * 72, pack(b"\n" * (1 << 19)), pack(b"a " * (1 << 22))]


def _code(path: Path) -> None:
    from trellex.codes import load_code

    code = load_code(path)
    words = np.arange(min(code.vocab_size, 1000))
    assert np.array_equal(code.words(code.numbers(words)), words)
    assert np.array_equal(code.ids(code.bits(words)), words)
    if code.automaton is not None:
        assert code.automaton.shape[0] == code.num_bits


def _codes() -> list[bytes]:
    return [
        b'{"type": "frequency", "vocab_size": 40}',
        b'{"type": "permuted", "numbers": [2, 0, 1, 3]}',
        b'{"type": "permuted", "ids": [1, 0]}',
        b'{"type": "huffman", "lengths": [1, 2, 3, 3]}',
    ]


def _shortlist(path: Path) -> None:
    from trellex.shortlist.shortlist import Shortlist

    shortlist = Shortlist.load(path)
    for word in range(min(shortlist.header.source_words, 100)):
        words = shortlist.words_for(np.array([word]))
        assert len(words) >= 3
        assert words[-1] < shortlist.header.target_words
    shortlist.save(path)
    Shortlist.load(path)


def _shortlists() -> list[bytes]:
    """One as it is written, and one without checksums, whose faults are not found by those."""
    from trellex.shortlist.shortlist import Header

    body = np.array([0, 0, 1, 2, 1, 5, 3, 4, 6], "<u4").tobytes()  # of 4 source words and NULL, then their words
    sizes = {"source_words": 4, "target_words": 8, "frequent": 3, "translations": 4}
    known = {"source_vocabulary": "", "target_vocabulary": "", "sha256": hashlib.sha256(body).hexdigest()}
    header = Header(**sizes, **known)
    return [header.as_line() + body, header.model_dump_json().encode() + b"\n" + body]


def _result(path: Path) -> None:
    from trellex.evaluation.result import Result

    result = Result.load(path)
    assert all((result.cell.name, result.cell.method, result.cell.direction, result.test_bleu))
    result.save(path)
    Result.load(path)


def _results() -> list[bytes]:
    files = sorted((ROOT / "docs" / "results" / "cells").glob("*.json"))[:MANY]
    results = [json.loads(path.read_bytes()) for path in files]
    for result in results:  # a few sentences are enough
        result["rarest"] = result["rarest"][:2]
        for score in result["scores"].values():
            score["sentences"] = score["sentences"][:2]
    return [json.dumps(result).encode() for result in results]


def _metrics(path: Path) -> None:
    from trellex.training.metrics import Metrics, drop_metrics

    metrics = Metrics.read(path.parent)
    for name in ("step", "evaluations", "losses", "tokens", "seconds", "tokens_per_second", "peak_memory"):
        getattr(metrics, name)
    drop_metrics(path.parent, after=60)


def _best(path: Path) -> None:
    from trellex.training import checkpoint

    checkpoint.best_checkpoint(path.parent)


def _changes(path: Path) -> None:
    from trellex.training.changes import parse_changes
    from trellex.training.recipe import load_recipe

    lines = path.read_bytes().decode("utf-8").split("\n")
    load_recipe(ROOT / "recipes" / "phrasebook.yaml", parse_changes(filter(None, lines)))


def _set_options() -> list[bytes]:
    return [
        b"training.learning_rate=0.002\nhead.loss=trellis\n",
        b"head={type: binary-ec, loss: trellis, mixtures: 4}\noutput=x\n",
        b"training={seed: 3}\nmodel.hidden_size=64\ntraining.decay_steps=null\n",
    ]


def _head_text(path: Path) -> None:
    from trellex.heads.spec import HeadSpec
    from trellex.training.recipe import parse_head

    head = HeadSpec.parse(parse_head(path.read_bytes().decode("utf-8")))
    assert HeadSpec.parse(head.model_dump()) == head
    assert all((head.label, head.as_text(), head.order))


def _head_texts() -> list[bytes]:
    return [
        b"hybrid-512-ec",
        b"{type: binary-ec, loss: trellis, mixtures: 4, hidden_layer: 9, generators: ['101', '111']}",
        b"{type: hybrid-9, numbering: rare, code: {type: permuted, numbers: [1, 0, 2]}, softmax_weight: 0.5}",
        b"{type: binary, code: random, seed: 7, decoding: paper, label_smoothing: 0.1, reduction: mean}",
        b"{type: hybrid-9-ec, generators: complete, memory: 6, code: clusters}",
        b"{type: shelves, words: 32, visit: 4, memory: 6, shelf_weight: 0.5}",
        b"{type: free, bits: 128, loss: sampled, samples: 99}",
    ]


def _bulk_plan(path: Path) -> None:
    from trellex.bulk.plan import Plan

    plan = Plan.load_json(path, "a plan", "make it again")
    for number in {1, (plan.shards + 1) // 2, plan.shards}:
        assert sum(piece.end - piece.first for piece, _ in plan.pieces(number)) == plan.rows_of(number)
        assert plan.output(path.parent, number).parent == path.parent


def _bulk_plans() -> list[bytes]:
    source = {"name": "a", "size": 9, "modified": 1, "sha256": "", "rows": 5}
    settings = {"beam": 1, "seed": None, "column": None}
    plan = {"kind": "lines", "shards": 2, "model": "", "settings": settings, "marks": [[0, 0], [2, 4]]}
    return [json.dumps(plan | {"sources": [source, source | {"rows": 0}]}).encode()]


def _parquet(path: Path) -> None:
    from trellex.bulk.division import Piece
    from trellex.bulk.job import Settings
    from trellex.bulk.parquet import check_schemas, read_chunks, rows_in

    settings = Settings(column="text", new_column="translation")
    check_schemas([path], settings)
    for chunk in read_chunks(path, Piece(0, 0, rows_in(path)), settings):
        assert len(chunk.lines) == len(chunk.batch)


def _parquets() -> list[bytes]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    files = []
    for compression in ("none", "zstd"):
        file = io.BytesIO()
        table = pa.table({"text": ["a", None, "b c"] * 4, "id": range(12), "tags": [["x", "y"]] * 12})
        pq.write_table(table, file, row_group_size=5, compression=compression)
        files.append(file.getvalue())
    return files


FILES = [
    FileTarget("recipe", "recipe.yaml", _recipe, _recipes, _yaml_traps, is_guided=True),
    FileTarget("changes", "changes.txt", _changes, _set_options, is_guided=True),
    FileTarget("head-text", "head.yaml", _head_text, _head_texts, _yaml_traps, is_guided=True),
    FileTarget("grid", "grid.yaml", _grid, _grids, _yaml_traps),
    FileTarget("manifest", f"{workspace.CORPUS}/{CORPUS_FILE}", _corpus, is_guided=True),
    FileTarget("checkpoint-json", f"{workspace.CHECKPOINT}/{CHECKPOINT_FILE}", _checkpoint),
    FileTarget("export-json", f"{workspace.EXPORT}/{EXPORT_FILE}", _export, is_guided=True),
    FileTarget("array", "array.npy", _array, _arrays, is_guided=True),
    FileTarget("vocabulary", f"{workspace.CORPUS}/vocab.source.txt", _vocabulary, is_guided=True),
    FileTarget("pieces", "pieces.source.model", _pieces, _piece_models, _piece_traps),
    FileTarget("text", "text.txt", _text, _texts, is_guided=True),
    FileTarget("gzip", "text.gz", _text, _packed(gzip.compress), _bombs(gzip.compress)),
    FileTarget("xz", "text.xz", _text, _packed(lzma.compress), _bombs(lzma.compress)),
    FileTarget("code", "code.json", _code, _codes, is_guided=True),
    FileTarget("shortlist", "words.shortlist", _shortlist, _shortlists, is_guided=True),
    FileTarget("result", "result.json", _result, _results, is_guided=True),
    FileTarget("metrics", f"{workspace.RUN}/metrics.jsonl", _metrics),
    FileTarget("best", f"{workspace.RUN}/best.json", _best),
    FileTarget("bulk-plan", "plan.json", _bulk_plan, _bulk_plans, is_guided=True),
    FileTarget("parquet", "text.parquet", _parquet, _parquets),
]
