"""The results in a folder, as corpora, directions, methods and seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from trellex.evaluation.bootstrap import STATISTICS
from trellex.evaluation.result import Result, Score
from trellex.heads.spec import HeadSpec
from trellex.kinds import RESULTS, check_kind

GREEDY, BEAM = "greedy", "beam 5"  # ways of searching, as results call them


@dataclass(frozen=True)
class Method:
    """A method on one corpus in one direction: its head, and a result for each seed, that of the lowest first."""

    head: HeadSpec
    results: tuple[Result, ...]

    @property
    def first(self) -> Result:
        return self.results[0]

    def values(self, figure: Callable[[Result], float | None]) -> list[float]:
        """A figure of each seed that has it."""
        return [value for result in self.results if (value := figure(result)) is not None]

    def of_scores(self, search: str, figure: Callable[[Score], float]) -> list[float]:
        """A figure of each seed with which one way of searching was tried."""
        return [figure(result.scores[search]) for result in self.results if search in result.scores]

    def token_bleu(self, search: str) -> list[float]:
        """Of each seed, by one way of searching with the best checkpoint."""
        return self.of_scores(search, lambda score: score.token_bleu)

    def text_bleu(self, search: str) -> list[float]:
        """The same of text, whose unit is that of the direction."""
        return self.of_scores(search, lambda score: score.text_bleu)


@dataclass(frozen=True)
class Direction:
    """The methods trained on one corpus in one direction, by name in the order of tables."""

    corpus: str
    name: str  # such as en-ja
    methods: dict[str, Method]

    @property
    def title(self) -> str:
        return f"{self.corpus} {self.name}"

    @property
    def results(self) -> list[Result]:
        return [result for method in self.methods.values() for result in method.results]

    @property
    def text_unit(self) -> str:
        """What BLEU of text compares, in the target's language."""
        return "characters" if self.name.endswith(("-ja", "-ko", "-zh")) else "13a"

    @property
    def is_averaged(self) -> bool:
        """Whether all trainings have the paper's mean of 5. If not, the best checkpoints' BLEU is compared."""
        return all(result.averaged_test_bleu is not None for result in self.results)

    @property
    def ranked(self) -> Result | None:
        """A result that tells the ranks of words; none if all targets are cut into pieces."""
        return next((result for result in self.results if result.rarest), None)

    def softmax_of(self, method: str) -> str:
        """The name of the softmax to compare a method with: of text that is cut alike, if there is one."""
        cell = self.methods[method].first.cell
        alike = cell.model_copy(update={"head": HeadSpec.parse("softmax"), "variant": None}).method
        return alike if alike in self.methods else "softmax"

    def share_of_all(self, method: str) -> float:
        """All parameters of a method's model, of those of the softmax that it is compared with, of whatever sizes.

        Where there is none of text that is cut alike, the model is compared with itself with a softmax.
        """
        own, softmax = self.methods[method].first, self.methods.get(self.softmax_of(method))
        if softmax is None or softmax.first.cell.cut != own.cell.cut:
            return own.size.share_of_all
        return own.size.all_parameters / softmax.first.size.all_parameters

    def test_bleu(self, method: str) -> list[float]:
        """Of each seed of a method, of the same kind for all methods; nothing of one that is not there."""
        results = self.methods[method].results if method in self.methods else ()
        if self.is_averaged:
            return [each.averaged_test_bleu for each in results if each.averaged_test_bleu is not None]
        return [each.best_test_bleu for each in results]


@dataclass(frozen=True)
class Corpus:
    """The directions of one corpus."""

    name: str
    stands_for: str | None
    directions: tuple[Direction, ...]

    @property
    def results(self) -> list[Result]:
        return [result for direction in self.directions for result in direction.results]


@dataclass(frozen=True)
class ResultSet:
    """All that was found in a folder."""

    corpora: tuple[Corpus, ...]

    @classmethod
    def load(cls, folder: Path) -> ResultSet:
        """Read every `*.json` of the folder. Raises ValueError or OSError that names the file and what to do."""
        check_kind(folder, RESULTS)
        if not folder.is_dir():
            raise FileNotFoundError(f"{folder}: there is no such folder; name the folder with the results")
        results = {path: Result.load(path) for path in sorted(folder.glob("*.json"))}
        if not results:
            raise FileNotFoundError(f"{folder}: no results (*.json); run an experiment, or name another folder")
        _check(results)
        names = sorted({result.cell.corpus for result in results.values()})
        return cls(tuple(_corpus(name, list(results.values())) for name in names))

    @property
    def results(self) -> list[Result]:
        return [result for corpus in self.corpora for result in corpus.results]


def methods_of(results: Iterable[Result]) -> dict[str, HeadSpec]:
    """The heads of results by the names of their methods, in the order of tables; words come before pieces."""
    cells = sorted(
        (result.cell for result in results), key=lambda cell: (cell.head.order, cell.cut or "", cell.variant or "")
    )
    return {cell.method: cell.head for cell in cells}


def _check(results: dict[Path, Result]) -> None:
    """That no cell is there twice, and that those of a direction were tested on the same sentences."""
    cells: dict[tuple[object, ...], Path] = {}
    corpora: dict[str, Path] = {}
    directions: dict[tuple[object, ...], Path] = {}
    for path, result in results.items():
        cell = result.cell
        other = cells.setdefault((cell.corpus, cell.direction, cell.method, cell.seed), path)
        if other != path:
            raise ValueError(
                f"{path} and {other}: both are the result of {cell.corpus} {cell.direction} {cell.method} "
                f"seed {cell.seed}; remove one of them"
            )
        other = corpora.setdefault(cell.corpus, path)
        if results[other].cell.stands_for != cell.stands_for:
            raise ValueError(
                f"{path} and {other}: {cell.corpus} stands for {cell.stands_for} in one and for "
                f"{results[other].cell.stands_for} in the other; give both the same `stands_for`"
            )
        sentences = len(result.rarest or _references(result))
        for search, score in result.scores.items():
            if len(score.sentences) != sentences or any(len(row) != STATISTICS for row in score.sentences):
                raise ValueError(
                    f"{path}: the scores of {search} are not {STATISTICS} numbers for each of the "
                    f"{sentences:,} test sentences; run the experiment again"
                )
        for measure in (_references, _ranks):
            measured = measure(result)
            if not measured:
                continue
            other = directions.setdefault((cell.corpus, cell.direction, measure), path)
            if measure(results[other]) != measured:
                raise ValueError(
                    f"{path} and {other}: both are of {cell.corpus} {cell.direction}, but their test sets or "
                    "vocabularies differ; run one of them again, or give its corpus another name"
                )


def _references(result: Result) -> list[int]:
    """What must be equal for translations to be compared sentence by sentence: the lengths of their references."""
    return next(([row[1] for row in score.sentences] for score in result.scores.values()), [])


def _ranks(result: Result) -> list[object]:
    """What must be equal for translations to be compared by the ranks of words; nothing where there are none."""
    bands = [(band.first_rank, band.end_rank) for band in result.bands]
    return [result.size.vocabulary, result.rarest, bands] if result.rarest else []


def _corpus(name: str, results: list[Result]) -> Corpus:
    own = [result for result in results if result.cell.corpus == name]
    directions = sorted({result.cell.direction for result in own})
    return Corpus(name, own[0].cell.stands_for, tuple(_direction(name, direction, own) for direction in directions))


def _direction(corpus: str, name: str, results: list[Result]) -> Direction:
    own = sorted((each for each in results if each.cell.direction == name), key=lambda each: each.cell.seed)
    methods = {
        label: Method(head, tuple(result for result in own if result.cell.method == label))
        for label, head in methods_of(own).items()
    }
    return Direction(corpus, name, methods)
