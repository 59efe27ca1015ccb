"""Tables of how the models were trained: speed, settings and software."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean
from typing import Any

from trellex.report.blocks import Table
from trellex.report.formatting import ABSENT, mean, significant
from trellex.report.result_set import Corpus, ResultSet

LEFT_OUT = ("data", "output", "head", "training.seed")  # folders, and what other tables tell


def trainings(corpus: Corpus) -> Table:
    """Speed, memory and length of every training; means over seeds."""
    headings = ["method", "direction", "seeds", "steps", "epochs", "target tokens, M", "tokens/s", "side by side"]
    headings.append("peak memory, GB")
    devices = sorted({result.training.device for result in corpus.results})
    table = Table(f"{corpus.name}: training", headings, notes=[f"On {', '.join(devices)}; means over seeds."])
    for direction in corpus.directions:
        for name, method in direction.methods.items():
            runs = [result.training for result in method.results]
            memories = [run.peak_memory / 1e9 for run in runs if run.peak_memory is not None]
            table.add(
                name,
                direction.name,
                ", ".join(str(result.cell.seed) for result in method.results),
                f"{fmean(run.steps for run in runs):,.0f}",
                f"{fmean(run.epochs for run in runs):.1f}",
                significant(fmean(run.tokens / 1e6 for run in runs)),
                f"{fmean(run.tokens_per_second for run in runs):,.0f}",
                _distinct(run.side_by_side for run in runs),
                significant(mean(memories)),
            )
    return table


def settings(result_set: ResultSet) -> Table:
    """The recipe: a value that all trainings of a corpus have in common, or all that occur."""
    recipes = {corpus.name: [_flat(result.recipe) for result in corpus.results] for corpus in result_set.corpora}
    keys = dict.fromkeys(key for flat in recipes.values() for recipe in flat for key in recipe)
    table = Table("Settings", ["setting", *recipes])
    for key in keys:
        if key not in LEFT_OUT and not key.startswith("head."):
            table.add(key, *(_distinct(recipe.get(key, ABSENT) for recipe in flat) for flat in recipes.values()))
    return table


def software(result_set: ResultSet) -> Table:
    """Versions, all that occur."""
    versions = [result.versions for result in result_set.results]
    table = Table("Software", ["software", "version"])
    for name in sorted({name for each in versions for name in each}):
        table.add(name, _distinct(each.get(name, ABSENT) for each in versions))
    return table


def _flat(settings: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """Nested settings by dotted names."""
    found: dict[str, str] = {}
    for key, value in settings.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{prefix}{key}.")
        else:
            found[prefix + key] = _shown(value)
    return found


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _distinct(values: Iterable[object]) -> str:
    return ", ".join(dict.fromkeys(map(str, values)))
