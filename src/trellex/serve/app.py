"""The application: endpoints, what surrounds them, and errors as LibreTranslate tells them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response

import trellex
from trellex.serve import api, explain, web_page
from trellex.serve.languages import AUTO, Languages
from trellex.serve.limits import ApiKeys
from trellex.serve.middleware import Surroundings, error_answer
from trellex.serve.service import Service
from trellex.serve.settings import ServeSettings
from trellex.translator import Translator


def create_app(
    workers: Sequence[Sequence[Translator]],
    settings: ServeSettings | None = None,
    keys: ApiKeys | None = None,
    allow_origins: Sequence[str] = (),
) -> FastAPI:
    """An ASGI application; its threads run between startup and shutdown alone.

    Args:
        workers: the translators of every thread, one for each pair of languages
        settings: limits, and how to search
        keys: of clients that may ask; None for all
        allow_origins: web pages of other origins that may ask, * for all
    """
    service = Service(workers, settings or ServeSettings(), keys)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.batcher.start()
        yield
        await service.batcher.close()

    app = FastAPI(
        title="Trellex",
        version=trellex.__version__,
        description="Translates as LibreTranslate does.",
        lifespan=lifespan,
        docs_url=None,  # for it loads scripts from elsewhere
        redoc_url=None,
    )
    app.state.service = service
    for part in (api, explain, web_page):
        app.include_router(part.router)
    app.mount("/page", web_page.PageFiles())
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    if allow_origins:
        app.add_middleware(CORSMiddleware, allow_origins=list(allow_origins), allow_methods=["*"], allow_headers=["*"])
    app.add_middleware(Surroundings, metrics=service.metrics, max_body=service.settings.max_body)
    app.openapi = lambda: _description(app, service.languages)  # type: ignore[method-assign]
    return app


def _description(app: FastAPI, languages: Languages) -> dict[str, Any]:
    """The description of the API, with the languages that are served."""
    described = FastAPI.openapi(app)  # which is made once, and then given again
    translated = {pair.target for pair in languages.pairs}
    for path, sources, targets in (
        ("/translate", [AUTO, *languages.sources], languages.codes),
        ("/explain", languages.sources, translated),
    ):
        for content in described["paths"][path]["post"]["requestBody"]["content"].values():
            fields = content["schema"]["properties"]
            fields["source"]["enum"], fields["target"]["enum"] = sources, sorted(targets)
    return described


async def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return error_answer(error.status_code, error.detail, error.headers)


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return error_answer(400, "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()))
