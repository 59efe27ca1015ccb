"""Numbers, times, dates and prices against tables, and read back by independent readers."""

import pytest

from trellex.phrasebook import numerals

NUMBERS = {
    0: ("zero", "〇"),
    1: ("one", "一"),
    9: ("nine", "九"),
    10: ("ten", "十"),
    11: ("eleven", "十 一"),
    19: ("nineteen", "十 九"),
    20: ("twenty", "二 十"),
    23: ("twenty three", "二 十 三"),
    99: ("ninety nine", "九 十 九"),
    100: ("one hundred", "百"),
    101: ("one hundred one", "百 一"),
    110: ("one hundred ten", "百 十"),
    305: ("three hundred five", "三 百 五"),
    999: ("nine hundred ninety nine", "九 百 九 十 九"),
    1000: ("one thousand", "千"),
    1111: ("one thousand one hundred eleven", "千 百 十 一"),
    2024: ("two thousand twenty four", "二 千 二 十 四"),
    9999: ("nine thousand nine hundred ninety nine", "九 千 九 百 九 十 九"),
    10_000: ("ten thousand", "一 万"),
    12_500: ("twelve thousand five hundred", "一 万 二 千 五 百"),
    110_000: ("one hundred ten thousand", "十 一 万"),
    1_000_000: ("one million", "百 万"),
    99_999_999: (
        "ninety nine million nine hundred ninety nine thousand nine hundred ninety nine",
        "九 千 九 百 九 十 九 万 九 千 九 百 九 十 九",
    ),
}


@pytest.mark.parametrize("value", NUMBERS)
def test_numbers(value):
    assert numerals.number(value) == NUMBERS[value]


def read_english(text):
    small = (
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen"
    )
    values = {word: value for value, word in enumerate(small.split(" "))}
    tens = "twenty thirty forty fifty sixty seventy eighty ninety"
    values |= {word: 10 * value for value, word in enumerate(tens.split(" "), start=2)}
    total = 0
    for word in text.split(" "):
        if word == "thousand":
            total *= 1000
        elif word == "hundred":
            total += total % 1000 * 99
        else:
            total += values[word]
    return total


def read_japanese(text):
    total = figure = 0
    for token in text.split(" "):
        if token in "十百千":
            total += max(figure, 1) * {"十": 10, "百": 100, "千": 1000}[token]
            figure = 0
        else:
            figure = "〇一二三四五六七八九".index(token)
    return total + figure


def test_numbers_to_9999_read_back():
    for value in range(10_000):
        english, japanese = numerals.number(value)
        assert read_english(english) == value
        assert read_japanese(japanese) == value
        assert "一 千" not in japanese
        assert "一 百" not in japanese
        assert not japanese.startswith("一 十")


@pytest.mark.parametrize(
    ("time", "words"),
    {
        (7, 0): ("seven o'clock", "七 時"),
        (7, 3): ("seven oh three", "七 時 三 分"),
        (7, 5): ("five past seven", "七 時 五 分"),
        (7, 15): ("quarter past seven", "七 時 十 五 分"),
        (7, 20): ("twenty past seven", "七 時 二 十 分"),
        (7, 23): ("seven twenty three", "七 時 二 十 三 分"),
        (7, 30): ("half past seven", "七 時 半"),
        (7, 40): ("seven forty", "七 時 四 十 分"),
        (7, 45): ("quarter to eight", "八 時 十 五 分 前"),
        (7, 50): ("ten to eight", "八 時 十 分 前"),
        (11, 55): ("five to twelve", "十 二 時 五 分 前"),
        (12, 55): ("five to one", "一 時 五 分 前"),
    }.items(),
)
def test_times(time, words):
    assert numerals.clock(*time) == words


def test_times_are_distinct():
    times = [numerals.clock(hour, minute) for hour in range(1, 13) for minute in range(60)]
    assert len({english for english, _ in times}) == len({japanese for _, japanese in times}) == 720


@pytest.mark.parametrize(
    ("yen", "words"),
    {
        80: ("eighty yen", "八 十 円"),
        100: ("one hundred yen", "百 円"),
        1500: ("one thousand five hundred yen", "千 五 百 円"),
        3980: ("three thousand nine hundred eighty yen", "三 千 九 百 八 十 円"),
        10_000: ("ten thousand yen", "一 万 円"),
        25_300: ("twenty five thousand three hundred yen", "二 万 五 千 三 百 円"),
    }.items(),
)
def test_prices(yen, words):
    assert numerals.price(yen) == words


def test_dates_years_ordinals_and_digits():
    assert numerals.date(5, 23) == ("may twenty third", "五 月 二 十 三 日")
    assert numerals.date(12, 31) == ("december thirty first", "十 二 月 三 十 一 日")
    assert numerals.month(10) == ("october", "十 月")
    assert numerals.year(1998) == ("nineteen ninety eight", "一 九 九 八 年")
    assert numerals.year(1900) == ("nineteen hundred", "一 九 〇 〇 年")
    assert numerals.year(1905) == ("nineteen oh five", "一 九 〇 五 年")
    assert numerals.year(2000) == ("two thousand", "二 〇 〇 〇 年")
    assert numerals.year(2005) == ("two thousand five", "二 〇 〇 五 年")
    assert numerals.year(2012) == ("twenty twelve", "二 〇 一 二 年")
    assert numerals.digits(305) == ("three zero five", "三 〇 五")
    ordinals = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth"
    assert " ".join(numerals.ordinal(value) for value in range(1, 14)) == ordinals
    assert [numerals.ordinal(value) for value in (20, 21, 30)] == ["twentieth", "twenty first", "thirtieth"]


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (numerals.number, (-1,)),
        (numerals.number, (100_000_000,)),
        (numerals.ordinal, (0,)),
        (numerals.clock, (0, 0)),
        (numerals.clock, (13, 0)),
        (numerals.clock, (1, 60)),
        (numerals.date, (13, 1)),
        (numerals.date, (1, 32)),
        (numerals.year, (999,)),
    ],
)
def test_what_is_out_of_range_is_refused(function, arguments):
    with pytest.raises(ValueError, match="expected a whole number from"):
        function(*arguments)
