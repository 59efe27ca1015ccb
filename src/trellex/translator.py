"""From lines of text to translations, with a model in torch or an exported one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trellex.arrays import as_count
from trellex.kinds import CHECKPOINT, EXPORT, RUN, check_kind
from trellex.loaded import LoadedModel
from trellex.runtime.folder import is_export
from trellex.search import Hypothesis, SearchSettings, in_batches, score
from trellex.text.lines import CHUNK
from trellex.text.tokenizers import Tokenizer

BATCH_TOKENS = 2048
MAX_TOKENS = 1000  # of a line


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

    def scores(self) -> dict[str, Any]:
        """What JSON tells of it: log-probabilities of its tokens, the end of the sentence among them."""
        ended = len(self.log_probs) > len(self.tokens)
        return {
            "log_prob": round(sum(self.log_probs), 6),
            "tokens": self.tokens + ["</s>"] * ended,
            "log_probs": [round(log_prob, 6) for log_prob in self.log_probs],
        }


class Translator:
    """A model with its tokenisers and vocabularies.

    Attributes:
        model: what search runs on
        head: what its output layer is
    """

    def __init__(self, loaded: LoadedModel[Any]) -> None:
        self.model, self.text, self.head = loaded.model, loaded.text, loaded.head
        self.source_tokenizer, self.detokenizer = self.text.tokenizer("source"), self.text.detokenizer()
        self.source_vocabulary, self.target_vocabulary = loaded.source_vocabulary, loaded.target_vocabulary

    @cached_property
    def target_tokenizer(self) -> Tokenizer:
        """Needed for given translations alone, as in `score`."""
        return self.text.tokenizer("target")

    def translate(self, lines: Iterable[str], beam: int = 1, nbest: int | None = None, **settings: Any) -> list[Any]:
        """The best translation of every line, a string each; an empty line stays empty.

        Args:
            lines: sentences
            beam: hypotheses a sentence; 1 is greedy search
            nbest: give this many translations of each line instead, as a list of `Translation`, the best first
            settings: others of `SearchSettings`, and `batch_tokens` and `seed` of `search`
        """
        if isinstance(lines, str):
            raise ValueError("lines: expected a list of sentences, got a single string; put it into a list")
        if nbest is not None:
            as_count(nbest, "nbest")
        others = {key: settings.pop(key) for key in ("batch_tokens", "seed") if key in settings}
        others["seed"] = np.random.default_rng(others.get("seed"))
        how = SearchSettings(beam=beam, nbest=nbest or 1, **settings)
        remaining = iter(lines)
        found: list[Any] = []
        while chunk := list(islice(remaining, CHUNK)):
            for best in self.search(chunk, how, scores=nbest is not None, **others):
                if isinstance(best, str):
                    raise ValueError(f"line {len(found) + 1}: {best}")
                found.append(best if nbest else best[0].text if best else "")
        return found

    def search(
        self,
        lines: Sequence[str],
        settings: SearchSettings,
        batch_tokens: int = BATCH_TOKENS,
        seed: int | np.random.Generator | None = None,
        scores: bool = True,
    ) -> list[list[Translation] | str]:
        """The best translations of each line, none of an empty one; or why there are none: a line is too long.

        Args:
            lines: sentences; those of like lengths are translated side by side, and all are in memory at once
            settings: how to search
            batch_tokens: the most source words to translate side by side
            seed: for sampling; the same seed, lines and batch size give the same translations
            scores: whether log_probs are wanted; greedy search is faster without
        """
        sources = [self.source_ids(line) for line in lines]
        fitting = [source[:0] if len(source) > MAX_TOKENS else source for source in sources]
        random = np.random.default_rng(seed)
        with self.model.inference():
            found = in_batches(lambda batch: settings.search(self.model, batch, random, scores), batch_tokens, fitting)
        return [
            f"has {len(source):,} tokens, more than {MAX_TOKENS:,}; split it into sentences"
            if len(source) > MAX_TOKENS
            else [self._translation(hypothesis) for hypothesis in best or ()]
            for source, best in zip(sources, found, strict=True)
        ]

    def score(
        self,
        pairs: Iterable[tuple[str, str]],
        batch_tokens: int = BATCH_TOKENS,
        observe: Callable[[Any, NDArray[np.int64]], None] | None = None,
    ) -> Iterator[Translation | None]:
        """What the model thinks of given translations, in their order; None where the source is empty.

        Args:
            pairs: sentences and their translations, as text
            batch_tokens: the most source words to score side by side
            observe: called with the model's state and the words that come next, at every step
        """
        remaining, first = iter(pairs), 1
        while chunk := list(islice(remaining, CHUNK)):
            sources = [self.source_ids(source) for source, _ in chunk]
            targets = [self.target_vocabulary.ids(self.target_tokenizer.tokenize(target)) for _, target in chunk]
            for place, ids in enumerate(zip(sources, targets, strict=True), start=first):
                if max(map(len, ids)) > MAX_TOKENS:
                    raise ValueError(f"line {place}: has more than {MAX_TOKENS:,} tokens; split it into sentences")
            first += len(chunk)
            with self.model.inference():
                found = in_batches(
                    lambda batch, given: score(self.model, batch, given, observe), batch_tokens, sources, targets
                )
            for scored in found:
                yield None if scored is None else self._translation(scored)

    def source_ids(self, line: str) -> NDArray[np.int64]:
        return self.source_vocabulary.ids(self.source_tokenizer.tokenize(line))

    def _translation(self, hypothesis: Hypothesis) -> Translation:
        tokens = self.target_vocabulary.tokens(np.array(hypothesis.words, np.int64))
        text = self.detokenizer.detokenize(tokens)
        return Translation(text, tokens, hypothesis.log_probs, hypothesis.score)


def load(
    path: str | Path, *, threads: int | None = None, device: str = "cpu", decoding: str | None = None
) -> Translator:
    """A translator from a folder that `trellex export` made, without torch; or from a run or checkpoint, with it.

    Args:
        path: the folder
        threads: CPU threads; unless given, 1 for an exported model, and as many as it likes for torch
        device: of a model in torch: auto, cpu or cuda
        decoding: "paper" or "exact", instead of what a model in torch was trained with
    """
    folder = Path(path)
    check_kind(folder, RUN, CHECKPOINT, EXPORT)
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder}: there is no such folder; give an exported model, a run or a checkpoint")
    if is_export(folder):
        if device not in ("cpu", "auto") or decoding is not None:
            raise ValueError(f"{folder}: an exported model runs on the CPU, as it was exported; leave the option out")
        from trellex.runtime.model import load_export

        return Translator(load_export(folder, as_count(1 if threads is None else threads, "threads")))
    try:
        from trellex.training.loading import load_checkpoint
    except ModuleNotFoundError as error:
        raise ImportError(
            f"{folder}: needs torch, which is not installed ({error}); run `trellex export` where it is, "
            "or pip install 'trellex[train]'"
        ) from error
    if threads is not None:
        import torch

        torch.set_num_threads(as_count(threads, "threads"))
    return Translator(load_checkpoint(folder, device, decoding))
