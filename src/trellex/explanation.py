"""Explanations: a translation word by word, the bits it was read from, what else it could be, where it looked."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from trellex.arrays import as_count
from trellex.heads.evidence import Candidate, Evidence, Reading, Shelf, evidence_of, outline
from trellex.search import SearchSettings, State, score
from trellex.search.stopwatch import EncodingModel, TimedModel
from trellex.shortlist.model import ListedModel
from trellex.text.vocabulary import Vocabulary
from trellex.translator import MAX_TOKENS, Translator

MOST_CANDIDATES = 100


class ExplainedWord(NamedTuple):
    """A word of a translation, or its end.

    Attributes:
        token: as the model knows it
        log_prob: log P after the words before
        attention: how much each source token counted  [S]; nothing from an export of before attention
        evidence: what the output layer said
    """

    token: str
    log_prob: float
    attention: list[float]
    evidence: Evidence


class Explanation(NamedTuple):
    """A translation and how it came about.

    Attributes:
        text: detokenised
        source: the tokens that were read, as they stand in the line  [S]
        unknown: the places of those that the model does not know
        words: those that were written and, if it was reached, the end of the sentence
        milliseconds: that the search spent in encoder, decoder and output layer
        vocabulary: what words are called
    """

    text: str
    source: list[str]
    unknown: list[int]
    words: list[ExplainedWord]
    milliseconds: dict[str, float]
    vocabulary: Vocabulary

    def facts(self) -> dict[str, Any]:
        """What JSON tells of it."""
        return {
            "text": self.text,
            "source": self.source,
            "unknown": self.unknown,
            "log_prob": round(sum(word.log_prob for word in self.words), 6),
            "words": [self._word(word) for word in self.words],
            "milliseconds": {part: round(spent, 3) for part, spent in self.milliseconds.items()},
        }

    def _word(self, word: ExplainedWord) -> dict[str, Any]:
        evidence = word.evidence
        facts: dict[str, Any] = {
            "token": word.token,
            "log_prob": round(word.log_prob, 6),
            "attention": _rounded(word.attention),
            "layer": evidence.layer,
            "best": [self._candidate(candidate) for candidate in evidence.best],
        }
        if evidence.reading is not None:
            facts["reading"] = _reading(evidence.reading)
        if evidence.shelves is not None:
            facts["shelves"] = [self._shelf(shelf) for shelf in evidence.shelves]
        if evidence.others is not None:
            facts["others"] = round(evidence.others, 6)
        return facts

    def _candidate(self, candidate: Candidate) -> dict[str, Any]:
        states = {} if candidate.states is None else {"states": candidate.states}
        return {"token": self.name(candidate.word), "probability": _probability(candidate.log_prob), **states}

    def _shelf(self, shelf: Shelf) -> dict[str, Any]:
        words = [{"token": self.name(word), "probability": _probability(log_prob)} for word, log_prob in shelf.words]
        return {"number": shelf.number, "probability": _probability(shelf.log_prob), "words": words}

    def name(self, word: int) -> str:
        return self.vocabulary.tokens(np.array([word]))[0]


def explain(
    translator: Translator,
    line: str,
    settings: SearchSettings | None = None,
    k: int = 5,
    seed: int | np.random.Generator | None = None,
) -> Explanation:
    """The best translation of a line, explained; of an empty one, nothing.

    Args:
        translator: from `trellex.load`
        line: a sentence
        settings: how to search; greedily unless given
        k: how many of the best words, and of the best shelves, to tell of every place
        seed: for sampling
    """
    if isinstance(translator.model, ListedModel):
        raise ValueError("translator: explanations tell of all words; load the model without a shortlist")
    if as_count(k, "k") > MOST_CANDIDATES:
        raise ValueError(f"k: expected at most {MOST_CANDIDATES}, got {k}")
    source, vocabulary = translator.source_ids(line), translator.target_vocabulary
    if len(source) > MAX_TOKENS:
        raise ValueError(f"line: has {len(source):,} tokens, more than {MAX_TOKENS:,}; split it into sentences")
    model = cast(EncodingModel, translator.model)
    timed = TimedModel(model)
    layer, found = cast(Any, model).layer, list[Evidence]()

    def observe(state: State, words: NDArray[np.int64]) -> None:
        if len(found) < length:
            found.append(evidence_of(layer, cast(Any, state).hidden, int(words[0]), k))

    if len(source) == 0:
        return Explanation("", [], [], [], _milliseconds(timed), vocabulary)
    with model.inference():
        random = np.random.default_rng(seed)
        best = (settings or SearchSettings()).search(timed, [source], random, scores=False)[0][0]
        words, length = np.array(best.words, np.int64), len(best.log_probs)
        attends = getattr(model, "has_attention", True)
        (scored,) = score(model, [source], [words], observe, attends)
    tokens = vocabulary.tokens(words)
    shares = [[] for _ in scored.log_probs] if scored.attention is None else scored.attention.tolist()
    columns = [*tokens, "</s>"], scored.log_probs, shares
    explained = [ExplainedWord(*facts) for facts in zip(*(column[:length] for column in columns), found, strict=True)]
    text = translator.detokenizer.detokenize(tokens)
    surfaces, unknown = translator.source_surfaces(line), np.flatnonzero(translator.are_unknown(source)).tolist()
    return Explanation(text, surfaces, unknown, explained, _milliseconds(timed), vocabulary)


def model_facts(translator: Translator) -> dict[str, Any]:
    """What a model is: languages, output layer, and the sizes of that."""
    text = translator.text
    return {
        "source": text.source_language,
        "target": text.target_language,
        "head": translator.head.label,
        **{name.replace(" ", "_"): size for name, size in outline(cast(Any, translator.model).layer).items()},
    }


def _milliseconds(timed: TimedModel) -> dict[str, float]:
    return {part.replace(" ", "_"): 1e3 * spent for part, spent in timed.seconds.items()}


def _reading(reading: Reading) -> dict[str, Any]:
    facts = reading._asdict() | {name: _rounded(getattr(reading, name)) for name in ("said", "posterior")}
    facts["weight"] = round(reading.weight, 4)
    return facts | {"decided": reading.decided, "corrected": reading.corrected}


def _rounded(values: list[float]) -> list[float]:
    return [round(value, 4) for value in values]


def _probability(log_prob: float) -> float:
    return round(float(np.exp(log_prob)), 6)
