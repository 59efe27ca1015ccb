"""The corpus: text is prepared once, as a folder of ids, vocabularies and a manifest, and opened by all others.

prepare(PrepareSettings(...), "data/kftt")
corpus = Corpus.open("data/kftt")
corpus.split("train").source(0)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Literal, Self

from trellex.checksums import check_sums, sha256
from trellex.files import AnyPath, atomic_folder, atomic_writer, check_file, check_writable, resolved
from trellex.temporaries import sweep
from trellex.text.doubts import pair_ratio
from trellex.text.languages import check_language
from trellex.text.lines import OWN_MAX_BYTES, read_lines, read_pairs
from trellex.text.manifest import (
    MANIFEST,
    PIECE_MODELS,
    REMEDY,
    SIDES,
    VOCABULARIES,
    InputFile,
    Manifest,
    PrepareSettings,
    corpus_files,
    split_files,
)
from trellex.text.parallel import Ids, ParallelIds, write_ids
from trellex.text.piece_training import PieceError, train_pieces
from trellex.text.pieces import PieceModel, pieces_file
from trellex.text.tally import Tally
from trellex.text.tokenizers import Detokenizer, Tokenizer, plain, unmarked
from trellex.text.vocabulary import MARKERS, UNK, Vocabulary

__all__ = ["Corpus", "Manifest", "ParallelIds", "PrepareSettings", "prepare"]

Report = Callable[[str, int, int | None], None]  # what is going on, how much is done, of how much if known
REPORT_EVERY = 1000  # pairs
PIECE_LINES = 1_000_000  # that pieces are learnt from, at most
_UNREADABLE = "\ufffd"


class Corpus:
    """A prepared corpus. Ids stay on disk and are mapped into memory.

    Attributes:
        manifest: what it was made from and what came of it
        source_vocabulary, target_vocabulary: word ↔ id
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.manifest = manifest
        self.source_vocabulary = _load_vocabulary(folder / "vocab.source.txt", manifest.source_vocabulary)
        self.target_vocabulary = _load_vocabulary(folder / "vocab.target.txt", manifest.target_vocabulary)
        self._splits = {name: ParallelIds(folder, name, manifest) for name in manifest.settings.splits()}

    @classmethod
    def open(cls, folder: AnyPath) -> Self:
        """Open what `prepare` made. Raises ValueError that names the file that is missing or damaged."""
        folder = Path(folder)
        manifest = Manifest.load(folder)
        for name in corpus_files(manifest.settings):
            path, expected = folder / name, manifest.files.get(name)
            check_file(path, REMEDY)
            if path.stat().st_size != expected:
                raise ValueError(f"{path}: has {path.stat().st_size} bytes, not {expected} as prepared; {REMEDY}")
        check_sums(folder, manifest.sha256 or {}, REMEDY)  # older versions had none
        return cls(folder, manifest)

    def split(self, name: str) -> ParallelIds:
        """The sentence pairs of `train`, `dev` or, if there is one, `test`."""
        if name not in self._splits:
            raise ValueError(f"split: this corpus has {', '.join(self._splits)}, not {name!r}")
        return self._splits[name]

    def target_words(self, tokens: Sequence[str]) -> list[str]:
        """Target tokens as the words that token BLEU compares: pieces are joined to text, and that is cut into words.

        An unknown piece is a character that no text has. tokens [T] -> words [T'], the same where they are words
        """
        if not self.manifest.settings.has_pieces("target"):
            return list(tokens)
        known = [_UNREADABLE if token == MARKERS[UNK] else token for token in tokens]
        return self._word_tokenizer.tokenize(self._detokenizer.detokenize(known))

    @cached_property
    def _detokenizer(self) -> Detokenizer:
        return self.manifest.settings.detokenizer()

    @cached_property
    def _word_tokenizer(self) -> Tokenizer:
        return self.manifest.settings.word_tokenizer()


def prepare(settings: PrepareSettings, folder: AnyPath, report: Report | None = None) -> Manifest:
    """Tokenise, filter, count and number a corpus; the folder appears, or is replaced, whole or not at all.

    Text is streamed: memory holds the word counts, never the corpus. If the folder was made from the same
    settings and files nothing is done.

    Args:
        settings: the files, and how to cut and count them
        folder: where the corpus goes; may hold an older one
        report: called now and then with a stage, what is done and of how much; what it raises ends the work
    """
    folder, report = resolved(folder), report or (lambda stage, done, total: None)
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / MANIFEST).exists())):
        raise ValueError(f"{folder}: exists and is no prepared corpus; choose another folder, or remove it")
    for side in SIDES:
        check_language(getattr(settings, f"{side}_language"), f"{side}_language")
    if not folder.exists():  # else it may be up to date
        check_writable(folder)
    sweep(folder.parent, folder.name)
    inputs = _digest_inputs(settings, report)
    manifest = _unchanged(folder, settings, inputs)
    if manifest is not None:
        report(f"{folder} is up to date", manifest.splits["train"].pairs, manifest.splits["train"].pairs)
        return manifest
    _check_no_strangers(folder)
    with atomic_folder(folder) as draft:
        manifest = _build(settings, inputs, draft, report)
        _check_no_strangers(folder)  # in the meantime others may have put files there
    return manifest


def _check_no_strangers(folder: Path) -> None:
    """Raises ValueError if a folder that would be replaced holds what is not of a corpus."""
    ours = {MANIFEST, *VOCABULARIES, *PIECE_MODELS, *split_files(("train", "dev", "test"))}
    strangers = {path.name for path in folder.glob("*")} - ours
    if strangers:
        raise ValueError(f"{folder}: would be replaced, but also holds {sorted(strangers)[0]!r}; move that elsewhere")


def _digest_inputs(settings: PrepareSettings, report: Report) -> dict[str, InputFile]:
    """Size and SHA-256 of every input file, which also finds a missing one before the work begins."""
    paths = settings.inputs()
    inputs = {}
    for done, (name, path) in enumerate(paths.items()):
        report("checking the input files", done, len(paths))
        try:
            inputs[name] = InputFile(size=path.stat().st_size, sha256=sha256(path))
        except FileNotFoundError as error:
            raise FileNotFoundError(f"{name}: {path}: there is no such file") from error
    return inputs


def _unchanged(folder: Path, settings: PrepareSettings, inputs: dict[str, InputFile]) -> Manifest | None:
    """The manifest in the folder, if that is whole and was made from just this, be it by an older version."""
    try:
        manifest = Corpus.open(folder).manifest
    except ValueError:
        return None
    return manifest if manifest.settings == settings and manifest.inputs == inputs else None


def _build(settings: PrepareSettings, inputs: dict[str, InputFile], draft: Path, report: Report) -> Manifest:
    word_tokenizer = _word_tokenizer(settings)
    pieces = _learn_pieces(settings, draft, report)
    tokenizers = {side: _tokenizer(settings, side, pieces) for side in SIDES}
    tallies: dict[str, Tally] = {}
    for split in reversed(settings.splits()):  # the short ones first: their faults show before the long work
        held_out = {pair for tally in tallies.values() for pair in tally.hashes}
        tally = Tally(pair_ratio(settings), held_out if split == "train" else None)
        tallies[split] = _tokenize(settings, split, tokenizers, word_tokenizer, tally, draft, report)

    vocabularies, min_counts = {}, {}
    for side in SIDES:
        known = pieces[side].pieces() if side in pieces else None
        vocabularies[side], min_counts[side] = _vocabulary(settings, side, tallies["train"], tallies["dev"], known)
        vocabularies[side].save(draft / f"vocab.{side}.txt")

    for split, tally in tallies.items():
        for side in SIDES:
            _number(draft, split, side, vocabularies[side], tally, report)

    manifest = Manifest(
        settings=settings,
        inputs=inputs,
        splits={split: tallies[split].facts(vocabularies, tallies["train"]) for split in settings.splits()},
        source_vocabulary=len(vocabularies["source"]),
        target_vocabulary=len(vocabularies["target"]),
        source_min_count=min_counts["source"],
        target_min_count=min_counts["target"],
        source_dtype=_dtype(vocabularies["source"]),
        target_dtype=_dtype(vocabularies["target"]),
        files={name: (draft / name).stat().st_size for name in corpus_files(settings)},
        sha256={name: sha256(draft / name) for name in corpus_files(settings)},
    )
    manifest.save(draft)
    return manifest


def _learn_pieces(settings: PrepareSettings, draft: Path, report: Report) -> dict[str, PieceModel]:
    """The piece models of the sides that have one, learnt from the training text and written to the draft."""
    sides = [side for side in SIDES if settings.has_pieces(side)]
    inputs, pairs = settings.inputs(), 0
    for split in reversed(settings.splits() if sides else ()):  # their faults show before the long work
        pairs = sum(1 for _ in read_pairs(inputs[f"{split}_source"], inputs[f"{split}_target"]))
    return {side: _learn(settings, side, pairs, draft / pieces_file(side), report) for side in sides}


def _learn(settings: PrepareSettings, side: str, pairs: int, file: Path, report: Report) -> PieceModel:
    """pairs: of train, of which some are taken, from everywhere, if they are too many"""
    kind, language = getattr(settings, f"{side}_tokenizer"), getattr(settings, f"{side}_language")
    text, stage = settings.inputs()[f"train_{side}"], f"learning the pieces of the {side}"
    taken = min(pairs, PIECE_LINES)

    def lines() -> Iterator[str]:
        for done, line in enumerate(read_lines(text)):
            if done % REPORT_EVERY == 0:
                report(stage, done, None)
            if (done + 1) * taken // pairs > done * taken // pairs:
                yield unmarked(plain(line, getattr(settings, f"{side}_lowercase")))

    try:
        model = PieceModel(train_pieces(kind, settings.pieces(side), language, lines()), file, REMEDY)
    except ImportError as error:
        raise ImportError(f"{side}_tokenizer: {error}", name=error.name) from error
    except PieceError as error:
        raise ValueError(f"{side}_vocab_size, train_{side}: {text}: {error}") from error
    model.save(file)
    return model


def _tokenizer(settings: PrepareSettings, side: str, pieces: Mapping[str, PieceModel]) -> Tokenizer:
    try:
        return settings.tokenizer(side, pieces)
    except ImportError as error:
        remedy = f"or --{side}-tokenizer whitespace if the text is cut already"
        raise ImportError(f"{side}_tokenizer: {error}, {remedy}", name=error.name) from error


def _word_tokenizer(settings: PrepareSettings) -> Tokenizer | None:
    """What cuts the references of BLEU; None if the target is cut into words anyway."""
    try:
        return settings.word_tokenizer() if settings.has_pieces("target") else None
    except ImportError as error:
        remedy = "or --bleu-tokenizer whitespace or characters for BLEU of other words"
        raise ImportError(f"bleu_tokenizer: {error}, {remedy}", name=error.name) from error


def _vocabulary(
    settings: PrepareSettings, side: str, train: Tally, dev: Tally, pieces: Set[str] | None
) -> tuple[Vocabulary, int]:
    """The vocabulary of a side, and how often its words were seen at least.

    With all words of train but not all of dev a model would meet unknown words and never have learned of any: then
    words seen once are left out, if that leaves others. Pieces are all in it that train has.
    """
    size: int | None = getattr(settings, f"{side}_vocab_size")

    def vocabulary(min_count: int) -> Vocabulary:
        return Vocabulary.from_counts(train.words[side], size, train.pairs, min_count)

    if pieces is not None:
        return Vocabulary.from_counts(train.words[side], None, train.pairs, known=pieces), 1
    if settings.min_count is not None:
        chosen = vocabulary(settings.min_count)
        if len(chosen) == len(MARKERS):
            raise ValueError(f"min_count: no {side} word is seen {settings.min_count} times in training; lower it")
        return chosen, settings.min_count
    every, seen_twice = vocabulary(1), vocabulary(2)
    is_open = every.counts[UNK] == 0 and (every.ids(dev.words[side]) == UNK).any()
    return (seen_twice, 2) if is_open and len(seen_twice) > len(MARKERS) else (every, 1)


def _tokenize(
    settings: PrepareSettings,
    split: str,
    tokenizers: dict[str, Tokenizer],
    word_tokenizer: Tokenizer | None,
    tally: Tally,
    draft: Path,
    report: Report,
) -> Tally:
    """Pass 1: the tokens of a split to `<split>.<side>.spool`; for dev and test also the text, and the target's words.

    word_tokenizer: cuts the target into words if its own tokeniser does not
    """
    inputs = settings.inputs()
    source_path, target_path = inputs[f"{split}_source"], inputs[f"{split}_target"]
    stage = f"tokenising {split}"
    with ExitStack() as stack:
        spools = [stack.enter_context(atomic_writer(draft / f"{split}.{side}.spool")) for side in SIDES]
        texts = [] if split == "train" else [draft / f"{split}.{kind}.txt" for kind in (*SIDES, "target.tokens")]
        copies = [stack.enter_context(atomic_writer(path)) for path in texts]
        for done, pair in enumerate(read_pairs(source_path, target_path)):
            if done % REPORT_EVERY == 0:
                report(stage, done, None)
            tokens = [tokenizers[side].tokenize(line) for side, line in zip(SIDES, pair, strict=True)]
            if split == "train" and min(map(len, tokens)) < settings.min_length:
                tally.short += 1
                continue
            if split == "train" and max(map(len, tokens)) > settings.max_length:
                tally.long += 1
                continue
            tally.add(pair, tokens)
            for words, spool in zip(tokens, spools, strict=True):
                spool.write(" ".join(words) + "\n")
            if copies:
                references = word_tokenizer.tokenize(pair[1]) if word_tokenizer else tokens[1]
                for line, copy in zip((*pair, " ".join(references)), copies, strict=True):
                    copy.write(line + "\n")
    if tally.pairs == 0:
        raise ValueError(_empty_message(settings, split, tally))
    report(stage, tally.pairs + tally.short + tally.long, tally.pairs + tally.short + tally.long)
    return tally


def _empty_message(settings: PrepareSettings, split: str, tally: Tally) -> str:
    dropped = tally.short + tally.long
    if dropped == 0:
        return f"{split}_source, {split}_target: {settings.inputs()[f'{split}_source']} is empty; give files with text"
    return (
        f"train_source, train_target: no pair is left, all {dropped} were dropped: {tally.short} had fewer than "
        f"min_length = {settings.min_length} tokens on a side, {tally.long} more than max_length = "
        f"{settings.max_length}; change these, or check the files and tokenizers"
    )


def _number(draft: Path, split: str, side: str, vocabulary: Vocabulary, tally: Tally, report: Report) -> None:
    """Pass 2: tokens become ids."""
    spool, stage = draft / f"{split}.{side}.spool", f"numbering {split} {side}"

    def sentences() -> Iterator[Ids]:
        for done, line in enumerate(read_lines(spool, OWN_MAX_BYTES)):
            if done % REPORT_EVERY == 0:
                report(stage, done, tally.pairs)
            yield vocabulary.ids(line.split())

    tokens = tally.words[side].total()
    write_ids(draft / f"{split}.{side}", sentences(), pairs=tally.pairs, tokens=tokens, dtype=_dtype(vocabulary))
    report(stage, tally.pairs, tally.pairs)
    spool.unlink()


def _dtype(vocabulary: Vocabulary) -> Literal["uint16", "uint32"]:
    return "uint16" if len(vocabulary) <= 1 << 16 else "uint32"


def _load_vocabulary(path: Path, size: int) -> Vocabulary:
    try:
        vocabulary = Vocabulary.load(path)
    except ValueError as error:
        raise ValueError(f"{path}: damaged ({error}); {REMEDY}") from error
    if len(vocabulary) != size:
        raise ValueError(f"{path}: has {len(vocabulary)} words, the manifest tells of {size}; {REMEDY}")
    return vocabulary
