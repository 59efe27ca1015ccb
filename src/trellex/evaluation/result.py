"""The result of one cell of a grid: all that tables and figures are made from, and no text."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import model_validator

from trellex.evaluation.bands import WordBand
from trellex.evaluation.bit_errors import BitErrors
from trellex.evaluation.curve import ENOUGH, Evaluation, Loss
from trellex.evaluation.size import Size
from trellex.heads.spec import AnyHeadSpec
from trellex.records import Record


class Cell(Record):
    """One training of a grid."""

    corpus: str  # as it is called in tables, such as KFTT
    stands_for: str | None  # the paper's corpus whose place it takes, such as ASPEC
    source_language: str
    target_language: str
    head: AnyHeadSpec
    seed: int
    cut: str | None = None  # how text is cut if that is into pieces, such as bpe 8192
    variant: str | None = None  # what else is not as usual, such as composed vectors

    @property
    def method(self) -> str:
        """The name of the method in tables."""
        return self._in_tables(self.head.label)

    @property
    def listed_method(self) -> str:
        """The same of a softmax that chooses from a shortlist."""
        return self._in_tables(f"{self.head.label} + shortlist")

    @property
    def spelled_method(self) -> str:
        """The same of a model that reads unknown source words by their spelling."""
        return self._in_tables(f"{self.head.label} + spelling")

    def _in_tables(self, label: str) -> str:
        return ", ".join(part for part in (label, self.variant, self.cut) if part is not None)

    @property
    def direction(self) -> str:
        """Such as en-ja."""
        return f"{self.source_language}-{self.target_language}"

    @property
    def name(self) -> str:
        """A name for files."""
        return slug(f"{self.corpus} {self.direction} {self.method} seed {self.seed}")


class Score(Record):
    """How the test set was translated by one way of searching with the best checkpoint."""

    token_bleu: float
    text_bleu: float  # of detokenised text, characters for Japanese
    signatures: list[str]  # of both
    sentences: list[list[int]]  # of each: tokens of translation and reference, right and all 1- to 4-grams


class WordSelection(Record):
    """How a softmax translated the test set when it chose from a shortlist, and what that list has."""

    scores: dict[str, Score]  # by way of searching
    recall: float  # the share of the references' known words that are in the lists of their sentences
    list_words: float  # of a list, on average


class Training(Record):
    """How training went."""

    steps: int
    epochs: float
    tokens: int  # of the target, EOS included, seen in training
    seconds: float  # of training steps, and of exchanges of numbers
    tokens_per_second: float
    side_by_side: int  # trainings that shared the device, this one included
    peak_memory: int | None  # bytes of the GPU
    device: str


class Pace(Record):
    """How fast an exported model translates, greedy, one sentence at a time on one thread, and how large it is."""

    sentence: float  # milliseconds
    steps: float  # words or pieces that it writes for a sentence, EOS included, on average
    bytes: int | None = None  # of its files, the shortlist's included; not known of older results


class Timing(Record):
    """Measured after all trainings, in milliseconds.

    That of a training step is the median over steps on one batch. That of a sentence is the mean over sentences, each
    of which counts its median over rounds; they are translated with the best checkpoint.
    """

    begun: str | None = None  # when; the same for cells that were timed in turns
    train_batch: float
    batch_sentences: int  # of the batch that was timed
    batch_tokens: int  # target tokens in it
    gpu_sentence: float | None  # greedy, one sentence at a time
    cpu_sentence: float | None = None  # the same by the exported model in single precision on one thread
    int8: Pace | None = None  # and by the one in int8
    compact: Pace | None = None  # and by the compact one; none of the three is there if it was not asked for
    listed: Pace | None = None  # by the one in int8 with a shortlist, if there is one
    sentences: int  # how many were timed
    other_cores: float | None = None  # CPU cores that other processes kept busy meanwhile, if that is known
    gpu: str | None
    cpu: str


class Result(Record):
    """The file of a cell."""

    format: Literal["trellex-result"] = "trellex-result"
    version: Literal[1] = 1
    cell: Cell
    corpus: str | None = None  # the fingerprint of the prepared corpus, where it is known
    code: str | None = None  # the checksum of the file that the code was read from, if it was, where it is known
    recipe: dict[str, Any]
    versions: dict[str, str]
    size: Size
    losses: list[Loss]
    curve: list[Evaluation]
    best: Evaluation
    perplexity: float | None = None  # of a word of dev with the best checkpoint; not known of older results
    averaged_test_bleu: float | None  # over 5 consecutive evaluations around the best; None if there are but few
    training: Training
    scores: dict[str, Score]  # by way of searching: greedy, beam 5
    selection: WordSelection | None = None  # of a softmax, if a shortlist was asked for
    unknown: list[int] | None = None  # source words of each sentence that are unknown; not known of older results
    spelled: dict[str, Score] | None = None  # if those can be read by codes of words that are written like them
    rarest: list[int]  # the rank of the rarest word of each reference; the size of the vocabulary if unknown
    bands: list[WordBand]  # neither is there if the target is cut into pieces, whose ranks are not those of words
    spelled_bands: list[WordBand] | None = None  # of what was read by spelling, if it was; not known of older results
    bit_errors: BitErrors | None  # on the test set; None without bits
    timing: Timing | None = None

    @model_validator(mode="after")
    def _no_mean_of_few(self) -> Result:
        """Drop the one that older files have."""
        if len(self.curve) < ENOUGH:
            self.averaged_test_bleu = None
        return self

    @property
    def best_test_bleu(self) -> float:
        """Test BLEU of the checkpoint that is best on dev."""
        assert self.best.test is not None  # cells without a test split are refused
        return self.best.test

    @property
    def test_bleu(self) -> tuple[float, str]:
        """The one figure of this training, and what it is: the paper's mean or, of few evaluations, the best's."""
        if self.averaged_test_bleu is None:
            return self.best_test_bleu, "best checkpoint"
        return self.averaged_test_bleu, "mean of 5"

    @classmethod
    def load(cls, path: Path) -> Result:
        """Raises ValueError that names the file if it is no result."""
        return cls.load_json(path, "the result of an experiment", "run the experiment again")

    def save(self, path: Path) -> None:
        """Write the file, whole or not at all."""
        self.save_json(path)


def slug(text: str) -> str:
    """A text as part of the name of a file or of an anchor."""
    return "-".join("".join(letter if letter.isalnum() else " " for letter in text.lower()).split())
