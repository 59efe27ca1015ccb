"""From lines of text to translations, with a trained model in torch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trellex.heads import build_head
from trellex.nmt.model import ModelSettings, TranslationModel
from trellex.search import Hypothesis, SearchSettings, in_batches, score
from trellex.text.manifest import PrepareSettings
from trellex.text.tokenizers import build_tokenizer
from trellex.text.vocabulary import Vocabulary
from trellex.training import checkpoint
from trellex.training.processes import choose_device

CHUNK = 2048  # lines translated together: enough to sort by length, few enough to stream


class Translation(NamedTuple):
    """A translation and what the model thinks of it.

    Attributes:
        text: detokenised
        tokens: as the model knows them, <unk> included  [T]
        log_probs: log P of every token and, if the end was reached, of the end of the sentence  [T + 1], else [T]
        score: what translations of one sentence are ranked by
    """

    text: str
    tokens: list[str]
    log_probs: list[float]
    score: float


class Translator:
    """A checkpoint with its tokenisers and vocabularies.

    Args:
        path: a checkpoint, or a run, whose best checkpoint is taken
        device: auto, cpu or cuda
        decoding: "paper" or "exact", instead of what the model was trained with
    """

    def __init__(self, path: Path, device: str = "cpu", decoding: str | None = None) -> None:
        self.folder = checkpoint.model_folder(path)
        self.info = checkpoint.load_info(self.folder)
        corpus = PrepareSettings.model_validate(self.info["corpus"])
        self.source_tokenizer = build_tokenizer(
            corpus.source_tokenizer, corpus.source_language, corpus.source_lowercase
        )
        self.target_tokenizer = build_tokenizer(
            corpus.target_tokenizer, corpus.target_language, corpus.target_lowercase
        )
        self.source_vocabulary = Vocabulary.load(self.folder / "vocab.source.txt")
        self.target_vocabulary = Vocabulary.load(self.folder / "vocab.target.txt")
        settings = ModelSettings.model_validate(self.info["recipe"]["model"])
        spec: Any = self.info["recipe"]["head"]
        if decoding is not None:
            spec = {**({"type": spec} if isinstance(spec, str) else spec), "decoding": decoding}
        head = build_head(spec, hidden_size=settings.hidden_size, vocab=self.target_vocabulary)
        self.model = TranslationModel(settings, len(self.source_vocabulary), len(self.target_vocabulary), head)
        checkpoint.load_state(self.model, checkpoint.load_tensors(self.folder, "model"), self.folder)
        self.model.to(choose_device(device)).eval()

    def translate(self, lines: Iterable[str], batch_sentences: int = 64, tokens: bool = False) -> Iterator[str]:
        """Greedy translations in the order of the lines; empty lines stay empty.

        With `tokens` they stay tokenised, with spaces between.
        """
        for best in self.search(lines, SearchSettings(), batch_sentences):
            yield "" if not best else " ".join(best[0].tokens) if tokens else best[0].text

    def search(
        self, lines: Iterable[str], settings: SearchSettings, batch_sentences: int = 64, seed: int | None = None
    ) -> Iterator[list[Translation]]:
        """The best translations of each line in turn, none of an empty line; a chunk is in memory at a time.

        Args:
            lines: sentences
            settings: how to search
            batch_sentences: how many to translate side by side
            seed: for sampling; the same seed, lines and batch size give the same translations
        """
        remaining, random = iter(lines), np.random.default_rng(seed)
        while chunk := list(islice(remaining, CHUNK)):
            sources = [self.source_ids(line) for line in chunk]
            with self.model.inference():
                found = in_batches(lambda batch: settings.search(self.model, batch, random), batch_sentences, sources)
            for best in found:
                yield [self._translation(hypothesis) for hypothesis in best or ()]

    def score(
        self,
        pairs: Iterable[tuple[str, str]],
        batch_sentences: int = 64,
        observe: Callable[[Any, NDArray[np.int64]], None] | None = None,
    ) -> Iterator[Translation | None]:
        """What the model thinks of given translations, in their order; None where the source is empty.

        Args:
            pairs: sentences and their translations, as text
            batch_sentences: how many to score side by side
            observe: called with the model's state and the words that come next, at every step
        """
        remaining = iter(pairs)
        while chunk := list(islice(remaining, CHUNK)):
            sources = [self.source_ids(source) for source, _ in chunk]
            targets = [self.target_vocabulary.ids(self.target_tokenizer.tokenize(target)) for _, target in chunk]
            with self.model.inference():
                found = in_batches(
                    lambda batch, given: score(self.model, batch, given, observe), batch_sentences, sources, targets
                )
            for scored in found:
                yield None if scored is None else self._translation(scored)

    def source_ids(self, line: str) -> NDArray[np.int64]:
        return self.source_vocabulary.ids(self.source_tokenizer.tokenize(line))

    def _translation(self, hypothesis: Hypothesis) -> Translation:
        tokens = self.target_vocabulary.tokens(np.array(hypothesis.words, np.int64))
        text = self.target_tokenizer.detokenize(tokens)
        return Translation(text, tokens, hypothesis.log_probs, hypothesis.score)
