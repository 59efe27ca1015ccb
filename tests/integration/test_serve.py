"""A server in a process of its own: with a client by others, with clients that misbehave, and when it is ended."""

import contextlib
import json
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
from pathlib import Path

import httpx
import pytest
from libretranslatepy import LibreTranslateAPI

MODELS = Path(__file__).parents[1] / "models"
KEPT = json.loads((MODELS / "translations.json").read_text(encoding="utf-8"))
FINE = {"q": "may i sing here ?", "source": "en", "target": "ja"}
MANY = FINE | {"q": [f"{line} {line}" for line in KEPT] * 60, "alternatives": 9}  # takes about a second


@pytest.fixture(scope="module")
def server(serving):
    with serving("--timeout", 2) as server:
        yield server


def is_well(server):
    answer = httpx.post(f"{server.url}/translate", json=FINE)
    return (answer.status_code, answer.json()) == (200, {"translatedText": KEPT[FINE["q"]]})


def metric(server, name):
    [line] = [line for line in httpx.get(f"{server.url}/metrics").text.splitlines() if line.startswith(f"{name} ")]
    return float(line.split()[1])


def until(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


class TestClientByOthers:
    def test_translates(self, server):
        client = LibreTranslateAPI(server.url)
        assert {line: client.translate(line, "en", "ja") for line in KEPT} == KEPT
        assert client.detect("hello") == [{"confidence": 100, "language": "en"}]
        assert [each["code"] for each in client.languages()] == ["en", "ja"]

    def test_sends_its_key(self, serving, tmp_path):
        (tmp_path / "keys").write_text("one-key\n")
        with serving("--api-keys", tmp_path / "keys", "--requests-per-minute", 2) as server:
            client = LibreTranslateAPI(server.url, api_key="one-key")
            assert client.translate(FINE["q"], "en", "ja") == KEPT[FINE["q"]]
            with pytest.raises(urllib.error.HTTPError) as refusal:
                LibreTranslateAPI(server.url, api_key="other").translate("a", "en", "ja")
            assert refusal.value.code == 403
            client.detect("a")
            with pytest.raises(urllib.error.HTTPError) as refusal:
                client.detect("a")
            assert refusal.value.code == 429
            server.process.send_signal(signal.SIGTERM)
            assert "one-key" not in server.told + server.process.communicate(timeout=30)[1].decode()


class TestStart:
    def test_tells_where_and_what(self, server):
        assert server.told == f"{server.url} translates en to ja; Ctrl-C ends it\n"

    def test_checkpoints_are_served_too(self, serving):
        with serving("--workers", 2, "--beam", 2, model="checkpoint") as server:
            assert is_well(server)

    def test_tells_programs(self, process):
        running = process.start("serve", MODELS / "export", "--port", 0, "--json", "--no-verify")
        try:
            told = json.loads(running.stdout.readline())
            assert told["pairs"] == [["en", "ja"]]
            assert httpx.get(f"{told['url']}/health").status_code == 200
        finally:
            running.terminate()
            assert running.communicate(timeout=30) == (b"", b"")

    def test_a_port_in_use(self, process, server):
        result = process("serve", MODELS / "export", "--port", server.port)
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.startswith(f"error: 127.0.0.1:{server.port}: another program listens there; ")
        assert "choose another --port" in result.stderr

    @pytest.mark.parametrize(
        ("arguments", "parts"),
        [
            ((MODELS / "none",), ("none: there is no such folder",)),
            ((MODELS / "export", MODELS / "checkpoint"), ("two of them translate en to ja",)),
            ((MODELS / "export", "--max-waiting", 1), ("max_waiting: 1 sentences have no room",)),
            ((MODELS / "export", "--beam", 0), ("beam: ", "got 0")),
            ((MODELS / "export", "--host", "256.0.0.1"), ("256.0.0.1:0: cannot listen there",)),
            ((MODELS / "export", "--api-keys", MODELS / "none"), ("none",)),
            ((MODELS / "export", "--replace-unknown"), ("this export has no attention",)),
        ],
    )
    def test_what_is_wrong_is_told(self, trellex, arguments, parts):
        result = trellex("serve", *arguments, "--port", 0)
        assert result.exit_code == 1
        assert all(part in result.stderr for part in parts), result.stderr


def test_without_the_extra_it_tells_what_to_install():
    script = "import sys; sys.modules['fastapi'] = None; from trellex.__main__ import main; main()"
    command = [sys.executable, "-c", script, "serve", str(MODELS / "export")]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert result.returncode == 1
    assert "pip install 'trellex[serve]' brings it" in result.stderr


class TestClientsThatMisbehave:
    """Each is refused or dropped, and the next client is served."""

    def talk(self, server, *parts, pause=0.0):
        """What the server says to some bytes, sent with pauses between, until it closes."""
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
            for part in parts:
                with contextlib.suppress(ConnectionError):
                    connection.sendall(part)
                time.sleep(pause)
            answer = b""
            with contextlib.suppress(ConnectionError):
                while data := connection.recv(65536):
                    answer += data
            return answer

    def head(self, length, *more):
        lines = ["POST /translate HTTP/1.1", "Host: a", "Content-Type: application/json", *more]
        return "\r\n".join([*lines, f"Content-Length: {length}", "", ""]).encode()

    def test_a_slow_body(self, server):
        assert self.talk(server, self.head(100), b"{", b'"').startswith(b"HTTP/1.1 408 ")
        assert is_well(server)

    def test_a_body_that_is_too_large(self, server):
        part = b" " * 700_000
        assert self.talk(server, self.head(10**9), part, part, pause=0.1).startswith(b"HTTP/1.1 413 ")
        head = self.head(0).replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
        chunk = f"{len(part):x}\r\n".encode() + part + b"\r\n"
        assert self.talk(server, head, chunk, chunk, pause=0.1).startswith(b"HTTP/1.1 413 ")
        assert is_well(server)

    def test_a_large_body_is_answered(self, server):
        answer = httpx.post(f"{server.url}/translate", json=FINE | {"q": "a" * 10_000_000})
        assert (answer.status_code, list(answer.json())) == (413, ["error"])

    def test_no_http(self, server):
        assert self.talk(server, b"\x00\xff\r\n\r\n").startswith(b"HTTP/1.1 400 ")
        assert self.talk(server, b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 200_000).startswith(b"HTTP/1.1 400 ")
        assert is_well(server)

    def test_a_connection_cut_in_the_body(self, server):
        for part in (b"", b'{"q": "a'):
            connection = socket.create_connection(("127.0.0.1", server.port))
            connection.sendall(self.head(1000) + part)
            connection.close()
        assert is_well(server)

    def test_a_connection_cut_while_it_waits(self, server):
        before = metric(server, "trellex_requests_dropped_total")
        body = json.dumps(MANY).encode()
        for _ in range(5):
            connection = socket.create_connection(("127.0.0.1", server.port))
            connection.sendall(self.head(len(body)) + body)
            connection.close()
        until(lambda: metric(server, "trellex_requests_dropped_total") >= before + 5)
        assert metric(server, "trellex_waiting_sentences") == 0
        assert is_well(server)

    def test_many_that_never_send_anything(self, server):
        idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(50)]
        assert is_well(server)
        for connection in idle:
            connection.close()


class TestEnd:
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
    def test_by_a_signal_answers_what_is_under_way(self, serving, number):
        with serving("--batch-tokens", 256) as server:
            answers = []
            asking = threading.Thread(
                target=lambda: answers.append(httpx.post(f"{server.url}/translate", json=MANY, timeout=60))
            )
            asking.start()
            until(lambda: metric(server, "trellex_waiting_sentences") > 0)
            server.process.send_signal(number)
            asking.join(60)
            assert server.process.wait(60) == 128 + number
            assert server.process.stderr.read() == b""
            [answer] = answers
            assert answer.status_code == 200
            assert len(answer.json()["translatedText"]) == len(MANY["q"])
            with pytest.raises(httpx.ConnectError):
                httpx.get(f"{server.url}/health")

    def test_with_an_idle_connection_it_does_not_wait(self, serving):
        with serving() as server, httpx.Client() as client:
            client.get(f"{server.url}/health")
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(8) == 143


def test_nothing_of_texts_is_printed(serving):
    with serving() as server:
        httpx.post(f"{server.url}/translate", params={"q": "secret"}, data=FINE | {"q": "secret"})
        httpx.get(f"{server.url}/translate?q=secret")
        headers = {"content-type": "multipart/form-data; boundary=x"}
        wrong = httpx.post(f"{server.url}/translate", content=b"--x\r\nsecret[: a\r\n\r\n--x--secret", headers=headers)
        assert wrong.status_code == 400
        server.process.send_signal(signal.SIGTERM)
        stdout, stderr = server.process.communicate(timeout=30)
        assert (stdout, stderr) == (b"", b"")
