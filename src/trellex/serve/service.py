"""The service: all that endpoints share, and how a request gets through it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from itertools import product
from typing import Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from trellex.explanation import explain, model_facts
from trellex.search import SearchSettings
from trellex.serve.batcher import Batcher, FullError, Pair, Wish
from trellex.serve.languages import Languages
from trellex.serve.layout import Layout
from trellex.serve.limits import ApiKeys, Rate, address_of
from trellex.serve.metrics import Metrics
from trellex.serve.middleware import SOON
from trellex.serve.settings import ServeSettings
from trellex.text.languages import language_name
from trellex.translator import Translation, Translator

Result = TypeVar("Result")


class Service:
    """What a server is made of.

    Args:
        workers: the translators of every thread, one for each pair of languages
        settings: its limits, and how it searches
        keys: who may ask; None for everybody
    """

    def __init__(
        self, workers: Sequence[Sequence[Translator]], settings: ServeSettings, keys: ApiKeys | None = None
    ) -> None:
        by_pair = [_by_pair(translators) for translators in workers]
        self._workers = by_pair
        self.settings, self.keys = settings, keys
        self.metrics, self.rate = Metrics(), Rate(settings.requests_per_minute)
        self.batcher = Batcher(by_pair, settings.batch_tokens, settings.max_waiting, self.metrics.batch)
        self.metrics.watch_waiting(lambda: self.batcher.waiting)
        self.languages = Languages(self.batcher.pairs)
        self.models = [_named(model_facts(translator)) for translator in by_pair[0].values()]

    def try_out(self) -> None:
        """Translate with every model, so that what is missing is told, and code compiled, before there are clients."""
        search = SearchSettings(self.settings.beam)
        for translators in self._workers:
            for translator in translators.values():
                for lines, how in product((["a"], ["a"] * 8), (search, SearchSettings(beam=2))):
                    translator.search(lines, how, scores=False, replace_unknown=self.settings.replace_unknown)
                for settings in (search, SearchSettings(beam=2), SearchSettings(sample=True)):
                    explain(translator, "a", settings)

    def admit(self, request: Request, api_key: str | None) -> None:
        """Raises HTTPException of 403 without a right key where one is needed, and of 429 if requests are too many."""
        owner = self.keys.owner(api_key) if self.keys is not None and api_key else None
        client = request.client.host if request.client else None
        seconds = self.rate.wait(owner or address_of(client))
        if seconds:
            raise HTTPException(429, f"too many requests; wait {seconds} seconds", {"retry-after": str(seconds)})
        if self.keys is not None and owner is None:
            raise HTTPException(
                403, "api_key: wrong; ask the operator of this server" if api_key else "api_key: missing"
            )

    async def bounded(self, request: Request, work: Coroutine[Any, Any, Result]) -> Result:
        """What some work gives, which is ended when its client goes away or the time is over. Needs the whole body.

        Raises HTTPException of 503 if it takes too long or too much waits already.
        """
        task, gone = asyncio.ensure_future(work), asyncio.ensure_future(_gone(request))
        try:
            await asyncio.wait({task, gone}, timeout=self.settings.timeout, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            if gone.done():
                raise ClientDisconnect
            raise HTTPException(503, f"not done after {self.settings.timeout:g} seconds; send less, or later", SOON)
        except FullError:
            raise HTTPException(503, "too much is waiting to be translated; try again later", SOON) from None
        finally:
            task.cancel()
            gone.cancel()

    async def translate(
        self, texts: Sequence[str], pairs: Sequence[Pair], is_html: bool = False, alternatives: int = 0
    ) -> list[list[str]]:
        """The translations of each text, best first, all of them different; raises HTTPException if it has too much.

        A text whose source is its target stays as it is.
        """
        layouts = {
            place: Layout(text, *pair, is_html)
            for place, (text, pair) in enumerate(zip(texts, pairs, strict=True))
            if pair.source != pair.target
        }
        count = sum(len(layout.sentences) for layout in layouts.values())
        if count > self.settings.max_sentences:
            most = self.settings.max_sentences
            raise HTTPException(400, f"q: {count:,} sentences, more than {most:,}; send them in parts")
        self.metrics.characters(sum(len(texts[place]) for place in layouts))
        search = SearchSettings(max(self.settings.beam, alternatives + 1), alternatives + 1)
        lines: dict[Pair, list[str]] = {pairs[place]: [] for place in layouts}
        for place, layout in layouts.items():
            lines[pairs[place]] += layout.sentences
        remaining = {}
        for pair, sentences in lines.items():
            wish = Wish(pair, search, replace_unknown=self.settings.replace_unknown)
            remaining[pair] = iter(await self.batcher.translate(sentences, wish))
        answers = [[text] for text in texts]
        for place, layout in layouts.items():
            found = [_fine(next(remaining[pairs[place]])) for _ in layout.sentences]
            filled = [
                layout.filled([best[min(rank, len(best) - 1)].text if best else "" for best in found])
                for rank in range(alternatives + 1)
            ]
            answers[place] = list(dict.fromkeys(filled))
        return answers


def _fine(best: list[Translation] | str) -> list[Translation]:
    if isinstance(best, str):
        raise HTTPException(400, f"q: a sentence {best}")
    return best


def _by_pair(translators: Sequence[Translator]) -> Mapping[Pair, Translator]:
    found: dict[Pair, Translator] = {}
    for translator in translators:
        pair = Pair(translator.text.source_language, translator.text.target_language)
        if pair in found:
            raise ValueError(f"models: two of them translate {pair.source} to {pair.target}; serve one of them")
        found[pair] = translator
    if not found:
        raise ValueError("models: there are none; give at least one")
    return found


def _named(facts: dict[str, Any]) -> dict[str, Any]:
    return facts | {f"{side}_name": language_name(facts[side]) for side in ("source", "target")}


async def _gone(request: Request) -> None:
    """Ends when the client has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
