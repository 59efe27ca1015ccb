"""What surrounds every request: headers of safety, a bound on its size, metrics, and answers to what goes wrong."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trellex.serve.metrics import Metrics

SAFETY = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "object-src 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
}
MAX_MESSAGE = 1000  # characters, for it may quote what was wrong
CLOSE = {"connection": "close"}  # what is left of the body is not read
SOON = {"retry-after": "5"}  # when to try again, in seconds

log = logging.getLogger("trellex.serve")


def error_answer(status: int, message: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """An error as LibreTranslate tells it."""
    told = message[:MAX_MESSAGE].encode("utf-8", "backslashreplace").decode()  # half a surrogate pair cannot be sent
    return JSONResponse({"error": told}, status, headers)


class Surroundings:
    """Around the application: nothing inside it ends without an answer, a count and the headers.

    Args:
        app: inside
        metrics: where answers are counted
        max_body: the most bytes of a body, counted as they come
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, max_body: int) -> None:
        self._app, self._metrics, self._max_body = app, metrics, max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, received = time.perf_counter(), 0, 0

        async def receive_bounded() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._max_body:
                raise HTTPException(413, f"the body has more than {self._max_body:,} bytes", CLOSE)
            return message

        async def send_safely(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                given = {name.lower() for name, _ in message.get("headers", ())}
                more = [(name.encode(), value.encode()) for name, value in SAFETY.items() if name.encode() not in given]
                message = {**message, "headers": [*message.get("headers", ()), *more]}
            await send(message)

        try:
            await self._app(scope, receive_bounded, send_safely)
        except ClientDisconnect:
            self._metrics.dropped()
            return
        except Exception as error:
            log.error(
                "a request to %s failed: %s", _path(scope), _place(error)
            )  # never what the error says: it may quote
            if not status:
                answer = error_answer(500, "the server failed; what it was is in its log")
                await answer(scope, receive, send_safely)
        self._metrics.answered(_path(scope), status, time.perf_counter() - began)


def _path(scope: Scope) -> str:
    """The path of the route, so that there are few of them."""
    route: Any = scope.get("route")
    return getattr(route, "path", "other")


def _place(error: BaseException) -> str:
    """Kind of an error and where it arose."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = "" if trace is None else f" in {trace.tb_frame.f_code.co_filename}, line {trace.tb_lineno}"
    return f"{type(error).__name__}{where}"
