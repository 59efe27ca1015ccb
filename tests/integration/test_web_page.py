"""The page of the server, in a real browser, with a real server and a model whose bits are corrected now and then."""

import json
import os
import re
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from browser import browser, opened
from playwright.sync_api import expect

import trellex
from trellex.explanation import explain
from trellex.search import SearchSettings

MODEL = Path(__file__).parents[1] / "models" / "page"
LINE = "after playing tennis , my wife read a magazine ."
OTHER = "she ate sushi this morning ."
PHONE = {"viewport": {"width": 320, "height": 640}, "has_touch": True, "is_mobile": True}
PICTURES = "TRELLEX_PICTURES"  # a folder: pictures for the documentation are written there
LARGEST_PICTURE = 200_000


@pytest.fixture(scope="module")
def server(serving):
    with serving(model="page") as server:
        yield server


@pytest.fixture(scope="module")
def running():
    with browser() as running:
        yield running


@pytest.fixture
def open_page(running, server):
    """Opens the page: `with open_page() as page:`"""

    def open_page(address="/", url=server.url, **options):
        return opened(running, url + address, **options)

    return open_page


@pytest.fixture(scope="module")
def translator():
    return trellex.load(MODEL)


def write(page, line=LINE):
    """Types a line and waits for its translation."""
    with page.expect_response(lambda response: response.url.endswith("/explain")) as answer:
        page.locator("#text").fill(line)
    page.wait_for_selector(".word")
    return answer.value.json()


def translation(page):
    return page.locator("#translation").inner_text()


def words(page):
    return page.locator(".word")


def is_unlikely(word):
    """Whether it is not among the best words in its place."""
    return all(each.log_prob > word.log_prob + 1e-3 for each in word.evidence.best)


def fits(page):
    """Whether nothing is wider than the window; a phone's is made wider by what does not fit."""
    return page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


def refuse(page, status, error):
    page.route("**/explain", lambda route: route.fulfill(status=status, json={"error": error}))


class TestTranslating:
    def test_as_one_pauses(self, open_page, translator):
        with open_page() as page:
            page.locator("#text").press_sequentially(LINE, delay=5)
            page.wait_for_selector(".word")
            assert translation(page) == translator.translate([LINE])[0] == "妻はテニスをしてから、雑誌を読みました。"
            assert page.locator("#target-name").inner_text() == "Japanese"
            assert page.locator("#read span").all_inner_texts() == LINE.split()

    def test_the_idea_has_the_numbers_of_the_model(self, open_page):
        with open_page() as page:
            page.wait_for_selector("#idea strong")
            assert page.locator("#idea strong").inner_text().strip() == "30 bits instead of 372 scores:"

    def test_an_answer_that_was_overtaken_is_dropped(self, open_page, translator):
        with open_page() as page:
            held = []
            page.route("**/explain", lambda route: held.append(route) if not held else route.continue_())
            page.locator("#text").fill(LINE)
            page.wait_for_selector("#translation.waiting")
            write(page, OTHER)
            for route in held:
                route.fulfill(json={"translatedText": "old", "sentences": []})
            page.wait_for_timeout(200)
            assert len(held) == 1
            assert translation(page) == translator.translate([OTHER])[0]

    def test_nothing_is_shown_of_nothing(self, open_page):
        with open_page() as page:
            write(page)
            page.locator("#text").fill("")
            page.wait_for_selector(".word", state="hidden")
            assert translation(page) == ""
            assert page.locator("#attention").is_hidden()

    def test_several_sentences(self, open_page, translator):
        with open_page() as page:
            write(page, f"{LINE} She ate sushi .")
            assert page.locator("ol.words").count() == 2
            assert page.locator(".heat").count() == 2
            assert page.locator("#read .unknown").first.inner_text().startswith("She")
            words(page).last.click()
            assert page.locator("#detail").is_visible()

    def test_search_and_samples(self, open_page, translator):
        with open_page() as page:
            write(page)
            asked = []
            page.on("request", lambda request: request.method == "POST" and asked.append(request.post_data_json))
            page.get_by_role("radio", name="Beam").check()
            expect(page).to_have_url(re.compile("[#&]search=beam(&|$)"))
            page.get_by_label("width").fill("3")
            expect(page).to_have_url(re.compile("[#&]beam=3(&|$)"))
            page.wait_for_selector("#translation:not(.waiting)")
            assert translation(page) == translator.translate([LINE], beam=3)[0]
            page.get_by_role("radio", name="Sample").check()
            page.locator("#temperature").fill("2")
            expect(page).to_have_url(re.compile("[#&]temperature=2(&|$)"))
            page.get_by_role("button", name="Another sample").click()
            page.wait_for_selector("#translation:not(.waiting)")
            drawn = translator.translate([LINE], sample=True, temperature=2, seed=1)[0]
            assert translation(page) == drawn
            ways = [each["search"] for each in asked]
            assert ways == sorted(ways)
            assert (asked[-1]["search"], asked[-1]["temperature"], asked[-1]["seed"]) == ("sample", 2, 1)

    def test_the_address_holds_what_is_asked(self, open_page, translator):
        with open_page() as page:
            write(page)
            page.get_by_role("radio", name="Beam").check()
            expect(page).to_have_url(re.compile("[#&]search=beam(&|$)"))
            address = urlsplit(page.url).fragment
        assert parse_qs(address) == {"q": [LINE], "search": ["beam"]}
        with open_page(f"/#{address}") as page:
            page.wait_for_selector(".word")
            assert page.get_by_role("radio", name="Beam").is_checked()
            assert translation(page) == translator.translate([LINE], beam=5)[0]

    @pytest.mark.parametrize("address", ["/#q=a&search=none&beam=-3&temperature=x&seed=y&pair=xx-yy", "/#%"])
    def test_an_address_that_holds_nonsense(self, open_page, address):
        with open_page(address) as page:
            write(page)
            assert translation(page)


class TestProblems:
    def test_are_told_kindly_and_pass(self, open_page):
        with open_page(expected=["429"]) as page:
            refuse(page, 429, "too many requests; wait 7 seconds")
            page.locator("#text").fill(LINE)
            page.wait_for_selector("#problem")
            assert page.locator("#problem").inner_text() == "Too many requests; wait 7 seconds"
            page.unroute("**/explain")
            write(page, OTHER)
            assert page.locator("#problem").is_hidden()

    def test_a_text_that_is_too_long_is_not_cut(self, open_page):
        with open_page() as page:
            write(page)
            page.locator("#text").fill("🦊" * 1001)
            expect(page.locator("#problem")).to_have_text(
                "The text has 1,001 characters, more than the 1,000 that are explained at a time. Shorten it."
            )
            assert translation(page) == ""
            assert page.locator("#text").input_value() == "🦊" * 1001
            write(page, OTHER)
            assert page.locator("#problem").is_hidden()

    def test_a_server_that_is_gone(self, open_page):
        with open_page(expected=["ERR_CONNECTION_REFUSED"]) as page:
            page.route("**/explain", lambda route: route.abort("connectionrefused"))
            page.locator("#text").fill(LINE)
            page.wait_for_selector("#problem")
            assert page.locator("#problem").inner_text() == "The server does not answer. Is it still running?"

    def test_a_server_that_has_too_much_to_do(self, running, server):
        with opened(running, "about:blank", expected=["503"]) as page:
            refusal = {"error": "too many connections; try again later"}
            page.route("**/models", lambda route: route.fulfill(status=503, json=refusal))
            page.goto(server.url)
            expect(page.locator("#problem")).to_have_text("Too many connections; try again later")

    def test_a_key_that_is_needed(self, open_page, serving, tmp_path):
        (tmp_path / "keys").write_text("right\n")
        with (
            serving("--api-keys", tmp_path / "keys", model="page") as server,
            open_page(url=server.url, expected=["403"]) as page,
        ):
            page.locator("#text").fill(LINE)
            page.wait_for_selector("#problem")
            assert "api_key: missing" in page.locator("#problem").inner_text().lower()
            page.get_by_label("API key").fill("right")
            page.get_by_label("API key").press("Tab")
            page.wait_for_selector(".word")
            assert translation(page)


class TestWords:
    def test_one_opens_its_bits(self, open_page, translator):
        expected = explain(translator, LINE, k=6)
        with open_page() as page:
            write(page)
            assert words(page).count() == len(expected.words)
            for place in (0, 2, 8):
                word = expected.words[place]
                reading = word.evidence.reading
                button = words(page).nth(place)
                button.click()
                assert button.get_attribute("aria-expanded") == "true"
                assert page.locator(".chosen").inner_text() == word.token
                assert "".join(page.locator(".digit").all_inner_texts()) == "".join(map(str, reading.code_word))
                labels = [each.get_attribute("aria-label") for each in page.locator(".bit").all()]
                told = [
                    number
                    for number, label in enumerate(labels)
                    if f"corrected to {reading.code_word[number]}" in label
                ]
                assert told == reading.corrected != []
                assert page.locator(".bit.corrected").count() == len(reading.corrected)
                assert f"{len(reading.corrected)} bits are wrong" in page.locator(".story").inner_text()
                names = [expected.name(each.word) for each in word.evidence.best]
                assert page.locator(".bars .name").all_inner_texts() == [
                    {"</s>": "end"}.get(each, each) for each in names
                ]
                way = page.locator(".trellis .way").get_attribute("points").split()
                assert len(way) == len(reading.states)
                assert (
                    page.locator(".trellis").get_attribute("aria-label").endswith(", ".join(map(str, reading.states)))
                )
            assert page.locator(".word[aria-expanded=true]").count() == 1

    def test_one_that_was_drawn_though_others_are_likelier(self, open_page, translator):
        settings = SearchSettings(sample=True, temperature=2)
        drawn = explain(translator, LINE, settings, k=6, seed=5).words
        place = next(place for place, word in enumerate(drawn) if is_unlikely(word))
        with open_page(f"/#{urlencode({'q': LINE, 'search': 'sample', 'temperature': 2, 'seed': 5})}") as page:
            page.wait_for_selector(".word")
            words(page).nth(place).click()
            assert "It is not the most probable word here." in page.locator(".story").inner_text()
            assert page.locator(".bars .name").count() == 7
            assert page.locator(".bars li").last.inner_text().split()[0] == drawn[place].token

    def test_the_translation_is_copied(self, open_page):
        with open_page(permissions=["clipboard-read", "clipboard-write"]) as page:
            write(page)
            page.get_by_role("button", name="Copy").click()
            expect(page.locator("#copy")).to_have_text("Copied")
            assert page.evaluate("navigator.clipboard.readText()") == translation(page)

    def test_it_closes_in_three_ways(self, open_page):
        with open_page() as page:
            write(page)
            button = words(page).nth(1)
            for close in (
                button.click,
                page.get_by_role("button", name="Close").click,
                lambda: page.keyboard.press("Escape"),
            ):
                button.click()
                assert page.locator("#detail").is_visible()
                close()
                assert page.locator("#detail").is_hidden()
                assert button.get_attribute("aria-expanded") == "false"
                assert button.evaluate("each => each === document.activeElement")
            words(page).nth(2).focus()
            page.keyboard.press("Escape")  # there is nothing left to close
            expect(words(page).nth(2)).to_be_focused()

    @pytest.mark.parametrize("by", ["hover", "focus"])
    def test_where_it_looked_is_shown(self, open_page, translator, by):
        attention = explain(translator, LINE).words[2].attention
        with open_page() as page:
            write(page)
            getattr(words(page).nth(2), by)()
            assert page.locator(".heat tr.active th").inner_text() == "テニス"
            share = "each => Number(each.style.getPropertyValue('--share'))"
            shares = [token.evaluate(share) for token in page.locator("#read > span").all()]
            assert shares == pytest.approx(attention, abs=1e-4)
            assert page.locator("#read > span").nth(shares.index(max(shares))).inner_text() == "tennis"

    def test_it_stays_open_as_the_text_changes(self, open_page):
        with open_page() as page:
            write(page)
            words(page).nth(2).click()
            write(page, LINE.replace("tennis", "soccer"))
            expect(page.locator(".chosen")).to_have_text("サッカー")

    def test_time_is_told(self, open_page):
        with open_page() as page:
            spent = write(page)["sentences"][0]["milliseconds"]
            told = page.locator("#times li").all_inner_texts()
            assert [re.sub(r" [\d.]+ ms", "", each) for each in told] == ["encoder", "decoder", "output layer"]
            assert told[0].endswith(f" {spent['encoder']:.2f} ms")


SHELF = {
    "number": 5,
    "probability": 0.9,
    "words": [{"token": "犬", "probability": 0.6}, {"token": "猫", "probability": 0.3}],
}
OTHER_LAYERS = {
    "shelves": (
        {"words": 1761, "outputs": 119, "bits": 3, "states": 4, "shelves": 8, "visited": 4, "words_on_a_shelf": 16},
        {
            "layer": "shelf",
            "best": [{"token": "犬", "probability": 0.6, "states": [0, 1, 2, 1]}],
            "reading": {
                **{"number": 5, "bits": [1, 0, 1], "code_word": [], "said": [], "posterior": [0.9, 0.1, 0.95]},
                **{"states": [0, 1, 2, 1], "num_states": 4, "part": 0, "weight": 1, "decided": [], "corrected": []},
            },
            "shelves": [SHELF, SHELF | {"number": 2, "probability": 0.1}],
        },
        "119 numbers instead of 1,761 scores",
    ),
    "softmax": (
        {"words": 1761, "outputs": 1761},
        {"layer": "softmax", "best": [{"token": "犬", "probability": 0.6}, {"token": "猫", "probability": 0.3}]},
        "1,761 scores, one a word",
    ),
    "hybrid": (
        {"words": 1761, "outputs": 98, "bits": 11, "states": 64, "redundant_bits": 34, "frequent_words": 63},
        {"layer": "softmax", "best": [{"token": "犬", "probability": 0.6}], "others": 0.25},
        "98 outputs instead of 1,761 scores",
    ),
}


@pytest.mark.parametrize("layer", OTHER_LAYERS)
def test_other_output_layers(running, server, layer):
    sizes, said, idea = OTHER_LAYERS[layer]
    names = {"source": "en", "target": "ja", "source_name": "English", "target_name": "Japanese", "head": layer}
    word = {"token": "犬", "log_prob": -0.51, "attention": [1.0], **said}
    spent = {"encoder": 1.0, "decoder": 2.0, "output_layer": 0.5}
    sentence = {
        "text": "犬",
        "source": ["dog"],
        "unknown": [],
        "log_prob": -0.51,
        "words": [word],
        "milliseconds": spent,
    }
    with opened(running, "about:blank") as page:
        other = {"source": "ja", "target": "en", "source_name": "Japanese", "target_name": "English"}
        page.route("**/models", lambda route: route.fulfill(json=[names | sizes, names | other | sizes]))
        page.route("**/explain", lambda route: route.fulfill(json={"translatedText": "犬", "sentences": [sentence]}))
        page.goto(server.url)
        page.wait_for_selector("#idea strong")
        assert idea in page.locator("#idea").inner_text()
        write(page, "dog")
        words(page).first.click()
        assert page.locator(".bars li").count() == len(said["best"])
        story = page.locator(".story").inner_text()
        if layer == "shelves":
            assert page.locator(".shelf").count() == 2
            assert page.locator(".shelf.is-chosen .shelf-head").inner_text().split() == ["shelf", "5", "90.0", "%"]
            assert page.locator(".shelf.is-chosen .is-word").inner_text().split() == ["犬", "60", "%"]
            assert page.locator(".cell").count() == 3
            assert "shelf 5" in story
        else:
            assert page.locator(".bit, .trellis, .shelf").count() == 0
            assert ("25 %" in story) == (layer == "hybrid")
        with page.expect_request("**/explain") as asked:
            page.get_by_label("Languages").select_option("Japanese → English")
        assert (asked.value.post_data_json["source"], asked.value.post_data_json["target"]) == ("ja", "en")
        assert "pair=ja-en" in page.url


class TestAccess:
    def test_with_the_keyboard_alone(self, open_page):
        with open_page() as page:
            page.wait_for_selector("#idea strong")
            page.keyboard.press("Tab")
            page.keyboard.type(LINE)
            page.wait_for_selector(".word")
            page.keyboard.press("Tab")  # Copy
            page.keyboard.press("Tab")
            page.keyboard.press("ArrowRight")
            expect(page).to_have_url(re.compile("[#&]search=beam(&|$)"))
            page.keyboard.press("Tab")
            assert page.evaluate("document.activeElement.id") == "beam"
            page.wait_for_selector("#translation:not(.waiting)")
            page.keyboard.press("Tab")
            page.keyboard.press("ArrowRight")
            page.keyboard.press("ArrowRight")
            page.keyboard.press("Enter")
            assert page.locator(".chosen").inner_text() == words(page).nth(2).inner_text().strip()
            page.keyboard.press("Escape")
            assert page.locator("#detail").is_hidden()

    @pytest.mark.parametrize("width", [320, 400])
    def test_a_phone_never_scrolls_sideways(self, open_page, width):
        with open_page(**PHONE | {"viewport": {"width": width, "height": 640}}) as page:
            page.wait_for_selector("#idea strong")
            assert fits(page)
            write(page, LINE + " " + "tennis" * 20)
            assert fits(page)
            sizes = [each.bounding_box() for each in words(page).all()]
            assert min(min(box["width"], box["height"]) for box in sizes) >= 40
            for place in (0, 2, 8):
                words(page).nth(place).tap()
                assert fits(page)
            for way in ("Beam", "Sample"):
                page.get_by_role("radio", name=way).check()
                assert fits(page)

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    @pytest.mark.parametrize("device", [{}, PHONE], ids=["desktop", "phone"])
    def test_axe_finds_nothing_serious(self, open_page, scheme, device):
        from axe_playwright_python.sync_playwright import Axe

        with open_page(color_scheme=scheme, reduced_motion="reduce", **device) as page:
            page.wait_for_selector("#idea strong")
            found = Axe().run(page).response["violations"]
            write(page)
            words(page).nth(2).click()
            page.get_by_role("radio", name="Sample").check()
            page.wait_for_selector("#translation:not(.waiting)")
            found += Axe().run(page).response["violations"]
        serious = [(each["id"], each["help"], [node["html"] for node in each["nodes"]][:3]) for each in found]
        assert [
            each for each, whole in zip(serious, found, strict=True) if whole["impact"] in ("serious", "critical")
        ] == []

    def test_motion_is_reduced_where_that_is_wished(self, open_page):
        seconds = "getComputedStyle(document.querySelector('.quiet')).transitionDuration"
        with open_page(reduced_motion="reduce") as page:
            assert page.evaluate(seconds) == "0s"
        with open_page(reduced_motion="no-preference") as page:
            assert page.evaluate(seconds) != "0s"


def test_pictures(open_page, tmp_path):
    """Those of the documentation, if a folder is given; they are small."""
    folder = Path(os.environ.get(PICTURES) or tmp_path)
    desktop = {"viewport": {"width": 1000, "height": 1150}}
    ways = {
        "page": desktop,
        "page-dark": desktop | {"color_scheme": "dark"},
        "page-phone": PHONE | {"viewport": {"width": 375, "height": 720}, "device_scale_factor": 2},
    }
    for name, options in ways.items():
        with open_page(**options) as page:
            write(page)
            words(page).nth(0).click()
            page.mouse.move(0, 0)
            page.evaluate("document.activeElement.blur()")
            page.wait_for_timeout(300)
            if name == "page-phone":
                page.evaluate("document.querySelector('#word-by-word').scrollIntoView()")
            if name == "page":
                page.locator("#detail").screenshot(path=folder / "page-word.png")
            page.screenshot(path=folder / f"{name}.png")
    pictures = {path.name: path.stat().st_size for path in folder.glob("page*.png")}
    assert len(pictures) == 4
    assert max(pictures.values()) < LARGEST_PICTURE, json.dumps(pictures)
