"""Advice: a recipe that suits a corpus, a machine and the time there is. No torch."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

from trellex.heads.spec import HeadSpec
from trellex.nmt.settings import ModelSettings
from trellex.text.batches import batches
from trellex.text.corpus import Corpus
from trellex.training.recipe import USUAL_HEAD, Recipe, TrainingSettings


class Size(NamedTuple):
    """A network for corpora of at least so many target tokens to train on."""

    tokens: int
    units: int  # of word vectors and of hidden layers
    dropout: float
    learning_rate: float


SIZES = (  # what the recipes that come with Trellex have
    Size(tokens=0, units=64, dropout=0.1, learning_rate=0.003),
    Size(tokens=30_000, units=128, dropout=0.2, learning_rate=0.003),  # phrasebook
    Size(tokens=150_000, units=256, dropout=0.3, learning_rate=0.002),
    Size(tokens=300_000, units=512, dropout=0.3, learning_rate=0.001),  # tanaka, tatoeba, kftt
)
SOFTMAX_WORDS = 10_000  # up to so many target words a softmax is affordable
EPOCHS, FEWEST_STEPS = 20, 1_500  # how long to train; with less a model says next to nothing
SHORTENED = 0.6  # the part of that which is still better than a smaller network
BATCH_SENTENCES = 64
GPU_TOKENS, GPU_BATCH, GPU_RATE = 1_000_000, 4_096, 1.5  # larger corpora: batches that fill a GPU bear a higher rate
EVALUATIONS, FEWEST_EVALUATIONS = 20, 5
EVALUATION_COST = 1.0  # of a token that greedy search finds, in tokens that are trained on
EVALUATION_SHARE = 0.15  # of the time of training, at most
PATIENCE = 8


class Choice(NamedTuple):
    """A recipe, and what it takes; no seconds if they are not known."""

    recipe: Recipe
    epochs: float
    seconds: float | None = None

    def exceeds(self, minutes: float | None) -> bool:
        """Whether it takes more time than there is; None if that does not matter."""
        return minutes is not None and self.seconds is not None and self.seconds > 60 * minutes


class Advisor:
    """Makes recipes for a prepared corpus.

    Args:
        data: the folder of the corpus
        output: the folder of the run
        head: the output layer; one that suits the vocabulary unless given
        on_gpu: whether a GPU trains
    """

    def __init__(self, data: Path, output: Path, head: HeadSpec | None = None, on_gpu: bool = False) -> None:
        self.data, self.output, self.on_gpu = data, output, on_gpu
        corpus = Corpus.open(data)
        self.train = corpus.split("train")
        facts = corpus.manifest.splits
        self.tokens = facts["train"].target.tokens + facts["train"].pairs  # every sentence has an EOS
        self.held_out_tokens = sum(facts[name].target.tokens + facts[name].pairs for name in facts if name != "train")
        self.head = head or head_for(len(corpus.target_vocabulary))
        self.fills_gpu = on_gpu and self.tokens >= GPU_TOKENS and corpus.manifest.settings.max_length < GPU_BATCH

    @property
    def sizes(self) -> list[Size]:
        """The size that suits the corpus, then smaller ones."""
        return [size for size in reversed(SIZES) if size.tokens <= self.tokens]

    @cached_property
    def steps_of_epoch(self) -> int:
        lengths = self.train.source_lengths, self.train.target_lengths
        return len(batches(*lengths, **self._batch("sentences", "tokens"), seed=1, epoch=0))

    @property
    def full_steps(self) -> int:
        """Of a training that is given all the time it likes."""
        return max(EPOCHS * self.steps_of_epoch, FEWEST_STEPS)

    def recipe(self, size: Size, steps: int) -> Recipe:
        """A network of this size, trained for so many steps or a few more: the last of them is evaluated."""
        evaluations = self._evaluations(steps)
        validate_every = ceil(steps / evaluations)
        max_steps = validate_every * evaluations
        return Recipe(
            data=self.data,
            output=self.output,
            head=self.head,
            model=ModelSettings(embedding_size=size.units, hidden_size=size.units, dropout=size.dropout),
            training=TrainingSettings(
                **self._batch("batch_sentences", "batch_tokens"),
                learning_rate=size.learning_rate * (GPU_RATE if self.fills_gpu else 1),
                warmup_steps=min(max_steps // 20, 1000),
                decay_steps=ceil(max_steps / 4),
                max_steps=max_steps,
                validate_every=validate_every,
                save_every=validate_every,
                patience=PATIENCE,
                precision="bfloat16" if self.on_gpu else "float32",
            ),
        )

    def untimed(self) -> Choice:
        """What suits the corpus alone."""
        recipe = self.recipe(self.sizes[0], self.full_steps)
        return Choice(recipe, recipe.training.max_steps / self.steps_of_epoch)

    def choose(
        self,
        seconds_of_token: Callable[[Recipe], float],
        minutes: float | None,
        tell: Callable[[Choice], None],
    ) -> Choice:
        """The largest network that suits the corpus and the time: somewhat fewer steps first, then a smaller one.

        Args:
            seconds_of_token: measures what training on a target token takes
            minutes: all the time there is, which the smallest size may exceed; None if that does not matter
            tell: called for each size that was tried, with what it takes if no step is left out
        """
        for size in self.sizes:
            steps = self.full_steps
            fewest = FEWEST_STEPS if size is SIZES[0] else ceil(SHORTENED * steps)
            pace = seconds_of_token(self.recipe(size, steps))
            choice = self._timed(self.recipe(size, steps), pace)
            tell(choice)
            while choice.exceeds(minutes) and steps > fewest:
                steps = max(int(0.95 * steps), fewest)
                choice = self._timed(self.recipe(size, steps), pace)
            if not choice.exceeds(minutes):
                break
        return choice

    def _timed(self, recipe: Recipe, seconds_of_token: float) -> Choice:
        """What training and evaluations take, if a target token that is trained on takes so long."""
        settings = recipe.training
        epochs = settings.max_steps / self.steps_of_epoch
        translated = self.held_out_tokens * (settings.max_steps // settings.validate_every)
        return Choice(recipe, epochs, seconds_of_token * (self.tokens * epochs + EVALUATION_COST * translated))

    def _evaluations(self, steps: int) -> int:
        """So many that they take a small part of the time."""
        trained = self.tokens * steps / self.steps_of_epoch
        affordable = EVALUATION_SHARE * trained / (EVALUATION_COST * self.held_out_tokens)
        return min(max(int(affordable), FEWEST_EVALUATIONS), EVALUATIONS)

    def _batch(self, sentences: str, tokens: str) -> dict[str, Any]:
        """The size of a batch, by the names it has for the one who is asked."""
        return {sentences: None, tokens: GPU_BATCH} if self.fills_gpu else {sentences: BATCH_SENTENCES, tokens: None}


def head_for(words: int) -> HeadSpec:
    """The output layer for so many target words."""
    return HeadSpec.parse("softmax") if words <= SOFTMAX_WORDS else USUAL_HEAD


def head_reason(head: HeadSpec, words: int, unit: str = "words") -> str:
    """Why a head is the one for so many target words, or pieces, and what else there is."""
    if head != head_for(words):
        return "as it was asked for."
    if head.type == "softmax":
        return f"with {words:,} target {unit} a softmax is affordable; shelves and codes pay where there are many more."
    return (
        "codes find a few shelves of words, and the decoder's own word vectors one of the words on them. A softmax\n"
        f"over all {words:,} {unit} takes more time and memory; to compare, train with\n"
        "--head softmax --output ANOTHER."
    )
