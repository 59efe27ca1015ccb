"""Forms of words: an entry of the lexicon maps the name of a form to its text, `en` and `ja` at least."""

from __future__ import annotations

Entry = dict[str, str]
ENGLISH = ("en", "a", "plural", "third", "past", "ing", "more", "most", "vessels")  # the other forms are Japanese


def words(text: str) -> list[Entry]:
    """Entries from "english = 日本語, …" as they stand."""
    return [{"en": english, "ja": japanese} for english, japanese in pairs(text)]


def nouns(text: str) -> list[Entry]:
    """Countable nouns, with their plural (after a slash where irregular) and "a" or "an" before them."""
    entries = []
    for english, japanese in pairs(text):
        single, _, plural = english.partition("/")
        article = "an" if single[0] in "aeiou" and not single.startswith(("uni", "uku", "eu", "one")) else "a"
        entries.append({"en": single, "ja": japanese, "plural": plural or add_s(single), "a": f"{article} {single}"})
    return entries


def adjectives(text: str) -> list[Entry]:
    """Adjectives in い, な and の. After a slash the English comparative in -er, else it is made with "more"."""
    entries = []
    for english, japanese in pairs(text):
        plain, _, comparative = english.partition("/")
        most = f"{comparative[:-1]}st" if comparative else f"most {plain}"
        entry = {"en": plain, "more": comparative or f"more {plain}", "most": most, "ja": japanese}
        stem, ending = japanese[:-1].rstrip(), japanese[-1]
        if ending == "い":
            entry |= {
                "bare": japanese,
                "was": f"{stem}かっ た です",
                "not": f"{stem}く ない です",
                "and": f"{stem}く て",
            }
            entry |= {"notwas": f"{stem}く なかっ た です"}
        elif ending in "なの":
            entry |= {"bare": stem, "was": f"{stem} でし た", "not": f"{stem} で は あり ませ ん", "and": f"{stem} で"}
            entry |= {"notwas": f"{stem} で は あり ませ ん でし た"}
        else:
            raise ValueError(f"{english}: expected an adjective in い, な or の, got {japanese!r}")
        entries.append(
            entry | {"is": f"{entry['bare']} です", "too": f"{stem} すぎ ます", "looked": f"{stem} そう でし た"}
        )
    return entries


def deeds(text: str) -> list[Entry]:
    """Verbs with their objects, one a line: base past ing | object | 目的 語 | stem of ます | form in て."""
    entries = []
    for line in text.strip().splitlines():
        parts = [part.strip() for part in line.split("|")]
        if len(parts) != 5 or len(parts[0].split()) != 3:
            raise ValueError(f"expected base past ing | object | 目的 語 | stem of ます | form in て, got {line!r}")
        verb, english, japanese, stem, te = parts
        base, past, ing = verb.split()
        forms = {"en": base, "third": add_s(base), "past": past, "ing": ing}
        entry = {name: f"{form} {english}".strip() for name, form in forms.items()}
        entries.append(entry | {"ja": f"{japanese} {stem}".strip(), "te": f"{japanese} {te}".strip()})
    return entries


def add_s(word: str) -> str:
    """The regular plural of a noun, or the third person of a verb."""
    if word.endswith(("s", "sh", "ch", "x", "z", "go", "do")):
        return f"{word}es"
    if word.endswith("y") and word[-2:-1] not in "aeou":
        return f"{word[:-1]}ies"
    return f"{word}s"


def pairs(text: str) -> list[tuple[str, str]]:
    """The two sides of every "left = right" between commas."""
    found = []
    for entry in text.split(","):
        left, *right = (" ".join(side.split()) for side in entry.split("="))
        if left[:1] in ("", "/") or len(right) != 1 or not right[0]:
            raise ValueError(f"expected … = … between commas, got {entry.strip()!r}")
        found.append((left, right[0]))
    return found
