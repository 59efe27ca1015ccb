"""Connections and addresses of the server process."""

import asyncio

import httpx
import pytest

from trellex.serve import server
from trellex.serve.server import Server, address_of, listen


async def serving(app, talk, proxies=()):
    """What a conversation with a running server gives; it takes the port."""
    with listen("127.0.0.1", 0) as listening:
        started = asyncio.Event()
        running = Server(app, list(proxies), started.set)
        task = asyncio.ensure_future(running.serve([listening]))
        await started.wait()
        try:
            return await asyncio.wait_for(talk(listening.getsockname()[1]), 30)
        finally:
            running.should_exit = True
            await task


@pytest.mark.parametrize("begin", [b"", b"POST /translate HT", b"GET /health HTTP/1.1\r\nHost: a\r\n\r\nGET /"])
def test_who_never_sends_a_whole_head_is_cut(app, monkeypatch, begin):
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.1)
    monkeypatch.setattr(server, "IDLE_SECONDS", 1000)

    async def talk(port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(begin)
        answer = await reader.read()  # until it is closed
        writer.close()
        return answer

    answer = asyncio.run(serving(app(), talk))
    assert answer.count(b"HTTP/1.1 200 OK") == begin.count(b"/health")


def test_a_long_translation_is_not_cut(app, monkeypatch):
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.01)
    body = b"q=" + b"may+i+sing+here+%3F+" * 200 + b"&source=en&target=ja&alternatives=5"
    head = f"POST /translate HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {len(body)}\r\n"
    kind = "Content-Type: application/x-www-form-urlencoded\r\n\r\n"

    async def talk(port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write((head + kind).encode() + body)
        answer = await reader.read()
        writer.close()
        return answer

    assert asyncio.run(serving(app(), talk)).startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize(("proxies", "expected"), [([], [200, 429, 429]), (["127.0.0.1"], [200, 200, 429])])
def test_only_a_proxy_that_is_named_tells_who_asks(app, proxies, expected):
    async def talk(port):
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
            return [
                (await client.post("/detect", json={"q": "a"}, headers={"x-forwarded-for": address})).status_code
                for address in ("192.0.2.1", "192.0.2.2", "192.0.2.1")
            ]

    assert asyncio.run(serving(app(requests_per_minute=1), talk, proxies)) == expected


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
