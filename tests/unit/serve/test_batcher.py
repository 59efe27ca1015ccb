"""What several requests want at one time is translated together, and each gets its own."""

import asyncio
import threading
from pathlib import Path

import pytest

import trellex
from trellex.search import SearchSettings
from trellex.serve.batcher import Batcher, FullError, Pair, Wish
from trellex.translator import Translation

MODEL = Path(__file__).parents[2] / "models" / "export"
PAIR = Pair("en", "ja")
GREEDY = Wish(PAIR, SearchSettings())


class Held:
    """A translator that turns text round, waits before its first batch until it is let go, and remembers batches."""

    def __init__(self):
        self.batches, self.settings = [], []
        self.has_begun, self.may_go_on = threading.Event(), threading.Event()

    def search(self, lines, settings, batch_tokens, seed, scores, attention, replace_unknown):
        self.batches.append(list(lines))
        self.settings.append(settings)
        self.has_begun.set()
        assert self.may_go_on.wait(30)
        if any("bad" in line for line in lines):
            raise MemoryError("bad line")
        return [[Translation(line[::-1], [line], [0.0], 0.0)] for line in lines]


@pytest.fixture
def held():
    return Held()


def texts(found):
    return [best[0].text for best in found]


def run(batcher, job):
    async def started():
        batcher.start()
        try:
            return await asyncio.wait_for(job(), 30)
        finally:
            await batcher.close()

    return asyncio.run(started())


async def begun(held):
    await asyncio.to_thread(held.has_begun.wait, 30)


async def waiting(batcher, count):
    while batcher.waiting != count:
        await asyncio.sleep(0.001)


def together(held, requests, batch_tokens=100, max_waiting=1000, wishes=None):
    """The answers to requests that come while a first batch is translated."""
    batcher = Batcher([{PAIR: held}], batch_tokens, max_waiting)

    async def job():
        first = asyncio.ensure_future(batcher.translate(["first"], GREEDY))
        await begun(held)
        asked = [
            asyncio.ensure_future(batcher.translate(lines, wish))
            for lines, wish in zip(requests, wishes or [GREEDY] * len(requests), strict=True)
        ]
        await waiting(batcher, sum(map(len, requests)))
        held.may_go_on.set()
        await first
        return await asyncio.gather(*asked, return_exceptions=True)

    return run(batcher, job)


class TestBatches:
    def test_requests_share_one_and_get_their_own(self, held):
        found = together(held, [["ab", "cd"], ["ef"], ["gh", "ij", "kl"]])
        assert [texts(each) for each in found] == [["ba", "dc"], ["fe"], ["hg", "ji", "lk"]]
        assert held.batches == [["first"], ["ab", "ef", "gh", "cd", "ij", "kl"]]

    def test_have_a_bounded_number_of_words(self, held):
        together(held, [["a b c", "d e"], ["f"]], batch_tokens=4)
        assert held.batches[1:] == [["a b c", "f"], ["d e"]]

    def test_of_one_word_have_one_sentence(self, held):
        together(held, [["a b c", "d"], ["f"]], batch_tokens=1)
        assert held.batches[1:] == [["a b c"], ["f"], ["d"]]

    def test_have_fewer_words_with_a_wider_beam(self, held):
        wide = Wish(PAIR, SearchSettings(beam=4))
        together(held, [["a b", "c d", "e"]], batch_tokens=16, wishes=[wide])
        assert held.batches[1:] == [["a b", "c d"], ["e"]]

    def test_count_characters_where_words_have_no_spaces(self, held):
        pair = Pair("ja", "en")
        batcher = Batcher([{PAIR: held, pair: held}], 5, 10)
        held.may_go_on.set()
        run(batcher, lambda: batcher.translate(["猫がいる", "犬もだ"], Wish(pair, SearchSettings())))
        assert held.batches == [["猫がいる"], ["犬もだ"]]

    def test_of_other_settings_are_apart_and_take_turns(self, held):
        wide = Wish(PAIR, SearchSettings(beam=4))
        together(held, [["a", "b"], ["c"], ["d"]], batch_tokens=1, wishes=[GREEDY, wide, GREEDY])
        assert held.batches[1:] == [["a"], ["c"], ["d"], ["b"]]
        assert [settings.beam for settings in held.settings[1:]] == [1, 4, 1, 1]

    def test_large_requests_do_not_delay_small_ones(self, held):
        together(held, [[f"l{place}" for place in range(50)], ["small"]], batch_tokens=10)
        assert "small" in held.batches[1]

    def test_are_observed(self, held):
        sizes = []
        batcher = Batcher([{PAIR: held}], 100, 100, sizes.append)
        held.may_go_on.set()
        run(batcher, lambda: batcher.translate(["a", "b"], GREEDY))
        assert sizes == [2]


class TestErrors:
    def test_of_one_sentence_spoil_no_other_request(self, held):
        good, bad, other = together(held, [["ab"], ["cd", "a bad one"], ["ef"]])
        assert (texts(good), texts(other)) == (["ba"], ["fe"])
        assert isinstance(bad, MemoryError)

    def test_leave_the_thread_alive(self, held):
        together_twice = [["bad"], ["ab"]]
        assert texts(together(held, together_twice)[1]) == ["ba"]


class TestWaiting:
    def test_is_bounded(self, held):
        found = together(held, [["a"], ["b"]], max_waiting=2)
        assert [texts(each) for each in found] == [["a"], ["b"]]
        batcher = Batcher([{PAIR: held}], 100, 2)
        with pytest.raises(FullError):
            run(batcher, lambda: batcher.translate(["a", "b", "c"], GREEDY))

    def test_ends_when_nobody_wants_it_any_more(self, held):
        batcher = Batcher([{PAIR: held}], 100, 100)

        async def job():
            first = asyncio.ensure_future(batcher.translate(["first"], GREEDY))
            await begun(held)
            gone, stays = (asyncio.ensure_future(batcher.translate([line], GREEDY)) for line in ("gone", "stays"))
            await waiting(batcher, 2)
            gone.cancel()
            await waiting(batcher, 1)
            held.may_go_on.set()
            await asyncio.gather(first, stays)

        run(batcher, job)
        assert held.batches == [["first"], ["stays"]]

    def test_of_nothing_is_none(self, held):
        batcher = Batcher([{PAIR: held}], 100, 100)
        assert run(batcher, lambda: batcher.translate([], GREEDY)) == []

    def test_is_cancelled_when_it_closes(self, held):
        batcher = Batcher([{PAIR: held}], 100, 100)

        async def job():
            first = asyncio.ensure_future(batcher.translate(["first"], GREEDY))
            await begun(held)
            second = asyncio.ensure_future(batcher.translate(["second"], GREEDY))
            await waiting(batcher, 1)
            asyncio.get_running_loop().call_later(0.1, held.may_go_on.set)
            await batcher.close()
            assert texts(await first) == ["tsrif"]
            with pytest.raises(asyncio.CancelledError):
                await second
            with pytest.raises(FullError):
                await batcher.translate(["third"], GREEDY)

        run(batcher, job)


def test_threads_work_side_by_side(held):
    other = Held()
    batcher = Batcher([{PAIR: held}, {PAIR: other}], 1, 100)

    async def job():
        asked = asyncio.ensure_future(batcher.translate(["a", "b", "c"], GREEDY))
        await begun(held)
        await begun(other)
        other.may_go_on.set()
        while len(other.batches) < 2:  # while the one is held, the other does the rest
            await asyncio.sleep(0.001)
        held.may_go_on.set()
        return texts(await asked)

    assert run(batcher, job) == ["a", "b", "c"]


def test_functions_are_called_with_the_translator(held):
    batcher = Batcher([{PAIR: held}], 100, 100)
    name, asked = run(batcher, lambda: batcher.call(PAIR, lambda it: (threading.current_thread().name, it)))
    assert (name, asked) == ("translate-0", held)


def test_functions_of_one_request_take_turns_with_others(held):
    batcher = Batcher([{PAIR: held}], 100, 100)

    async def job():
        first = asyncio.ensure_future(batcher.translate(["first"], GREEDY))
        await begun(held)
        calls = [lambda it, name=name: it.batches.append(name) or name for name in "ab"]
        called = asyncio.ensure_future(batcher.call_each(PAIR, calls))
        await waiting(batcher, 2)
        other = asyncio.ensure_future(batcher.translate(["other"], GREEDY))
        await waiting(batcher, 3)
        held.may_go_on.set()
        await asyncio.gather(first, other)
        return await called

    assert run(batcher, job) == ["a", "b"]
    assert held.batches == [["first"], "a", ["other"], "b"]


def test_what_a_real_model_says_does_not_depend_on_neighbours(translator, kept):
    batcher = Batcher([{PAIR: translator}], 64, 1000)
    lines = [[line] * (1 + place % 3) for place, line in enumerate(list(kept) * 5)]

    async def job():
        return await asyncio.gather(*(batcher.translate(each, GREEDY) for each in lines))

    found = run(batcher, job)
    assert [texts(each) for each in found] == [translator.translate(each) for each in lines]


def test_real_models_work_in_several_threads(kept):
    workers = [{PAIR: trellex.load(MODEL)} for _ in range(3)]
    batcher = Batcher(workers, 16, 10_000)
    lines = list(kept) * 40

    async def job():
        wishes = [GREEDY, Wish(PAIR, SearchSettings(beam=2))]
        return await asyncio.gather(*(batcher.translate([line], wish) for line in lines for wish in wishes))

    found = [texts(each)[0] for each in run(batcher, job)]
    expected = [text for line in lines for text in (kept[line], *workers[0][PAIR].translate([line], beam=2))]
    assert found == expected
