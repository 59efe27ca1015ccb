"""The endpoints answer as LibreTranslate's do."""

import html

import pytest

from trellex.serve.limits import ApiKeys
from trellex.serve.settings import ServeSettings
from trellex.text.manifest import TextSettings
from trellex.translator import Translator

TWO = ["may i sing here ?", "he is rude and famous ."]


@pytest.fixture
def pairs(both):
    """Makes translators of random models, of such words as s3, for pairs of languages."""

    def pairs(*pairs):
        loaded = both("hybrid-9-ec")[1]
        texts = [
            TextSettings(source_language=source, target_language=target, source_tokenizer="whitespace")
            for source, target in pairs
        ]
        return [Translator(loaded._replace(text=text)) for text in texts]

    return pairs


class TestTranslate:
    def test_a_text(self, translate, kept):
        for line, expected in kept.items():
            answer = translate(q=line)
            assert answer.status_code == 200
            assert answer.headers["content-type"] == "application/json"
            assert answer.json() == {"translatedText": expected}

    def test_a_list(self, translate, kept):
        assert translate(q=list(kept)).json() == {"translatedText": list(kept.values())}

    def test_lines_and_sentences(self, translate, kept):
        first, second = (kept[line] for line in TWO)
        answer = translate(q=f"{TWO[0]} {TWO[1]}\n\n  {TWO[1]}\n").json()
        assert answer == {"translatedText": f"{first}{second}\n\n  {second}\n"}

    def test_html(self, translate, kept):
        answer = translate(q=f"<p>{TWO[0]}<br>{TWO[1]}</p>", format="html").json()
        first, second = (html.escape(kept[line]) for line in TWO)
        assert answer == {"translatedText": f"<p>{first}<br>{second}</p>"}

    def test_alternatives(self, translate, translator):
        expected = [each.text for each in translator.translate(TWO[:1], beam=4, nbest=4)[0]]
        assert translate(q=TWO[0], alternatives=3).json() == {
            "translatedText": expected[0],
            "alternatives": list(dict.fromkeys(expected))[1:],
        }
        of_list = translate(q=TWO, alternatives=3).json()
        assert of_list["alternatives"][0] == list(dict.fromkeys(expected))[1:]
        assert len(of_list["alternatives"]) == len(of_list["translatedText"]) == 2

    def test_a_beam(self, app, translate, translator):
        expected = translator.translate(TWO, beam=3)
        assert translate(app(beam=3), q=TWO).json()["translatedText"] == expected

    def test_unknown_words(self, app, translate, pairs):
        [other] = pairs(("en", "ja"))
        lines = [f"s{place} qwx zzyzx s{place + 1}" for place in range(3, 30)]
        expected = other.translate(lines, replace_unknown=True)
        assert expected != other.translate(lines)
        assert translate(app(other, replace_unknown=True), q=lines).json()["translatedText"] == expected

    def test_what_a_model_cannot_do_is_told_before(self, app):
        app().state.service.try_out()
        with pytest.raises(ValueError, match="this export has no attention"):
            app(replace_unknown=True).state.service.try_out()

    def test_a_language_that_is_told(self, translate):
        detected = {"confidence": 100, "language": "en"}
        assert translate(q=TWO[0], source="auto").json()["detectedLanguage"] == detected
        assert translate(q=TWO, source="auto").json()["detectedLanguage"] == [detected] * 2

    @pytest.mark.parametrize("language", ["en", "ja"])
    def test_a_language_to_itself_stays_as_it_is(self, translate, language):
        q = ["may i ? ", "<b>a  &quot; b"]
        for kind in ("text", "html"):
            answer = translate(q=q, source=language, target=language, format=kind, alternatives=2)
            assert answer.json() == {"translatedText": q, "alternatives": [[], []]}

    @pytest.mark.parametrize("how", ["data", "files", "params"])
    def test_forms(self, app, ask, kept, how):
        fields = {"q": TWO[0], "source": "en", "target": "ja", "format": "", "api_key": "", "alternatives": "0"}
        options = {"data": fields}
        if how == "files":  # multipart
            options = {"files": {name: (None, value) for name, value in fields.items()}}
        if how == "params":
            options = {"params": fields}
        [answer] = ask(app(), ("POST", "/translate", options))
        assert (answer.status_code, answer.json()) == (200, {"translatedText": kept[TWO[0]]})

    def test_null_counts_as_not_given(self, translate, kept):
        answer = translate(q=TWO[0], api_key=None, format=None, alternatives=None)
        assert answer.json() == {"translatedText": kept[TWO[0]]}

    def test_many_at_one_time(self, app, ask, kept):
        lines = list(kept) * 8
        requests = [("POST", "/translate", {"json": {"q": line, "source": "en", "target": "ja"}}) for line in lines]
        answers = ask(app(), *requests)
        assert [answer.json()["translatedText"] for answer in answers] == [kept[line] for line in lines]


class TestSeveralPairs:
    def test_are_told_apart(self, app, ask, pairs):
        translators = pairs(("en", "de"), ("de", "en"), ("en", "fr"))
        served = app(*translators)
        body = {"q": "s3 s4 s5", "source": "en", "target": "fr"}
        languages, answer = ask(served, ("GET", "/languages", {}), ("POST", "/translate", {"json": body}))
        targets = {each["code"]: each["targets"] for each in languages.json()}
        assert targets == {"en": ["de", "fr", "en"], "de": ["en", "de"], "fr": ["fr"]}
        assert answer.json()["translatedText"] == translators[2].translate(["s3 s4 s5"])[0]

    def test_the_known_words_tell_the_language(self, app, ask, pairs, translator):
        served = app(translator, *pairs(("de", "ja"), ("fr", "de")))
        bodies = [{"q": text} for text in ("may i sing s3 ?", "s3 s4 s5 sing", "")]
        english, german, none = ask(served, *(("POST", "/detect", {"json": body}) for body in bodies))
        assert english.json() == [
            {"confidence": 80, "language": "en"},
            {"confidence": 20, "language": "de"},
            {"confidence": 20, "language": "fr"},
        ]
        assert [each["language"] for each in german.json()] == ["de", "fr", "en"]
        assert none.status_code == 400

    def test_texts_of_one_list_may_be_in_several(self, app, translate, pairs, translator, kept):
        other = pairs(("de", "ja"))[0]
        lines = [TWO[0], "s3 s4 s5", TWO[1]]
        answer = translate(app(translator, other), q=lines, source="auto").json()
        assert [each["language"] for each in answer["detectedLanguage"]] == ["en", "de", "en"]
        assert answer["translatedText"] == [kept[TWO[0]], *other.translate(lines[1:2]), kept[TWO[1]]]

    def test_the_language_is_told_whatever_the_target(self, app, translate, pairs, translator, kept):
        [back] = pairs(("ja", "en"))
        english, other = TWO[0], "s3 s4 s5"
        expected = {"ja": [kept[english], other], "en": [english, *back.translate([other])]}
        for target, texts in expected.items():
            answer = translate(app(translator, back), q=[english, other], source="auto", target=target).json()
            assert [each["language"] for each in answer["detectedLanguage"]] == ["en", "ja"]
            assert answer["translatedText"] == texts

    def test_markup_does_not_tell_the_language(self, app, translate, pairs, translator):
        q = f"<p title='{TWO[0]}'>s3</p>"
        answer = translate(app(translator, *pairs(("de", "ja"))), q=q, source="auto", format="html").json()
        assert answer["detectedLanguage"] == {"confidence": 100, "language": "de"}

    def test_a_target_that_the_language_does_not_lead_to(self, app, translate, pairs, translator):
        answer = translate(app(translator, *pairs(("de", "fr"))), q=TWO[0], source="auto", target="fr")
        assert (answer.status_code, answer.json()["error"].split(";")[0]) == (
            400,
            "source, target: 'en' to 'fr' is not translated here",
        )

    def test_that_are_equal_are_refused(self, app, translator):
        with pytest.raises(ValueError, match="models: two of them translate en to ja; serve one of them"):
            app(translator, translator)


class TestAbout:
    def test_languages(self, app, ask):
        [answer] = ask(app(), ("GET", "/languages", {}))
        assert answer.json() == [
            {"code": "en", "name": "English", "targets": ["ja", "en"]},
            {"code": "ja", "name": "Japanese", "targets": ["ja"]},
        ]

    def test_detect(self, app, ask):
        for options in ({"json": {"q": "hello"}}, {"data": {"q": "hello"}}):
            [answer] = ask(app(), ("POST", "/detect", options))
            assert answer.json() == [{"confidence": 100, "language": "en"}]

    def test_health(self, app, ask):
        [answer] = ask(app(), ("GET", "/health", {}))
        assert answer.json() == {"status": "ok"}

    def test_settings_of_a_page(self, app, ask):
        [answer] = ask(app(max_characters=77, keys=ApiKeys(["k"])), ("GET", "/frontend/settings", {}))
        told = answer.json()
        assert (told["charLimit"], told["apiKeys"], told["keyRequired"]) == (77, True, True)
        assert told["language"] == {
            "source": {"code": "en", "name": "English"},
            "target": {"code": "ja", "name": "Japanese"},
        }

    def test_metrics(self, app, ask):
        served = app()
        body = {"json": {"q": "may i sing here ? may i sing here ?", "source": "en", "target": "ja"}}
        ask(served, ("POST", "/translate", body), ("GET", "/nowhere/else", {}), ("POST", "/translate", {"json": {}}))
        [answer] = ask(served, ("GET", "/metrics", {}))
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        lines = dict(line.rsplit(" ", 1) for line in answer.text.splitlines() if not line.startswith("#"))
        assert float(lines['trellex_requests_total{path="/translate",status="200"}']) == 1
        assert float(lines['trellex_requests_total{path="/translate",status="400"}']) == 1
        assert float(lines['trellex_requests_total{path="other",status="404"}']) == 1
        assert float(lines["trellex_characters_total"]) == 35
        assert float(lines["trellex_batch_sentences_sum"]) == 2
        assert "nowhere" not in answer.text

    def test_the_description_is_there_and_loads_nothing_from_elsewhere(self, app, ask):
        openapi, docs, redoc = ask(app(), *(("GET", path, {}) for path in ("/openapi.json", "/docs", "/redoc")))
        paths = openapi.json()["paths"]
        assert {"/translate", "/detect", "/languages", "/health", "/metrics", "/frontend/settings"} <= set(paths)
        body = paths["/translate"]["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert body["required"] == ["q", "source", "target"]
        assert (docs.status_code, redoc.status_code) == (404, 404)

    def test_the_description_tells_the_languages_of_its_own_server(self, app, ask, pairs):
        for served, sources in ((app(), ["auto", "en"]), (app(*pairs(("de", "fr"))), ["auto", "de"])):
            [answer] = ask(served, ("GET", "/openapi.json", {}))
            body = answer.json()["paths"]["/translate"]["post"]["requestBody"]["content"]["multipart/form-data"]
            assert body["schema"]["properties"]["source"]["enum"] == sources


class TestHeaders:
    def test_are_on_all_answers(self, app, ask):
        paths = (("GET", "/health"), ("GET", "/no"), ("POST", "/translate"), ("GET", "/translate"))
        for answer in ask(app(), *((*path, {}) for path in paths)):
            assert "default-src 'self'" in answer.headers["content-security-policy"]
            assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert "access-control-allow-origin" not in answer.headers

    def test_other_origins_may_ask_if_they_are_named(self, app, ask):
        served = app(allow_origins=["https://example.org"])
        asked = [("GET", "/health", {"headers": {"origin": f"https://example.{end}"}}) for end in ("org", "com")]
        allowed, other = ask(served, *asked)
        assert allowed.headers["access-control-allow-origin"] == "https://example.org"
        assert "access-control-allow-origin" not in other.headers
        preflight = {"origin": "https://example.org", "access-control-request-method": "POST"}
        [answer] = ask(served, ("OPTIONS", "/translate", {"headers": preflight}))
        assert answer.status_code == 200


def test_settings_that_no_request_could_meet_are_refused():
    with pytest.raises(
        ValueError, match="max_waiting: 10 sentences have no room for a request of max_sentences, 1,000"
    ):
        ServeSettings(max_waiting=10)
