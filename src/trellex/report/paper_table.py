"""The paper's table of results: quality, size and time of each method on a corpus."""

from __future__ import annotations

from collections.abc import Iterable

from trellex.evaluation.result import Timing
from trellex.report.blocks import Cell, Table, best_two
from trellex.report.formatting import ABSENT, mean, one_in, ratio, share, significant, spread, times
from trellex.report.paper import TIMED_DIRECTION, Row, paper_rows
from trellex.report.result_set import Corpus, Direction, methods_of

FASTER = "faster"
QUIET = 0.1  # of a core, on average; what a system does by itself is below that
TIMES = (  # headings, and the figure's name with us and with the paper
    ("train, ms a batch", "of softmax", "train_batch"),
    ("GPU, ms a sentence", FASTER, "gpu_sentence"),
    ("CPU, ms a sentence", FASTER, "cpu_sentence"),
)
WHERE = {"gpu_sentence": "on the GPU", "cpu_sentence": "on one CPU thread (the exported model in single precision)"}


def quality_and_size(corpus: Corpus) -> Table:
    """BLEU, bits, outputs and parameters, with the paper's figures if it has them."""
    rows, sized = paper_rows(corpus.stands_for), corpus.directions[0]
    ours = [f"BLEU {direction.name}" for direction in corpus.directions]
    theirs = [f"{corpus.stands_for} {direction.name}" for direction in corpus.directions] if rows else []
    papers = ["paper's"] if rows else []
    sizes = ["B", "#out", "output parameters", "share of softmax's", *papers, "all, of softmax model's", *papers]
    notes = [f"Sizes are those of {sized.name}."]
    if rows:
        notes.append(
            f"Columns called {corpus.stands_for} or \"paper's\" have the paper's own figures, which are of "
            f"{corpus.stands_for}; {corpus.name} takes its place here."
        )
    caption = f"{corpus.name}: quality and size ({seeds(*corpus.directions)})"
    table = Table(caption, ["method", *ours, *theirs, *sizes], notes=notes)
    methods = methods_of(corpus.results)
    scores = {direction.name: _scores(direction, methods) for direction in corpus.directions}
    for name in methods:
        paper = rows.get(name) if rows else None
        cells = [Cell(name), *(scores[direction.name][name] for direction in corpus.directions)]
        if rows:
            cells += [Cell(_paper_bleu(paper, direction.name)) for direction in corpus.directions]
        table.add(*cells, *_sizes(sized, name, paper, bool(rows)))
    return table


def times_of(corpus: Corpus) -> list[Table]:
    """A table for each direction that was timed."""
    return [_times(corpus, direction) for direction in corpus.directions if _timings(direction)]


def where_timed(corpus: Corpus) -> list[str]:
    """Where sentences were timed that these tables have, in words."""
    timings = [timing for direction in corpus.directions for timing in _timings(direction)]
    return [words for figure, words in WHERE.items() if any(getattr(each, figure) is not None for each in timings)]


def _times(corpus: Corpus, timed: Direction) -> Table:
    """Milliseconds of a training batch and of a sentence, against softmax, with the paper's ratios if it has them.

    What was timed for no method has no columns.
    """
    rows = paper_rows(corpus.stands_for) if timed.name == TIMED_DIRECTION else None
    papers = ["paper's"] if rows else []
    headings = ["method"]
    found = [each for each in TIMES if any(_mean_time(timed, name, each[-1]) is not None for name in timed.methods)]
    for measured, relative, _ in found:
        headings += [measured, relative, *papers]
    table = Table(f"{corpus.name}: time ({timed.name})", headings, notes=how_timed(timed))
    for name, method in timed.methods.items():
        if not any(result.timing for result in method.results) and name not in (rows or {}):
            continue  # a row of nothing
        cells = [name]
        for _, relative, figure in found:
            own = _mean_time(timed, name, figure)
            cells += [
                significant(own),
                times(_against(own, _mean_time(timed, timed.softmax_of(name), figure), relative)),
            ]
            if rows:
                printed = getattr(rows[name], figure) if name in rows else None
                cells.append(times(_against(printed, getattr(rows["softmax"], figure), relative)))
        table.add(*cells)
    return table


def _against(own: float | None, softmax: float | None, relative: str) -> float | None:
    return ratio(softmax, own) if relative == FASTER else ratio(own, softmax)


def seeds(*directions: Direction) -> str:
    """How many seeds the figures rest on, in words."""
    numbers = {len(method.results) for direction in directions for method in direction.methods.values()}
    if numbers == {1}:
        return "one seed"
    return f"{max(numbers)} seeds" if len(numbers) == 1 else f"{min(numbers)} to {max(numbers)} seeds"


def _scores(direction: Direction, methods: Iterable[str]) -> dict[str, Cell]:
    """BLEU of each method, the best two marked."""
    found = {name: direction.test_bleu(name) for name in methods}
    marks = best_two([mean(values) for values in found.values()])
    return {name: Cell(spread(values), mark) for (name, values), mark in zip(found.items(), marks, strict=True)}


def _paper_bleu(paper: Row | None, direction: str) -> str:
    return f"{paper.bleu[direction]:.2f}" if paper and direction in paper.bleu else ABSENT


def _sizes(direction: Direction, name: str, paper: Row | None, with_paper: bool) -> list[str]:
    """The cells of a method's size, the paper's ratios between them."""
    of_softmax, whole, bits, outputs, parameters = ABSENT, ABSENT, ABSENT, ABSENT, ABSENT
    if name in direction.methods:
        size = direction.methods[name].first.size
        bits = ABSENT if size.bits is None else str(size.bits)
        outputs, parameters = f"{size.outputs:,}", f"{size.output_parameters:,}"
        of_softmax = share(size.times_smaller)
        whole = f"{direction.share_of_all(name):.3f}"
    cells = [bits, outputs, parameters, of_softmax, whole]
    if with_paper:
        cells.insert(4, one_in(paper.output_ratio if paper else None))
        cells.append(f"{paper.all_ratio:.3f}" if paper else ABSENT)
    return cells


def _mean_time(direction: Direction, name: str, figure: str) -> float | None:
    method = direction.methods.get(name)
    return mean(method.values(lambda result: getattr(result.timing, figure, None))) if method else None


def _timings(direction: Direction) -> list[Timing]:
    return [result.timing for result in direction.results if result.timing]


def meanwhile(corpus: Corpus) -> str:
    """What else ran while a corpus was timed, as far as that is known, in words."""
    cores = [each.other_cores for direction in corpus.directions for each in _timings(direction)]
    known = [each for each in cores if each is not None]
    if len(known) < len(cores):
        return f" (what else ran meanwhile was not {'always ' if known else ''}recorded)"
    most = max(known, default=0.0)
    if most < QUIET:
        return ", with nothing else running on the CPU"
    return f", while other processes kept up to {most:.1f} CPU cores busy"


def how_timed(direction: Direction) -> list[str]:
    """On what, and with how many sentences, as notes under a table."""
    timings = _timings(direction)
    batches = sorted({f"{each.batch_sentences:,} sentences, {each.batch_tokens:,} target tokens" for each in timings})
    gpus = sorted({each.gpu for each in timings if each.gpu})
    cpus = sorted({each.cpu for each in timings})
    counts = sorted({f"{each.sentences:,}" for each in timings})
    return [
        f"A batch: {' or '.join(batches)}. {' or '.join(counts)} sentences of the test set. "
        f"GPU: {', '.join(gpus) or ABSENT}. CPU: {', '.join(cpus)}."
    ]
