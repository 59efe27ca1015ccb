"""The server process: a socket, connections that do not wait for ever, and an end that answers what is under way."""

from __future__ import annotations

import asyncio
import errno
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from trellex.serve.middleware import CLOSE, SAFETY, SOON, error_answer
from trellex.signals import ENDING, handled

HEAD_SECONDS = 10.0  # for the head of a request, which comes in one piece, after what is left of the one before
ANSWER_SECONDS = 60.0  # for an answer to be taken
IDLE_SECONDS = 5  # between two requests of a connection
GRACE_SECONDS = 10  # to answer what is under way when the server is to end
MAX_CONNECTIONS = 900  # below the 1,024 files that a process may mostly have open

TALKATIVE = ("python_multipart", "multipart")  # loggers that tell of the bytes of wrong requests


class Connection(H11Protocol):
    """A connection that is cut if the head of a request does not come, or an answer is not taken.

    What never gets to the application, one connection too many or no HTTP, is refused as the application refuses.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._deadlines: dict[Callable[[], None], asyncio.TimerHandle] = {}

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            self.app = error_answer(503, "too many connections; try again later", {**SAFETY, **SOON, **CLOSE})
        self._set(HEAD_SECONDS, self._close_idle)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._set(HEAD_SECONDS, self._close_idle)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._set(ANSWER_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._forget(self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget(*self._deadlines)
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        if self.cycle is not None:
            self.cycle.disconnected = True
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):  # else there is an answer already
            told = error_answer(400, "the request is not valid HTTP", {**SAFETY, **CLOSE})
            head = h11.Response(status_code=400, headers=told.raw_headers, reason=b"Bad Request")
            for event in (head, h11.Data(data=bytes(told.body)), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _close_idle(self) -> None:
        """Close it unless a request is under way; an answer may still be taken for a while."""
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
            if self.transport.get_write_buffer_size() and self.transport.abort not in self._deadlines:
                self._set(ANSWER_SECONDS, self.transport.abort)

    def _set(self, seconds: float, act: Callable[[], None]) -> None:
        self._forget(act)
        self._deadlines[act] = self.loop.call_later(seconds, act)

    def _forget(self, *acts: Callable[[], None]) -> None:
        for act in acts:
            if act in self._deadlines:
                self._deadlines.pop(act).cancel()


class Server(uvicorn.Server):
    """Serves until a signal comes, then answers what is under way; the signal then goes to who had it before.

    Args:
        app: what to serve
        proxies: addresses of reverse proxies that are believed in who their clients are
        started: called when requests are taken
    """

    def __init__(self, app: FastAPI, proxies: list[str], started: Callable[[], Any]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=Connection,
                ws="none",
                loop="asyncio",
                lifespan="on",
                log_config=None,
                log_level="critical",
                access_log=False,  # addresses hold text where clients put it there
                server_header=False,
                proxy_headers=bool(proxies),
                forwarded_allow_ips=proxies or None,
                timeout_keep_alive=IDLE_SECONDS,
                timeout_graceful_shutdown=GRACE_SECONDS,
            )
        )
        self._tell_started = started
        for name in TALKATIVE:
            logging.getLogger(name).setLevel(logging.CRITICAL)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._tell_started()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:  # type: ignore[override]
        with handled(self.handle_exit, *ENDING):
            yield
        for number in self._captured_signals[-1:]:
            signal.raise_signal(number)


def listen(host: str, port: int) -> socket.socket:
    """A socket at an address. Raises OSError that tells what to do if that cannot be had."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen()  # at once, so that nobody else gets the place while models are loaded
    except OSError as error:
        raise OSError(f"{host}:{port}: {_remedy(error)} ({error.strerror or error})") from error
    return listening


def _remedy(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "another program listens there; end it, or choose another --port"
    if error.errno == errno.EACCES:
        return "this user may not listen there; choose a --port above 1023"
    return "cannot listen there; --host is 127.0.0.1 for this machine alone, 0.0.0.0 for all networks"


def address_of(listening: socket.socket) -> str:
    """Where a browser finds it."""
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"
