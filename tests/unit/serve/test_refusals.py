"""What is wrong is refused with the right status and a message, and the server goes on."""

import asyncio
import json
import logging

import httpx
import pytest

from trellex.serve.limits import ApiKeys

FINE = {"q": "may i sing here ?", "source": "en", "target": "ja"}
JSON = {"content-type": "application/json"}


@pytest.fixture
def refused(app, ask):
    """Asks what is to be refused, then what is not; returns the message of the refusal."""

    def refused(status, of=None, path="/translate", **options):
        served = of or app()
        answer = ask(served, ("POST", path, options))[0]
        assert answer.status_code == status, answer.text
        assert list(answer.json()) == ["error"]
        if of is None:
            assert ask(served, ("POST", "/translate", {"json": FINE}))[0].status_code == 200
        return answer.json()["error"]

    return refused


class TestBodies:
    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"{",
            b"[]",
            b"null",
            b'"q"',
            b"\xff\xfe",
            b'{"q": "a", "source": "en", "target": "\xff"}',
            b"[" * 100_000,
            b'{"q":' * 50_000,
            b'{"q": ' + b"1" * 10_000 + b"}",
            b'{"q": "a", "source": "en"}',
            b'{"q": "a", "source": "en", "target": "ja"',
        ],
        ids=range(12),
    )
    def test_that_are_no_such_json(self, refused, content):
        assert refused(400, content=content, headers=JSON)

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            *(("q", value) for value in (1, True, {}, [1], [["a"]], [None], "", [], 1.5, ["a", {}])),
            *(("source", value) for value in (1, [], {}, "", "x" * 100, "fr", "\ud800", "jp")),
            *(("target", value) for value in (1, [], {}, "", "fr", "eng", "auto", "\x00")),
            *(("format", value) for value in (1, [], "pdf", "\ud800")),
            *(("alternatives", value) for value in (-1, 11, "a", [], 1.5, True, 10**30, {})),
            ("api_key", 5),
        ],
    )
    def test_with_a_field_that_is_wrong(self, refused, field, value):
        message = refused(400, content=json.dumps(FINE | {field: value}), headers=JSON)
        assert field in message

    def test_are_not_quoted_at_length(self, refused):
        assert len(refused(400, json=FINE | {"format": "x" * 100_000})) <= 1000

    @pytest.mark.parametrize("field", FINE)
    def test_without_a_field(self, refused, field):
        rest = {name: value for name, value in FINE.items() if name != field}
        assert field in refused(400, json=rest)
        assert field in refused(400, data=rest)

    @pytest.mark.parametrize("kind", ["text/plain", "application/xml", "", "multipart/form-data", "image/png; a=b"])
    def test_of_other_kinds(self, refused, kind):
        assert refused(400, content=json.dumps(FINE).encode(), headers={"content-type": kind})

    def test_with_files(self, refused):
        assert refused(400, data={"source": "en", "target": "ja"}, files={"q": ("q.txt", b"may i sing here ?")})

    def test_with_too_many_fields(self, refused):
        assert refused(400, data=FINE | {f"field{place}": "" for place in range(200)})

    def test_that_are_damaged_multipart(self, refused):
        headers = {"content-type": "multipart/form-data; boundary=x"}
        for content in (b"--x\r\n", b"--x\r\nContent-Disposition: form-data\r\n\r\n1\r\n--x--", b"\x00" * 1000):
            assert refused(400, content=content, headers=headers)


class TestSizes:
    def test_of_bodies(self, app, refused):
        for options in ({"json": FINE | {"q": "a" * 10_000_000}}, {"data": FINE | {"q": "a" * 10_000_000}}):
            assert refused(413, **options) == "the body has more than 1,048,576 bytes"

    def test_of_bodies_that_do_not_tell_their_length(self, app, refused):
        async def body():
            for _ in range(100):
                yield b" " * 20_000

        assert refused(413, content=body(), headers=JSON) == "the body has more than 1,048,576 bytes"

    def test_of_texts(self, app, refused):
        served = app(max_characters=10)
        message = "q: 11 characters, more than 10; send it in parts"
        assert refused(400, served, json=FINE | {"q": "a" * 11}) == message
        assert refused(400, served, json=FINE | {"q": ["a" * 6, "a" * 5]}) == message
        assert refused(400, served, "/detect", json={"q": "a" * 11}) == "q: 11 characters, more than 10"

    def test_of_lists_and_sentences(self, app, refused):
        served = app(max_sentences=2)
        assert refused(400, served, json=FINE | {"q": ["a"] * 3}) == "q: 3 texts, more than 2; send them in parts"
        several = "q: 3 sentences, more than 2; send them in parts"
        assert refused(400, served, json=FINE | {"q": "a.\nb.\nc."}) == several
        assert refused(400, served, json=FINE | {"q": ["a ? b ?", "c ?"]}) == several

    def test_of_a_sentence(self, refused):
        message = "q: a sentence has 10,000 tokens, more than 1,000; split it into sentences"
        assert refused(400, json=FINE | {"q": "may " * 10_000}) == message

    def test_of_what_waits(self, app, ask):
        served = app(max_waiting=2, max_sentences=2, batch_tokens=1)
        answers = ask(served, *[("POST", "/translate", {"json": FINE | {"q": ["a", "b"]}})] * 20)
        statuses = [answer.status_code for answer in answers]
        assert set(statuses) == {200, 503}
        refusal = answers[statuses.index(503)]
        assert refusal.json() == {"error": "too much is waiting to be translated; try again later"}
        assert refusal.headers["retry-after"] == "5"


class TestOddText:
    @pytest.mark.parametrize(
        "text", ["a\x00b", "\x07\x1b[31m", "\u202e\u2028\u2029", "\ufeff", "\x85", "🦊" * 100, "\ufffe"]
    )
    def test_is_translated_somehow(self, translate, text):
        for kind in ("text", "html"):
            answer = translate(q=[text, f"<b>{text}</b>"], format=kind)
            assert answer.status_code == 200
            assert len(answer.json()["translatedText"]) == 2

    @pytest.mark.parametrize("text", ["\ud800", "a \udfff b", "<\ud800>"])
    def test_half_a_pair_of_surrogates_is_refused(self, refused, text):
        for q in (text, [text]):
            assert refused(400, content=json.dumps(FINE | {"q": q, "format": "html"}), headers=JSON).startswith("q")


class TestWho:
    def test_needs_a_key_where_there_are_some(self, app, ask, refused):
        served = app(keys=ApiKeys(["right", "other"]))
        assert refused(403, served, json=FINE) == "api_key: missing"
        assert refused(403, served, json=FINE | {"api_key": "wrong"}).startswith("api_key: wrong")
        assert refused(403, served, data=FINE | {"api_key": "wrong"}).startswith("api_key: wrong")
        assert refused(403, served, "/detect", json={"q": "a"}) == "api_key: missing"
        fine = [("POST", "/translate", {how: FINE | {"api_key": "right"}}) for how in ("json", "data")]
        open_to_all = [("GET", path, {}) for path in ("/languages", "/health", "/frontend/settings")]
        assert {answer.status_code for answer in ask(served, *fine, *open_to_all)} == {200}

    def test_may_ask_so_often(self, app, ask):
        served = app(requests_per_minute=3)
        answers = ask(served, *[("POST", "/detect", {"json": {"q": "a"}})] * 5)
        statuses = [answer.status_code for answer in answers]
        assert sorted(statuses) == [200] * 3 + [429] * 2
        refusal = answers[statuses.index(429)]
        assert refusal.json() == {"error": "too many requests; wait 20 seconds"}
        assert refusal.headers["retry-after"] == "20"

    def test_is_told_by_the_key(self, app, ask):
        served = app(requests_per_minute=1, keys=ApiKeys(["a", "b"]))

        def status(key):
            return ask(served, ("POST", "/detect", {"json": {"q": "a", "api_key": key}}))[0].status_code

        assert [status(key) for key in ("a", "b", "a", "wrong", "wronger")] == [200, 200, 429, 403, 429]


class TestTime:
    def test_is_bounded(self, app):
        """No thread has been started, so nothing is done, and what waits no more was taken back."""
        served = app(timeout=0.05)
        batcher = served.state.service.batcher

        async def run():
            transport = httpx.ASGITransport(app=served)
            async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
                asking = asyncio.ensure_future(client.post("/translate", json=FINE))
                while not batcher.waiting:
                    await asyncio.sleep(0.001)
                answer = await asking
                while batcher.waiting:
                    await asyncio.sleep(0.001)
                return answer

        answer = asyncio.run(asyncio.wait_for(run(), 30))
        assert (answer.status_code, answer.json()) == (
            503,
            {"error": "not done after 0.05 seconds; send less, or later"},
        )

    def test_of_a_body_is_bounded(self, app, refused):
        async def body():
            yield b"{"
            await asyncio.sleep(30)

        answer = refused(408, app(timeout=0.05), content=body(), headers=JSON)
        assert answer == "the body was not there after 0.05 seconds"


def test_failures_of_the_server_itself_quote_nothing(app, ask, translator, caplog, monkeypatch):
    def search(lines, *_):
        raise ValueError(f"cannot read {lines[0]}")

    monkeypatch.setattr(translator, "search", search)
    served = app()
    with caplog.at_level(logging.DEBUG):
        [answer] = ask(served, ("POST", "/translate", {"json": FINE | {"q": "secret"}}))
    assert (answer.status_code, list(answer.json())) == (500, ["error"])
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "a request to /translate failed: ValueError in " in caplog.text
    assert "secret" not in caplog.text + answer.text


def test_who_goes_away_is_dropped(app):
    """The second request waits behind the first when its client leaves."""
    served = app(batch_tokens=1)
    batcher = served.state.service.batcher

    async def run():
        messages = [
            {"type": "http.request", "body": json.dumps(FINE | {"q": ["a"] * 500}).encode(), "more_body": False}
        ]
        gone, sent = asyncio.Event(), []

        async def receive():
            if messages:
                return messages.pop()
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message):
            sent.append(message)

        async with served.router.lifespan_context(served):
            headers = [(b"content-type", b"application/json")]
            scope = {"type": "http", "method": "POST", "path": "/translate", "headers": headers, "query_string": b""}
            task = asyncio.ensure_future(served(scope | {"client": ("test", 1)}, receive, send))
            while not batcher.waiting:
                await asyncio.sleep(0.001)
            gone.set()
            await asyncio.wait_for(task, 30)
            assert (batcher.waiting, sent) == (0, [])
            transport = httpx.ASGITransport(app=served)
            async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
                assert (await client.post("/translate", json=FINE)).status_code == 200
                assert "trellex_requests_dropped_total 1.0" in (await client.get("/metrics")).text

    asyncio.run(asyncio.wait_for(run(), 60))
