"""The endpoints that explain: how a translation came about, and what the models are."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from trellex.explanation import explain
from trellex.serve.api import ERRORS, TheService, admitted
from trellex.serve.layout import Layout
from trellex.serve.requests import JSON, ExplainRequest
from trellex.translator import Translator

MOST_CHARACTERS, MOST_SENTENCES = 1000, 20  # of a request, for an answer has kilobytes for every word

router = APIRouter()


@router.post("/explain", responses=ERRORS, openapi_extra=ExplainRequest.openapi())
async def explained(request: Request, service: TheService) -> Response:
    """Translate a text and tell of every word what bits it was read from, its rivals, and which words it looked at."""
    asked = await admitted(request, service, ExplainRequest)
    most = min(MOST_CHARACTERS, service.settings.max_characters)
    if len(asked.q) > most:
        raise HTTPException(400, f"q: {len(asked.q):,} characters, more than {most:,} to explain; send less")
    pair = service.languages.pair(asked.source, asked.target)
    layout = Layout(asked.q, *pair)
    most = min(MOST_SENTENCES, service.settings.max_sentences)
    if len(layout.sentences) > most:
        raise HTTPException(400, f"q: {len(layout.sentences):,} sentences, more than {most:,} to explain; send less")
    service.metrics.characters(len(asked.q))
    calls = [
        partial(_explain, sentence, asked, (asked.seed or 0) + place) for place, sentence in enumerate(layout.sentences)
    ]
    found = await service.bounded(request, service.batcher.call_each(pair, calls))
    text = json.dumps(layout.filled([each for each, _ in found]))
    sentences = ",".join(facts for _, facts in found)
    return Response(f'{{"translatedText":{text},"sentences":[{sentences}]}}', media_type=JSON)


def _explain(sentence: str, asked: ExplainRequest, seed: int, translator: Translator) -> tuple[str, str]:
    """The translation, and its explanation as JSON, which is written here because this thread may take its time."""
    found = explain(translator, sentence, asked.settings(), asked.k or 1, seed)
    return found.text, json.dumps(found.facts())


@router.get("/models")
async def models(service: TheService) -> list[dict[str, Any]]:
    """What is served: for every pair of languages the output layer and its sizes."""
    return service.models
