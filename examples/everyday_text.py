"""The text of the models that come with Trellex: Tatoeba and small_parallel_enja, without what they are tested on.

    python examples/everyday_text.py tatoeba-en-ja tanaka-50k everyday/text

The first folder has raw text, the second is tokenised and in lower case: its English gets back its capitals from the
first, its Japanese loses its spaces. A pair is left out of training if one of its sides, but for case, spaces and
punctuation, stands in a dev or test set of either; so is one that is there twice. Dev and test are those of Tatoeba,
and `tanaka` is the other's test set.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from sacremoses import MosesDetokenizer, MosesTokenizer

Pair = tuple[str, str]  # English, Japanese

TOKENIZER, DETOKENIZER = MosesTokenizer("en"), MosesDetokenizer("en")
SHORT_FORMS = {"'t", "'s", "'m", "'re", "'ve", "'ll", "'d"}  # which a space parts from their words


def read(folder: Path, split: str) -> list[Pair]:
    """The pairs of one split."""
    english, japanese = ((folder / f"{split}.{side}").read_text(encoding="utf-8").splitlines() for side in ("en", "ja"))
    return list(zip(english, japanese, strict=True))


def bare(sentence: str) -> str:
    """What is left of a sentence to compare it by."""
    return "".join(character for character in sentence.lower() if character.isalnum())


def usual_forms(sentences: Iterable[str]) -> dict[str, str]:
    """The most frequent form of each word by its lower case; the first word of a sentence is not asked."""
    counts: dict[str, Counter[str]] = {}
    for sentence in sentences:
        for token in TOKENIZER.tokenize(sentence, escape=False)[1:]:
            counts.setdefault(token.lower(), Counter())[token] += 1
    return {word: forms.most_common(1)[0][0] for word, forms in counts.items()}


def written(tokens: list[str], forms: dict[str, str]) -> str:
    """An English sentence with its capitals and without the spaces of its tokens."""
    words: list[str] = []
    for token in tokens:
        if token in SHORT_FORMS and words:
            words[-1] += token
        else:
            words.append(forms.get(token, token))
    text: str = DETOKENIZER.detokenize(words)
    return text[:1].upper() + text[1:]


def as_raw(pairs: Iterable[Pair], forms: dict[str, str]) -> list[Pair]:
    """Pairs of text that was tokenised and in lower case."""
    return [(written(english.split(), forms), "".join(japanese.split())) for english, japanese in pairs]


def joined(pairs: Iterable[Pair], held_out: Iterable[Pair]) -> Iterator[Pair]:
    """Those to train on: once each, and nothing of what is held out."""
    seen = {bare(side) for pair in held_out for side in pair}
    found: set[Pair] = set()
    for english, japanese in pairs:
        key = bare(english), bare(japanese)
        if not (key in found or seen.intersection(key)):
            found.add(key)
            yield english, japanese


def write(folder: Path, split: str, pairs: Iterable[Pair]) -> int:
    """Two files, line by line; returns how many."""
    pairs = list(pairs)
    for side, lines in zip(("en", "ja"), zip(*pairs, strict=True), strict=True):
        (folder / f"{split}.{side}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(pairs)


def main(raw: Path, tokenised: Path, folder: Path) -> None:
    first = {split: read(raw, split) for split in ("train", "dev", "test")}
    forms = usual_forms(english for english, _ in first["train"])
    second = {split: as_raw(read(tokenised, split), forms) for split in ("train", "dev", "test")}
    held_out = [pair for splits in (first, second) for split in ("dev", "test") for pair in splits[split]]
    folder.mkdir(parents=True, exist_ok=True)
    print(f"{write(folder, 'train', joined(first['train'] + second['train'], held_out)):,} pairs to train on")
    for split, pairs in (("dev", first["dev"]), ("test", first["test"]), ("tanaka", second["test"])):
        print(f"{write(folder, split, pairs):,} of {split}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
