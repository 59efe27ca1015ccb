"""The endpoints that explain: how a translation came about, and what the models are."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from functools import partial
from typing import Any, TypeVar

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException

from trellex.explanation import Explanation, explain, model_facts
from trellex.serve.api import ERRORS, TheService, admitted
from trellex.serve.batcher import Pair
from trellex.serve.layout import Layout
from trellex.serve.requests import ExplainRequest
from trellex.serve.service import Service
from trellex.text.languages import language_name
from trellex.translator import Translator

MOST_SENTENCES = 20  # that a request may have explained

Result = TypeVar("Result")

router = APIRouter()


@router.post("/explain", responses=ERRORS, openapi_extra=ExplainRequest.openapi())
async def explained(request: Request, service: TheService) -> dict[str, Any]:
    """Translate a text and tell of every word what bits it was read from, its rivals, and which words it looked at."""
    asked = await admitted(request, service, ExplainRequest)
    if len(asked.q) > service.settings.max_characters:
        raise HTTPException(400, f"q: {len(asked.q):,} characters, more than {service.settings.max_characters:,}")
    pair = service.languages.pair(asked.source, asked.target)
    layout = Layout(asked.q, *pair)
    most = min(MOST_SENTENCES, service.settings.max_sentences)
    if len(layout.sentences) > most:
        raise HTTPException(400, f"q: {len(layout.sentences):,} sentences, more than {most:,} to explain; send less")
    found = await service.bounded(request, _explanations(service, asked, pair, layout.sentences))
    return {
        "translatedText": layout.filled([each.text for each in found]),
        "sentences": [each.facts() for each in found],
    }


async def _explanations(service: Service, asked: ExplainRequest, pair: Pair, sentences: list[str]) -> list[Explanation]:
    service.metrics.characters(len(asked.q))
    calls = [
        service.batcher.call(pair, partial(_explain, sentence, asked, (asked.seed or 0) + place))
        for place, sentence in enumerate(sentences)
    ]
    try:
        return await _all(*calls)
    except ValueError as error:
        raise HTTPException(400, f"q: {error}") from None


def _explain(sentence: str, asked: ExplainRequest, seed: int, translator: Translator) -> Explanation:
    return explain(translator, sentence, asked.settings(), asked.k or 1, seed)


@router.get("/models")
async def models(request: Request, service: TheService) -> list[dict[str, Any]]:
    """What is served: for every pair of languages the output layer and its sizes."""
    calls = (service.batcher.call(pair, model_facts) for pair in service.languages.pairs)
    facts = await service.bounded(request, _all(*calls))
    names = ({f"{side}_name": language_name(each[side]) for side in ("source", "target")} for each in facts)
    return [each | more for each, more in zip(facts, names, strict=True)]


async def _all(*calls: Awaitable[Result]) -> list[Result]:
    return await asyncio.gather(*calls)
