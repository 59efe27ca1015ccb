"""Connections and addresses of the server process."""

import asyncio
import socket

import httpx
import pytest

from trellex.serve import server
from trellex.serve.server import Server, address_of, listen

HEALTH = b"GET /health HTTP/1.1\r\nHost: a\r\n"
TRANSLATE = b"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n"


def serving(app, talk, proxies=()):
    """What a conversation with a running server gives, within its time."""

    async def run():
        with listen("127.0.0.1", 0) as listening:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)  # what is not taken waits in the server
            started = asyncio.Event()
            running = Server(app, list(proxies), started.set)
            task = asyncio.ensure_future(running.serve([listening]))
            await started.wait()
            try:
                return await asyncio.wait_for(talk(running), 30)
            finally:
                running.should_exit = running.force_exit = True
                await task

    return asyncio.run(run())


def place_of(running):
    return running.servers[0].sockets[0]


async def said(running, *parts):
    """All that the server says to some bytes, the second part after an answer to the first, until it closes."""
    reader, writer = await asyncio.open_connection(*place_of(running).getsockname())
    answer = b""
    for part in parts:
        writer.write(part)
        if part is not parts[-1]:
            answer += await reader.readuntil(b'{"status":"ok"}')
    answer += await reader.read()
    writer.close()
    return answer


async def until(condition):
    while not condition():
        await asyncio.sleep(0.001)


@pytest.mark.parametrize(
    "parts",
    [
        [b""],
        [b"POST /translate HT"],
        [HEALTH + b"\r\nGET /"],
        [HEALTH + b"\r\n", b"G"],
        [HEALTH + b"Content-Length: 9\r\n\r\n", b"1"],
        [HEALTH + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n"],
    ],
)
def test_who_never_sends_a_whole_request_is_cut(app, monkeypatch, parts):
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.1)
    monkeypatch.setattr(server, "IDLE_SECONDS", 1000)
    answer = serving(app(), lambda running: said(running, *parts))
    assert answer.count(b"HTTP/1.1 200 OK") == parts[0].count(b"/health")


def test_a_request_under_way_is_not_cut(app):
    """When the time for a head is over, half of the body has come."""
    body = b"q=a&source=en&target=en"

    async def talk(running):
        reader, writer = await asyncio.open_connection(*place_of(running).getsockname())
        writer.write(TRANSLATE + f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body[:9])
        await until(lambda: running.server_state.tasks)
        [connection] = running.server_state.connections
        connection._close_idle()
        writer.write(body[9:])
        answer = await reader.read()
        writer.close()
        return answer

    assert serving(app(), talk).endswith(b'{"translatedText":"a"}')


@pytest.mark.parametrize("times", [1, 3])
def test_who_takes_no_answer_is_cut(app, monkeypatch, times):
    """One answer waits in a connection that is to end; with three, the server waits before it writes the last."""
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.1)
    monkeypatch.setattr(server, "ANSWER_SECONDS", 0.1)
    body = b"source=en&target=en&q=" + b"a" * 40_000
    request = TRANSLATE + f"Content-Length: {len(body)}\r\n\r\n".encode() + body

    async def talk(running):
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(client, place_of(running).getsockname())
            await loop.sock_sendall(client, request * times)
            await until(lambda: running.server_state.total_requests)
            [connection] = running.server_state.connections
            assert connection.transport.get_write_buffer_size() > 0
            await until(lambda: not running.server_state.connections)

    serving(app(), talk)


def is_refused(answer, status, message):
    head, _, body = answer.partition(b"\r\n\r\n")
    headers = head.lower().split(b"\r\n")
    expected = {b"connection: close", b"content-type: application/json", b"x-content-type-options: nosniff"}
    return headers[0].startswith(b"http/1.1 %d " % status) and expected < set(headers) and message in body


def test_one_connection_too_many_is_told_so(app, monkeypatch):
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 1)

    async def talk(running):
        _, writer = await asyncio.open_connection(*place_of(running).getsockname())
        await until(lambda: running.server_state.connections)
        refusal = await said(running, HEALTH + b"\r\n")
        writer.close()
        await until(lambda: not running.server_state.connections)
        return refusal, await said(running, HEALTH + b"Connection: close\r\n\r\n")

    refusal, answer = serving(app(), talk)
    assert is_refused(refusal, 503, b'{"error":"too many connections; try again later"}')
    assert b"\r\nretry-after: 5\r\n" in refusal
    assert answer.startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize("sent", [b"\x00\r\n\r\n", HEALTH + b"Transfer-Encoding: chunked\r\n\r\nno number\r\n"])
def test_what_is_no_http_is_told_so(app, caplog, sent):
    answer = serving(app(), lambda running: said(running, sent))
    assert is_refused(answer, 400, b'{"error":"the request is not valid HTTP"}')
    assert answer.count(b"HTTP/1.1") == 1
    assert caplog.text == ""


def test_what_is_no_http_after_an_answer_ends_the_connection(app, caplog):
    head = HEALTH + b"Transfer-Encoding: chunked\r\n\r\n"
    answer = serving(app(), lambda running: said(running, head, b"no number\r\n"))
    assert answer.count(b"HTTP/1.1") == 1
    assert caplog.text == ""


@pytest.mark.parametrize(("proxies", "expected"), [([], [200, 429, 429]), (["127.0.0.1"], [200, 200, 429])])
def test_only_a_proxy_that_is_named_tells_who_asks(app, proxies, expected):
    async def talk(running):
        async with httpx.AsyncClient(base_url=address_of(place_of(running))) as client:
            return [
                (await client.post("/detect", json={"q": "a"}, headers={"x-forwarded-for": address})).status_code
                for address in ("192.0.2.1", "192.0.2.2", "192.0.2.1")
            ]

    assert serving(app(requests_per_minute=1), talk, proxies) == expected


class TestListen:
    def test_tells_where(self):
        with listen("127.0.0.1", 0) as listening:
            assert address_of(listening) == f"http://127.0.0.1:{listening.getsockname()[1]}"

    def test_tells_where_with_six(self):
        try:
            listening = listen("::1", 0)
        except OSError:
            pytest.skip("there is no IPv6")
        with listening:
            assert address_of(listening).startswith("http://[::1]:")

    def test_what_is_taken_is_told(self):
        with listen("127.0.0.1", 0) as first, pytest.raises(OSError, match="another program listens there; end it, or"):
            listen("127.0.0.1", first.getsockname()[1])
