"""The endpoints that explain, and the files of the page."""

import asyncio
import json
import re

import httpx
import pytest

import trellex
from trellex.explanation import explain, model_facts
from trellex.search import SearchSettings
from trellex.serve.explain import MOST_CHARACTERS, MOST_SENTENCES
from trellex.serve.limits import ApiKeys
from trellex.serve.web_page import FOLDER

LINE = "she ate sushi this morning ."


@pytest.fixture(scope="module")
def spelling(models):
    """A translator that reads every word from its bits."""
    return trellex.load(models / "page")


@pytest.fixture
def explained(app, ask, spelling):
    """The answer to one request to explain; options replace or follow its fields."""

    def explained(of=None, **fields):
        body = {"q": LINE, "source": "en", "target": "ja"} | fields
        [answer] = ask(of or app(spelling), ("POST", "/explain", {"json": body}))
        return answer

    return explained


def without_times(sentences):
    return [{name: value for name, value in each.items() if name != "milliseconds"} for each in sentences]


def expected(spelling, *lines, settings=None, k=5, seed=0):
    found = [explain(spelling, line, settings, k, seed + place).facts() for place, line in enumerate(lines)]
    return without_times(json.loads(json.dumps(found)))


class TestExplain:
    def test_is_what_the_library_says(self, explained, spelling):
        answer = explained()
        assert answer.status_code == 200
        assert answer.json()["translatedText"] == "今朝、彼女は寿司を食べました。"
        assert without_times(answer.json()["sentences"]) == expected(spelling, LINE)
        assert set(answer.json()["sentences"][0]["milliseconds"]) == {"encoder", "decoder", "output_layer"}

    @pytest.mark.parametrize(
        ("fields", "settings"),
        [
            ({"search": "beam", "beam": 3}, SearchSettings(beam=3)),
            ({"search": "sample", "temperature": 2, "seed": 7}, SearchSettings(sample=True, temperature=2)),
            ({"search": "greedy", "beam": 3, "temperature": 2}, SearchSettings()),
        ],
    )
    def test_searches_as_asked(self, explained, spelling, fields, settings):
        found = without_times(explained(k=2, **fields).json()["sentences"])
        assert found == expected(spelling, LINE, settings=settings, k=2, seed=fields.get("seed", 0))

    def test_sentences_one_by_one_and_lines_stay(self, explained, spelling):
        answer = explained(q=f"{LINE} He ate rice .\n\n{LINE}").json()
        assert without_times(answer["sentences"]) == expected(spelling, LINE, "He ate rice .", LINE)
        texts = [each["text"] for each in answer["sentences"]]
        assert answer["translatedText"] == f"{texts[0]}{texts[1]}\n\n{texts[2]}"

    def test_nothing_to_translate(self, explained):
        assert explained(q=" \n").json() == {"translatedText": " \n", "sentences": []}

    def test_null_is_not_given(self, explained, spelling):
        nothing = dict.fromkeys(("search", "beam", "temperature", "seed", "k", "api_key"))
        assert without_times(explained(**nothing).json()["sentences"]) == expected(spelling, LINE)

    @pytest.mark.parametrize(
        ("fields", "problem"),
        [
            ({"q": ""}, "q: "),
            ({"q": ["a"]}, "q: "),
            ({"q": "a\n" * (MOST_SENTENCES + 1)}, "21 sentences, more than 20 to explain; send less"),
            ({"q": "a" * 1001}, "q: 1,001 characters, more than 1,000 to explain; send less"),
            ({"source": "xx"}, "source, target: 'xx' to 'ja' is not translated here; served: en to ja"),
            ({"search": "best"}, "search: "),
            ({"beam": 0}, "beam: "),
            ({"beam": 51}, "beam: "),
            ({"temperature": 0}, "temperature: "),
            ({"temperature": "1"}, "temperature: "),
            ({"beam": 2.5}, "beam: "),
            ({"seed": -1}, "seed: "),
            ({"k": 21}, "k: "),
        ],
    )
    def test_what_is_wrong_is_told(self, explained, fields, problem):
        answer = explained(**fields)
        assert answer.status_code == 400
        assert problem in answer.json()["error"]

    def test_the_largest_answer_is_of_megabytes(self, explained):
        answer = explained(q="a " * (MOST_CHARACTERS // 2), k=20)
        assert answer.status_code == 200
        assert len(answer.content) < 20_000_000

    def test_keys_and_rates_hold_for_it(self, explained, app, spelling):
        keyed = app(spelling, keys=ApiKeys(["key"]))
        assert explained(keyed).status_code == 403
        assert explained(keyed, api_key="key").status_code == 200
        rare = app(spelling, requests_per_minute=1)
        assert [explained(rare).status_code for _ in range(2)] == [200, 429]

    def test_a_refused_one_leaves_nothing_to_do(self, app, spelling):
        """No thread has been started, so that the first one waits; the second has room for one of its sentences."""
        served = app(spelling, max_waiting=3, max_sentences=2)
        batcher = served.state.service.batcher
        body = {"q": f"{LINE} He ate rice .", "source": "en", "target": "ja"}

        async def run():
            transport = httpx.ASGITransport(app=served)
            async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
                first = asyncio.ensure_future(client.post("/explain", json=body))
                while batcher.waiting < 2:
                    await asyncio.sleep(0.001)
                refusal = await client.post("/explain", json=body)
                first.cancel()
                return refusal.status_code, batcher.waiting

        assert asyncio.run(asyncio.wait_for(run(), 30)) == (503, 2)

    def test_is_described(self, app, ask):
        [answer] = ask(app(), ("GET", "/openapi.json", {}))
        paths = answer.json()["paths"]
        assert {"/explain", "/models", "/translate"} <= set(paths)
        assert "/" not in paths


def test_models_tell_their_sizes(app, ask, spelling):
    [answer] = ask(app(spelling), ("GET", "/models", {}))
    names = {"source_name": "English", "target_name": "Japanese"}
    assert answer.json() == [model_facts(spelling) | names]
    assert (answer.json()[0]["words"], answer.json()[0]["redundant_bits"]) == (372, 30)


def test_models_wait_for_nothing(app, spelling):
    """No thread has been started, and nothing reads the body that is too large."""
    served = app(spelling)

    async def run():
        transport = httpx.ASGITransport(app=served)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return await client.request("GET", "/models", content=b" " * 2_000_000)

    assert asyncio.run(asyncio.wait_for(run(), 30)).status_code == 200


class TestPage:
    def test_is_at_the_root_under_a_strict_policy(self, app, ask):
        [answer] = ask(app(), ("GET", "/", {}))
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.headers["content-security-policy"].startswith("default-src 'self';")
        assert answer.headers["cache-control"] == "no-cache"

    def test_all_that_it_names_is_served(self, app, ask):
        html = (FOLDER / "index.html").read_text(encoding="utf-8")
        named = set(re.findall(r'(?:src|href)="(page/[^"]+)"', html))
        for script in FOLDER.glob("*.js"):
            named |= {f"page/{name}" for name in re.findall(r'from "\./([^"]+)"', script.read_text(encoding="utf-8"))}
        assert {path.removeprefix("page/") for path in named} | {"index.html"} == {
            file.name for file in FOLDER.iterdir()
        }
        kinds = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}
        answers = ask(app(), *(("GET", f"/{path}", {}) for path in sorted(named)))
        for path, answer in zip(sorted(named), answers, strict=True):
            assert answer.status_code == 200
            assert answer.headers["content-type"].startswith(kinds[path.rpartition(".")[2]])
            assert answer.headers["cache-control"] == "no-cache"

    def test_knows_how_much_is_explained(self):
        script = (FOLDER / "main.js").read_text(encoding="utf-8")
        assert f"const MOST_CHARACTERS = {MOST_CHARACTERS};" in script

    def test_needs_nothing_from_elsewhere_and_nothing_inline(self):
        for file in FOLDER.iterdir():
            text = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
            assert not re.search(r"https?://|@import|\beval\(|innerHTML", text), file
        html = (FOLDER / "index.html").read_text(encoding="utf-8")
        assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", html)

    @pytest.mark.parametrize("path", ["/page/../app.py", "/page/%2e%2e/app.py", "/page/none.js", "/page/", "/page"])
    def test_has_no_other_files(self, app, ask, path):
        [answer] = ask(app(), ("GET", path, {"follow_redirects": True}))
        assert answer.status_code == 404
        assert "error" in answer.json()
