"""Serve translations to clients of LibreTranslate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from trellex.serve.settings import ServeSettings
from trellex.terminal import errors_explained, examples, tell, with_options_of


@examples(
    "trellex serve",
    "trellex serve phrasebook.int8",
    "trellex serve en-ja.int8 ja-en.int8 --beam 4 --workers 2 --api-keys keys.txt --requests-per-minute 60",
)
@with_options_of(ServeSettings)
def serve(
    models: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Exported models, runs or checkpoints, one for each pair of languages; "
            "en-ja and ja-en, which come with Trellex, unless given."
        ),
    ] = None,
    *,
    host: Annotated[str, typer.Option(help="Listen here; 0.0.0.0 for all networks.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Listen here; 0 for any that is free.")] = 5000,
    workers: Annotated[int, typer.Option(min=1, help="Threads that translate, each with models of its own.")] = 1,
    threads: Annotated[
        int | None, typer.Option(min=1, help="CPU threads of a model; 1 for an exported one unless given.")
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "cpu",
    api_keys: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Serve only who sends one of these keys, one a line.")
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(metavar="ORIGIN", help="Let pages of https://example.org ask; * for all. May be repeated."),
    ] = None,
    proxy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS", help="Believe this reverse proxy's X-Forwarded-For in who asks. May be repeated."
        ),
    ] = None,
    no_verify: Annotated[
        bool, typer.Option("--no-verify", help="Do not compare the models' files with their checksums.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Tell where it listens, and what it translates, as a line of JSON on stdout.")
    ] = False,
    **options: Any,
) -> None:
    """Translate over HTTP, with the API of LibreTranslate: POST /translate, POST /detect, GET /languages.

    A browser finds a page there that translates and shows the bits of every word.

    What several clients ask for at one time is translated side by side. Ctrl-C ends it when all that was asked is
    answered. /health and /metrics tell how it is, /openapi.json how to ask.
    """
    with errors_explained():
        from trellex.models import names
        from trellex.serve.app import create_app
        from trellex.serve.limits import ApiKeys
        from trellex.serve.server import Server, address_of, listen
        from trellex.translator import load

        settings = ServeSettings(**{name: value for name, value in options.items() if value is not None})
        keys = None if api_keys is None else ApiKeys.load(api_keys)
        with listen(host, port) as listening:
            loaded = [
                [load(model, threads=threads, device=device, verify=not no_verify) for model in models or names()]
                for _ in range(workers)
            ]
            app = create_app(loaded, settings, keys, allow_origin or ())
            app.state.service.try_out()
            pairs = app.state.service.languages.pairs

            def started() -> None:
                url, served = address_of(listening), ", ".join(f"{pair.source} to {pair.target}" for pair in pairs)
                if as_json:
                    print(json.dumps({"url": url, "pairs": pairs}), flush=True)
                else:
                    tell(f"{url} translates {served}; Ctrl-C ends it")

            server = Server(app, proxy or [], started)
            server.run([listening])
