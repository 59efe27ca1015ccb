"""The phases of a cell: train it, then translate the test set with its best checkpoint and write what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from trellex.evaluation import text_bleu, token_bleu
from trellex.evaluation.bands import rarest_ranks, word_bands
from trellex.evaluation.bit_errors import bit_errors
from trellex.evaluation.bootstrap import sentence_statistics
from trellex.evaluation.curve import averaged_test_bleu, best_evaluation
from trellex.evaluation.perplexity import split_perplexity
from trellex.evaluation.result import Result, Score, Training, WordSelection
from trellex.evaluation.size import Size
from trellex.experiment.job import Job
from trellex.experiment.machine import device_name, versions
from trellex.experiment.shortlists import shortlist_of
from trellex.loaded import LoadedModel
from trellex.nmt.model import TranslationModel
from trellex.search import Model, SearchSettings
from trellex.shortlist.model import ListedModel
from trellex.shortlist.recall import Recall
from trellex.text.corpus import Corpus
from trellex.text.manifest import PrepareSettings
from trellex.text.open_vocabulary import OpenVocabulary
from trellex.text.tokenizers import Detokenizer, build_detokenizer
from trellex.text.vocabulary import UNK
from trellex.training import checkpoint
from trellex.training.display import Display
from trellex.training.loading import load_checkpoint
from trellex.training.metrics import Metrics
from trellex.training.trainer import Trainer
from trellex.training.validation import GREEDY, translate_split

SEARCHES = {"greedy": GREEDY, "beam 5": SearchSettings(beam=5)}


def train(job: Job) -> bool:
    """Train to the end, from the newest checkpoint on; False if a signal came before that."""
    trainer = Trainer(job.recipe, Display(job.name))
    trainer.run()
    return not trainer.was_interrupted


def score(job: Job) -> None:
    """Translate the test set with the best checkpoint, and write the result."""
    metrics = Metrics.read(job.run)
    best = best_evaluation(metrics.evaluations)
    loaded = load_checkpoint(checkpoint.step_folder(job.run, best.step), job.recipe.training.device)
    corpus = Corpus.open(job.recipe.data)
    dev, test, vocabulary = corpus.split("dev"), corpus.split("test"), corpus.target_vocabulary
    references = test.target_tokens
    translations, spelled = _translations(loaded.model, corpus), _spelled(loaded, corpus)
    has_ranks = not corpus.manifest.settings.has_pieces("target")  # of words, by their frequency
    Result(
        cell=job.cell,
        corpus=job.corpus,
        code=job.code,
        recipe=job.recipe.model_dump(mode="json"),
        versions=versions(),
        size=Size.of(loaded.model),
        losses=metrics.losses,
        curve=metrics.evaluations,
        best=best,
        perplexity=split_perplexity(loaded.model, dev, words=[len(words) for words in dev.target_tokens]),
        averaged_test_bleu=averaged_test_bleu(metrics.evaluations),
        training=_training(job, metrics, corpus, loaded.model.device.type),
        scores=_scores(translations, corpus),
        selection=_selection(job, loaded, corpus) if job.shortlist else None,
        unknown=[int((test.source(row) == UNK).sum()) for row in range(len(test))],
        spelled=_scores(spelled, corpus) if spelled else None,
        rarest=rarest_ranks(references, vocabulary) if has_ranks else [],
        bands=word_bands(translations["greedy"], references, vocabulary) if has_ranks else [],
        spelled_bands=word_bands(spelled["greedy"], references, vocabulary) if has_ranks and spelled else None,
        bit_errors=bit_errors(loaded.model, test),
    ).save(job.result_file)


def _translations(
    model: Model, corpus: Corpus, sources: Sequence[NDArray[Any]] | None = None
) -> dict[str, list[list[str]]]:
    """Of the test set, by every way of searching. sources: ids of its sentences, if they shall be others"""
    return {name: translate_split(model, corpus, "test", how, sources) for name, how in SEARCHES.items()}


def _scores(translations: Mapping[str, Sequence[list[str]]], corpus: Corpus) -> dict[str, Score]:
    references, text = corpus.split("test").target_tokens, corpus.manifest.settings
    return {name: _score(found, references, text) for name, found in translations.items()}


def _selection(job: Job, loaded: LoadedModel[TranslationModel], corpus: Corpus) -> WordSelection:
    """Translate it once more, by words of a shortlist alone."""
    shortlist = shortlist_of(job)
    recall = Recall.of(shortlist, corpus.split("test"))
    return WordSelection(
        scores=_scores(_translations(ListedModel(loaded, shortlist), corpus), corpus),
        recall=recall.share,
        list_words=recall.mean_size,
    )


def _spelled(loaded: LoadedModel[TranslationModel], corpus: Corpus) -> dict[str, list[list[str]]] | None:
    """Translate it once more, unknown words read by their spelling; None of a model that cannot."""
    if loaded.model.source_code is None:
        return None
    words = OpenVocabulary(loaded.source_vocabulary, loaded.model.source_code)
    tokenizer = loaded.text.tokenizer("source", loaded.pieces)
    sources = [words.ids(tokenizer.tokenize(line)) for line in corpus.split("test").source_lines]
    return _translations(loaded.model, corpus, sources)


def _score(translations: Sequence[list[str]], references: Sequence[list[str]], text: PrepareSettings) -> Score:
    ours, theirs = ([" ".join(tokens) for tokens in lines] for lines in (translations, references))
    by_tokens = token_bleu(ours, theirs)
    name, tokenizer = _detokenizer(text)
    ours_as_text, theirs_as_text = (list(map(tokenizer.detokenize, lines)) for lines in (translations, references))
    by_text = text_bleu(ours_as_text, theirs_as_text, text.target_language)
    return Score(
        token_bleu=by_tokens.score,
        text_bleu=by_text.score,
        signatures=[by_tokens.signature, f"{by_text.signature}|detok:{name}"],
        sentences=sentence_statistics(ours, theirs),
    )


def _detokenizer(text: PrepareSettings) -> tuple[str, Detokenizer]:
    """What makes text of target words, and its name.

    Without the package sacremoses tokens stay apart, and the name tells.
    """
    try:
        return text.words, build_detokenizer(text.words, text.target_language)
    except ModuleNotFoundError:
        return "none", build_detokenizer("whitespace", text.target_language)


def _training(job: Job, metrics: Metrics, corpus: Corpus, device: str) -> Training:
    newest = checkpoint.load_info(checkpoint.checkpoints(job.run)[-1])
    since_report = newest.since_report
    train = corpus.manifest.splits["train"]
    tokens = metrics.tokens + since_report.tokens
    return Training(
        steps=newest.step,
        epochs=tokens / (train.target.tokens + train.pairs),
        tokens=tokens,
        seconds=metrics.seconds + since_report.seconds,
        tokens_per_second=metrics.tokens_per_second or 0.0,
        side_by_side=job.side_by_side,
        peak_memory=metrics.peak_memory,
        device=device_name(device),
    )
