"""Numbers, digits, years, clock times, dates and prices in words: English and Japanese, tokens apart."""

from __future__ import annotations

LARGEST = 99_999_999  # the last number before 億

_ONES, _TENS, _MONTHS = map(
    str.split,
    (
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen",
        "zero ten twenty thirty forty fifty sixty seventy eighty ninety",
        "january february march april may june july august september october november december",
    ),
)
_DIGITS = "〇一二三四五六七八九"
_ORDINALS = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}


def number(value: int) -> tuple[str, str]:
    """A whole number in both languages: 23 is "twenty three" and "二 十 三", 0 is "zero" and "〇"."""
    _check("value", value, 0, LARGEST)
    return _english(value), _japanese(value) or _DIGITS[0]


def ordinal(value: int) -> str:
    """The English ordinal: 23 is "twenty third"."""
    _check("value", value, 1, LARGEST)
    *front, last = _english(value).split()
    if last not in _ORDINALS:
        last = last[:-1] + "ieth" if last.endswith("y") else last + "th"
    return " ".join([*front, _ORDINALS.get(last, last)])


def digits(value: int) -> tuple[str, str]:
    """A number read digit by digit, as those of rooms are: 305 is "three zero five" and "三 〇 五"."""
    _check("value", value, 0, LARGEST)
    figures = [int(figure) for figure in str(value)]
    return " ".join(_ONES[figure] for figure in figures), " ".join(_DIGITS[figure] for figure in figures)


def year(value: int) -> tuple[str, str]:
    """A year: 1998 is "nineteen ninety eight" and "一 九 九 八 年", 2005 is "two thousand five"."""
    _check("value", value, 1100, 2099)
    century, rest = divmod(value, 100)
    if 2000 <= value < 2010:
        english = _english(value)
    elif rest == 0:
        english = f"{_english(century)} hundred"
    else:
        english = f"{_english(century)} {'oh ' if rest < 10 else ''}{_english(rest)}"
    return english, f"{digits(value)[1]} 年"


def clock(hour: int, minute: int) -> tuple[str, str]:
    """A time of twelve hours: 7:50 is "ten to eight" and "八 時 十 分 前", 7:30 "half past seven" and "七 時 半"."""
    _check("hour", hour, 1, 12)
    _check("minute", minute, 0, 59)
    this, after = number(hour), number(hour % 12 + 1)
    past, left = number(minute), number(60 - minute)
    if minute == 0:
        return f"{this[0]} o'clock", f"{this[1]} 時"
    if minute == 30:
        return f"half past {this[0]}", f"{this[1]} 時 半"
    if minute in (5, 10, 15, 20):
        return f"{'quarter' if minute == 15 else past[0]} past {this[0]}", f"{this[1]} 時 {past[1]} 分"
    if minute in (45, 50, 55):
        return f"{'quarter' if minute == 45 else left[0]} to {after[0]}", f"{after[1]} 時 {left[1]} 分 前"
    return f"{this[0]} {'oh ' if minute < 10 else ''}{past[0]}", f"{this[1]} 時 {past[1]} 分"


def date(month: int, day: int) -> tuple[str, str]:
    """A day of the year: 5, 23 is "may twenty third" and "五 月 二 十 三 日"."""
    _check("month", month, 1, 12)
    _check("day", day, 1, 31)
    return f"{_MONTHS[month - 1]} {ordinal(day)}", f"{_japanese(month)} 月 {_japanese(day)} 日"


def month(value: int) -> tuple[str, str]:
    """A month: 5 is "may" and "五 月"."""
    _check("value", value, 1, 12)
    return _MONTHS[value - 1], f"{_japanese(value)} 月"


def price(yen: int) -> tuple[str, str]:
    """A sum of yen: 3500 is "three thousand five hundred yen" and "三 千 五 百 円"."""
    english, japanese = number(yen)
    return f"{english} yen", f"{japanese} 円"


def _english(value: int) -> str:
    if value < 20:
        return _ONES[value]
    for unit, name in ((1_000_000, "million"), (1000, "thousand"), (100, "hundred")):
        if value >= unit:
            many, rest = divmod(value, unit)
            return f"{_english(many)} {name}" + (f" {_english(rest)}" if rest else "")
    tens, ones = divmod(value, 10)
    return _TENS[tens] + (f" {_ONES[ones]}" if ones else "")


def _japanese(value: int) -> str:
    """Kanji by tens, hundreds and thousands, whose 一 is not said; that of 万 is. Zero is empty."""
    many, value = divmod(value, 10_000)
    tokens = [_japanese(many), "万"] if many else []
    for unit, name in ((1000, "千"), (100, "百"), (10, "十")):
        figure, value = divmod(value, unit)
        if figure:
            tokens += [_DIGITS[figure], name] if figure > 1 else [name]
    return " ".join([*tokens, _DIGITS[value]] if value else tokens)


def _check(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise ValueError(f"{name}: expected a whole number from {low} to {high}, got {value}")
