"""The endpoints of LibreTranslate's API, and those that watch a server."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import Response

from trellex.serve.languages import AUTO
from trellex.serve.layout import without_markup
from trellex.serve.middleware import CLOSE
from trellex.serve.requests import ApiRequest, DetectRequest, TranslateRequest, read_fields
from trellex.serve.service import Service

AnyRequest = TypeVar("AnyRequest", bound=ApiRequest)


class Language(BaseModel):
    """A language, and those that it is translated into."""

    code: str
    name: str
    targets: list[str]


class Detection(BaseModel):
    """A language that a text may be in; the confidence is in percent."""

    confidence: int
    language: str


class TranslateAnswer(BaseModel):
    """Of a list, all are lists in the order of the texts; what was not asked for is missing."""

    translatedText: str | list[str]  # noqa: N815
    alternatives: list[str] | list[list[str]] | None = None
    detectedLanguage: Detection | list[Detection] | None = None  # noqa: N815


class ErrorAnswer(BaseModel):
    """What was wrong, and what to do."""

    error: str


async def service_of(request: Request) -> Service:
    """What the endpoints of an application share; async, for FastAPI puts others into a thread."""
    return request.app.state.service


TheService = Annotated[Service, Depends(service_of)]
ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorAnswer, "description": "The request is wrong."},
    403: {"model": ErrorAnswer, "description": "The API key is missing or wrong."},
    408: {"model": ErrorAnswer, "description": "The body came too slowly."},
    413: {"model": ErrorAnswer, "description": "The body is too large."},
    429: {"model": ErrorAnswer, "description": "Too many requests: see Retry-After."},
    503: {"model": ErrorAnswer, "description": "Too much to do: see Retry-After."},
}

router = APIRouter()


async def admitted(request: Request, service: Service, kind: type[AnyRequest]) -> AnyRequest:
    """The body of a request, read and checked, from a client that may ask. Raises HTTPException."""
    try:
        fields = await asyncio.wait_for(read_fields(request), service.settings.timeout)
    except TimeoutError:
        raise HTTPException(408, f"the body was not there after {service.settings.timeout:g} seconds", CLOSE) from None
    key = fields.get("api_key")
    service.admit(request, key if isinstance(key, str) else None)
    return kind.checked(fields)


@router.post(
    "/translate",
    response_model=TranslateAnswer,
    response_model_exclude_unset=True,
    responses=ERRORS,
    openapi_extra=TranslateRequest.openapi(),
)
async def translate(request: Request, service: TheService) -> dict[str, Any]:
    """Translate a text or a list of texts. Line breaks stay; of HTML, the text between tags is translated."""
    asked = await admitted(request, service, TranslateRequest)
    is_list = isinstance(asked.q, list)
    texts = asked.q if isinstance(asked.q, list) else [asked.q]
    settings = service.settings
    if len(texts) > settings.max_sentences:
        raise HTTPException(400, f"q: {len(texts):,} texts, more than {settings.max_sentences:,}; send them in parts")
    if (length := sum(map(len, texts))) > settings.max_characters:
        raise HTTPException(400, f"q: {length:,} characters, more than {settings.max_characters:,}; send it in parts")
    return await service.bounded(request, _translated(service, asked, texts, is_list))


async def _translated(service: Service, asked: TranslateRequest, texts: list[str], is_list: bool) -> dict[str, Any]:
    is_html = asked.format == "html"
    if asked.source == AUTO:
        looked_at = [without_markup(text) for text in texts] if is_html else texts
        detected = [Detection(**best) for best, *_ in await service.languages.detect(looked_at, service.batcher)]
    else:
        detected = [Detection(confidence=100, language=asked.source)] * len(texts)
    pairs = [service.languages.pair_or_same(each.language, asked.target) for each in detected]
    found = await service.translate(texts, pairs, is_html, asked.alternatives or 0)
    best, others = [text for text, *_ in found], [rest for _, *rest in found]
    answer: dict[str, Any] = {"translatedText": best if is_list else best[0]}
    if asked.alternatives:
        answer["alternatives"] = others if is_list else others[0]
    if asked.source == AUTO:
        answer["detectedLanguage"] = detected if is_list else detected[0]
    return answer


@router.post("/detect", response_model=list[Detection], responses=ERRORS, openapi_extra=DetectRequest.openapi())
async def detect(request: Request, service: TheService) -> list[dict[str, Any]]:
    """Which of the source languages a text may be in, best first."""
    asked = await admitted(request, service, DetectRequest)
    if len(asked.q) > service.settings.max_characters:
        raise HTTPException(400, f"q: {len(asked.q):,} characters, more than {service.settings.max_characters:,}")
    [found] = await service.bounded(request, service.languages.detect([asked.q], service.batcher))
    return found


@router.get("/languages", response_model=list[Language])
async def languages(service: TheService) -> list[dict[str, Any]]:
    """The languages, and what each is translated into."""
    return service.languages.facts()


@router.get("/health")
async def health() -> dict[str, str]:
    """Whether the server is there."""
    return {"status": "ok"}


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def metrics(service: TheService) -> Response:
    """For Prometheus."""
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4")


@router.get("/frontend/settings")
async def frontend_settings(service: TheService) -> dict[str, Any]:
    """What a page needs to know."""
    first, settings = service.languages.pairs[0], service.settings
    names = {each["code"]: {"code": each["code"], "name": each["name"]} for each in service.languages.facts()}
    return {
        "charLimit": settings.max_characters,
        "frontendTimeout": 500,
        "apiKeys": service.keys is not None,
        "keyRequired": service.keys is not None,
        "suggestions": False,
        "filesTranslation": False,
        "supportedFilesFormat": [],
        "language": {"source": names[first.source], "target": names[first.target]},
    }
