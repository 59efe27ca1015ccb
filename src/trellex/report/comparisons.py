"""Comparisons: how much higher the BLEU of one method is than that of another, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping

from trellex.evaluation.bootstrap import Paired, paired_bootstrap
from trellex.evaluation.result import Score
from trellex.report.blocks import Table
from trellex.report.formatting import ABSENT, signed
from trellex.report.paper_table import seeds
from trellex.report.result_set import BEAM, GREEDY, Direction, Method
from trellex.report.systems import systems

SEARCHES = (GREEDY, BEAM)
SOFTMAX, TIED = "softmax", "softmax (tied)"
LEVEL = 0.05  # of p, below which a difference is called significant


def comparisons(direction: Direction) -> list[Table]:
    """All systems against softmax and against tied softmax, a table each; nothing where there is no tied one."""
    bases = [name for name in (SOFTMAX, TIED) if name in direction.methods]
    return [_against(direction, base) for base in bases] if TIED in bases else []


def shortlists(direction: Direction) -> Table | None:
    """Each softmax that was tried with a shortlist against the same without, of the first seed; None without any."""
    headings = ["method", *(each for search in SEARCHES for each in (search, "95 % interval", "p"))]
    table = Table(f"{direction.title}: BLEU with a shortlist above that without (first seeds)", headings)
    for method in direction.methods.values():
        if listed := next((result for result in method.results if result.selection), None):
            assert listed.selection is not None
            found = (_paired(listed.selection.scores, listed.scores, search) for search in SEARCHES)
            table.add(listed.cell.method, *(cell for each in found for cell in cells(each)))
    return table if table.rows else None


def compared(ours: Method, theirs: Method | None, search: str) -> Paired | None:
    """The paired bootstrap of the first seeds; none with itself, or where one did not search that way."""
    if theirs is None or ours is theirs:
        return None
    return _paired(ours.first.scores, theirs.first.scores, search)


def cells(found: Paired | None) -> tuple[str, str, str]:
    """Difference, interval and p."""
    if found is None:
        return ABSENT, ABSENT, ABSENT
    return signed(found.difference), f"{signed(found.low)} to {signed(found.high)}", f"{found.p_value:.3f}"


def _paired(ours: Mapping[str, Score], theirs: Mapping[str, Score], search: str) -> Paired | None:
    one, other = ours.get(search), theirs.get(search)
    return paired_bootstrap(one.sentences, other.sentences) if one and other else None


def _against(direction: Direction, base: str) -> Table:
    theirs = direction.methods[base]
    others = {name: method for name, method in systems(direction).items() if method is not theirs}
    found = {search: {name: compared(ours, theirs, search) for name, ours in others.items()} for search in SEARCHES}
    further = {
        search: {name: _further_seeds(ours, theirs, search) for name, ours in others.items()} for search in SEARCHES
    }
    has_further = any(differences for column in further.values() for differences in column.values())
    headings = ["method"]
    for search in SEARCHES:
        headings += [search, "95 % interval", "p", *(["further seeds"] if has_further else [])]
    notes = [_verdict(search, base, found[search]) for search in SEARCHES]
    table = Table(f"{direction.title}: BLEU above that of {base} ({seeds(direction)})", headings, notes=notes)
    for name in others:
        row = [name]
        for search in SEARCHES:
            row += cells(found[search][name])
            row += [further[search][name] or ABSENT] if has_further else []
        table.add(*row)
    return table


def _further_seeds(ours: Method, theirs: Method, search: str) -> str:
    """The differences of those seeds beyond the first that both have; empty if there are none."""
    by_seed = {result.cell.seed: result.scores.get(search) for result in theirs.results[1:]}
    pairs = ((result.scores.get(search), by_seed.get(result.cell.seed)) for result in ours.results[1:])
    return ", ".join(signed(one.token_bleu - other.token_bleu) for one, other in pairs if one and other)


def _verdict(search: str, base: str, found: dict[str, Paired | None]) -> str:
    """Which methods are significantly below and above, in words."""
    significant = {name: each.difference for name, each in found.items() if each and each.p_value < LEVEL}
    below = ", ".join(name for name, difference in significant.items() if difference < 0)
    above = ", ".join(name for name, difference in significant.items() if difference > 0)
    return f"{search.capitalize()}: significantly below {base}: {below or 'none'}; above: {above or 'none'}."
