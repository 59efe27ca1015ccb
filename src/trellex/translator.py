"""From lines of text to translations, with a model in torch or an exported one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from trellex.arrays import as_count
from trellex.attention import Attention
from trellex.loaded import AModel, LoadedModel
from trellex.models import find_model
from trellex.runtime.folder import is_export
from trellex.search import Hypothesis, Model, SearchSettings, State, in_batches, score
from trellex.shortlist.model import ListedModel
from trellex.shortlist.shortlist import Shortlist
from trellex.text.lines import CHUNK
from trellex.text.open_vocabulary import OpenVocabulary
from trellex.text.tokenizers import Tokenizer, without_space
from trellex.text.vocabulary import UNK

BATCH_TOKENS = 2048
MAX_TOKENS = 1000  # of a line


class Translation(NamedTuple):
    """A translation and what the model thinks of it.

    Attributes:
        text: detokenised
        tokens: as the model knows them, <unk> included unless it was replaced  [T]
        log_probs: log P of every token and, if the end was reached, of the end of the sentence  [T + 1], else [T]
        score: what translations of one sentence are ranked by
        attention: which source tokens each token looked at, if that was asked for
        replaced: the places of tokens that were <unk> and became a source token
    """

    text: str
    tokens: list[str]
    log_probs: list[float]
    score: float
    attention: Attention | None = None
    replaced: tuple[int, ...] = ()

    def scores(self) -> dict[str, object]:
        """What JSON tells of it: log-probabilities of its tokens, the end of the sentence among them; attention."""
        ended = len(self.log_probs) > len(self.tokens)
        scores = {
            "log_prob": round(sum(self.log_probs), 6),
            "tokens": self.tokens + ["</s>"] * ended,
            "log_probs": [round(log_prob, 6) for log_prob in self.log_probs],
        }
        replaced = {"replaced": self.replaced} if self.replaced else {}
        return scores | replaced | ({} if self.attention is None else self.attention.facts())


class TranslateOptions(TypedDict, total=False):
    """What `Translator.translate` takes besides lines, beam and nbest; it tells what they mean."""

    length_penalty: float
    sample: bool
    temperature: float
    seed: int | np.random.Generator | None
    batch_tokens: int
    replace_unknown: bool
    attention: bool


class Translator:
    """A model with its tokenisers and vocabularies.

    Args:
        loaded: the model
        shortlist: the words that translations are made of, others for every sentence; for softmax models alone
        spell_unknown: whether unknown source words are read by codes of words spelt like them, if the model can

    Attributes:
        model: what search runs on
        head: what its output layer is
    """

    def __init__(
        self, loaded: LoadedModel[AModel], shortlist: Shortlist | None = None, spell_unknown: bool = False
    ) -> None:
        self.model: Model = loaded.model if shortlist is None else ListedModel(loaded, shortlist)
        self.text, self.head, self._pieces = loaded.text, loaded.head, loaded.pieces
        self.source_tokenizer, self.detokenizer = self.text.tokenizer("source", self._pieces), self.text.detokenizer()
        self.source_vocabulary, self.target_vocabulary = loaded.source_vocabulary, loaded.target_vocabulary
        code = getattr(loaded.model, "source_code", None) if spell_unknown else None
        self._source_words = self.source_vocabulary if code is None else OpenVocabulary(self.source_vocabulary, code)

    @property
    def spells_unknown(self) -> bool:
        """Whether it reads unknown source words by their spelling."""
        return isinstance(self._source_words, OpenVocabulary)

    @cached_property
    def target_tokenizer(self) -> Tokenizer:
        """Needed for given translations alone, as in `score`."""
        return self.text.tokenizer("target", self._pieces)

    @cached_property
    def _surface_tokenizer(self) -> Tokenizer:
        """Cuts source lines without making them lower case."""
        return self.text.model_copy(update={"source_lowercase": False}).tokenizer("source", self._pieces)

    @overload
    def translate(
        self, lines: Iterable[str], beam: int = 1, nbest: None = None, **options: Unpack[TranslateOptions]
    ) -> list[str]: ...

    @overload
    def translate(
        self, lines: Iterable[str], beam: int, nbest: int, **options: Unpack[TranslateOptions]
    ) -> list[list[Translation]]: ...

    @overload
    def translate(
        self, lines: Iterable[str], beam: int = 1, *, nbest: int, **options: Unpack[TranslateOptions]
    ) -> list[list[Translation]]: ...

    def translate(
        self,
        lines: Iterable[str],
        beam: int = 1,
        nbest: int | None = None,
        *,
        length_penalty: float = 1.0,
        sample: bool = False,
        temperature: float = 1.0,
        seed: int | np.random.Generator | None = None,
        batch_tokens: int = BATCH_TOKENS,
        replace_unknown: bool = False,
        attention: bool = False,
    ) -> list[str] | list[list[Translation]]:
        """The best translation of every line, a string each; an empty line stays empty.

        Args:
            lines: sentences
            beam: hypotheses a sentence; 1 is greedy search
            nbest: give this many translations of each line instead, as a list of `Translation`, the best first
            length_penalty, sample, temperature: see `SearchSettings`
            seed, batch_tokens, replace_unknown, attention: see `search`; attention is told with nbest alone
        """
        if isinstance(lines, str):
            raise ValueError("lines: expected a list of sentences, got a single string; put it into a list")
        if nbest is not None:
            as_count(nbest, "nbest")
        elif attention:
            raise ValueError("attention: a string cannot tell it; add nbest=1")
        settings = SearchSettings(beam, nbest or 1, length_penalty, sample, temperature)
        remaining, random = iter(lines), np.random.default_rng(seed)
        found: list[list[Translation]] = []
        while chunk := list(islice(remaining, CHUNK)):
            scores = nbest is not None
            for best in self.search(chunk, settings, batch_tokens, random, scores, attention, replace_unknown):
                if isinstance(best, str):
                    raise ValueError(f"line {len(found) + 1}: {best}")
                found.append(best)
        return found if nbest else [best[0].text if best else "" for best in found]

    def search(
        self,
        lines: Sequence[str],
        settings: SearchSettings,
        batch_tokens: int = BATCH_TOKENS,
        seed: int | np.random.Generator | None = None,
        scores: bool = True,
        attention: bool = False,
        replace_unknown: bool = False,
    ) -> list[list[Translation] | str]:
        """The best translations of each line, none of an empty one; or why there are none: a line is too long.

        Args:
            lines: sentences; those of like lengths are translated side by side, and all are in memory at once
            settings: how to search
            batch_tokens: the most source words to translate side by side
            seed: for sampling; the same seed, lines and batch size give the same translations
            scores: whether log_probs are wanted; greedy search is faster without
            attention: whether translations shall tell which source tokens their tokens looked at
            replace_unknown: put in the place of every <unk> the source token that it looked at most
        """
        attends = attention or replace_unknown
        sources = [self.source_ids(line) for line in lines]
        fitting = [source[:0] if len(source) > MAX_TOKENS else source for source in sources]
        random = np.random.default_rng(seed)
        with self.model.inference():
            found = in_batches(
                lambda batch: settings.search(self.model, batch, random, scores, attends), batch_tokens, fitting
            )
        return [
            f"has {len(source):,} tokens, more than {MAX_TOKENS:,}; split it into sentences"
            if len(source) > MAX_TOKENS
            else self._translations(line, best or [], attention, replace_unknown)
            for line, source, best in zip(lines, sources, found, strict=True)
        ]

    def score(
        self,
        pairs: Iterable[tuple[str, str]],
        batch_tokens: int = BATCH_TOKENS,
        observe: Callable[[State, NDArray[np.int64]], None] | None = None,
        attention: bool = False,
    ) -> Iterator[Translation | None]:
        """What the model thinks of given translations, in their order; None where the source is empty.

        Args:
            pairs: sentences and their translations, as text
            batch_tokens: the most source words to score side by side
            observe: called with the model's state and the words that come next, at every step
            attention: whether to tell which source tokens their tokens looked at
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
                    lambda batch, given: score(self.model, batch, given, observe, attention),
                    batch_tokens,
                    sources,
                    targets,
                )
            for (line, _), scored in zip(chunk, found, strict=True):
                yield None if scored is None else self._translations(line, [scored], attention)[0]

    def source_ids(self, line: str) -> NDArray[np.int64]:
        """The words of a line, as the model reads them; an unknown one is UNK or, by its code, from V on."""
        return self._source_words.ids(self.source_tokenizer.tokenize(line))

    def are_unknown(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which source words are not in the vocabulary. ids [S] -> [S]"""
        return (ids == UNK) | (ids >= len(self.source_vocabulary))

    def source_surfaces(self, line: str) -> list[str]:
        """The tokens that `source_ids` numbers, as they stand in the line: not in lower case, if they are cut alike."""
        tokens = self.source_tokenizer.tokenize(line)
        if not self.text.source_lowercase:
            return tokens
        surfaces = self._surface_tokenizer.tokenize(line)
        return surfaces if [surface.lower() for surface in surfaces] == tokens else tokens

    def _translations(
        self, line: str, hypotheses: Sequence[Hypothesis], attention: bool, replace_unknown: bool = False
    ) -> list[Translation]:
        """Those of a line; with `attention` they tell theirs, which replacing needs, too."""
        source = self.source_surfaces(line) if attention or replace_unknown else []
        found = []
        for words, log_probs, rank, shares in hypotheses:
            tokens = self.target_vocabulary.tokens(np.array(words, np.int64))
            seen = None if shares is None else Attention(source, shares[: len(words)])
            replaced = []
            for looked_at, place in seen.alignment() if seen and replace_unknown else ():
                if words[place] == UNK:
                    tokens[place] = without_space(source[looked_at], self.text.source_tokenizer)
                    replaced.append(place)
            text = self.detokenizer.detokenize(tokens)
            found.append(Translation(text, tokens, log_probs, rank, seen if attention else None, tuple(replaced)))
        return found


def load(
    path: str | Path,
    *,
    threads: int | None = None,
    device: str = "cpu",
    decoding: str | None = None,
    verify: bool = True,
    shortlist: str | Path | Shortlist | None = None,
    spell_unknown: bool = False,
) -> Translator:
    """A translator from a folder that `trellex export` made, without torch; or from a run or checkpoint, with it.

    Args:
        path: the folder, or the name of a model that comes with Trellex: en-ja or ja-en
        threads: CPU threads; unless given, 1 for an exported model, and as many as it likes for torch
        device: of a model in torch: auto, cpu or cuda
        decoding: "paper" or "exact", instead of what a model in torch was trained with
        verify: compare the files with their checksums before they are used; one that was damaged could mistranslate
        shortlist: a file that `trellex shortlist` made, whose words alone are chosen from; for softmax models
        spell_unknown: read unknown source words by codes of words spelt like them, where vectors are composed
    """
    folder = find_model(path)
    if shortlist is not None and not isinstance(shortlist, Shortlist):
        shortlist = Shortlist.load(shortlist)
    if is_export(folder):
        if device not in ("cpu", "auto") or decoding is not None:
            raise ValueError(f"{folder}: an exported model runs on the CPU, as it was exported; leave the option out")
        from trellex.runtime.model import load_export

        threads = as_count(1 if threads is None else threads, "threads")
        exported = load_export(folder, threads, verify, by_rows=shortlist is not None)
        return Translator(exported, shortlist, spell_unknown)
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
    return Translator(load_checkpoint(folder, device, decoding, verify=verify), shortlist, spell_unknown)
