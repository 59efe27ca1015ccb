"""A server inside this process, asked without a socket."""

import asyncio
import json
from pathlib import Path

import httpx
import pytest

import trellex
from trellex.serve.app import create_app
from trellex.serve.settings import ServeSettings

MODELS = Path(__file__).parents[2] / "models"
KEPT = json.loads((MODELS / "translations.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def models():
    """The folder of kept models."""
    return MODELS


@pytest.fixture(scope="session")
def kept():
    """English sentences that the kept model knows, with their translations."""
    return KEPT


@pytest.fixture(scope="session")
def translator():
    return trellex.load(MODELS / "export")


@pytest.fixture
def app(translator):
    """Makes an application around the kept model, or others."""

    def app(*translators, keys=None, allow_origins=(), **settings):
        return create_app([translators or [translator]], ServeSettings(**settings), keys, allow_origins)

    return app


@pytest.fixture
def ask():
    """Runs an application and sends requests, each a method, a path and options, all at one time."""

    def ask(app, *requests):
        async def run():
            transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
            async with (
                app.router.lifespan_context(app),
                httpx.AsyncClient(transport=transport, base_url="http://test") as client,
            ):
                return await asyncio.gather(
                    *(client.request(method, path, **options) for method, path, options in requests)
                )

        return asyncio.run(run())

    return ask


@pytest.fixture
def translate(app, ask):
    """The answer to one request to translate English to Japanese; options replace or follow its fields."""

    def translate(of=None, **fields):
        body = {"source": "en", "target": "ja"} | fields
        [answer] = ask(of or app(), ("POST", "/translate", {"json": body}))
        return answer

    return translate
