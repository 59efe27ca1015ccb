"""Tokenisers: a line of text ↔ its tokens. No token is empty or holds white space."""

from __future__ import annotations

import difflib
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

from trellex.text.languages import UNSPACED
from trellex.text.pieces import KINDS, PieceModel

SPACE = "▁"  # stands for a space among characters and in pieces
_NOT_TEXT = re.compile("[\x00-\x1f\x7f-\x9f\ufeff\ud800-\udfff]")  # controls, byte order marks, lone surrogates
_MECAB_PIECE = re.compile(".{1,8192}")  # a longer word takes its time, then its stack, by the square of its length


class Detokenizer(Protocol):
    """What joins tokens to a line that people read."""

    def detokenize(self, tokens: Sequence[str]) -> str: ...


class Tokenizer(Detokenizer, Protocol):
    """What cuts a line into tokens, and joins tokens to a line."""

    def tokenize(self, line: str) -> list[str]: ...


def build_tokenizer(
    name: str, language: str = "en", lowercase: bool = False, pieces: PieceModel | None = None
) -> Tokenizer:
    """The tokeniser of that name.

    Args:
        name: `whitespace`, `moses`, `mecab` or `characters`; `bpe` or `unigram` with a piece model
        language: two letters, such as "en": the rules of `moses`, and whether `whitespace` joins with spaces
        lowercase: whether lines are lower-cased before they are cut
        pieces: the model of `bpe` or `unigram`
    """
    if is_of_pieces(check_tokenizer(name)):
        if pieces is None:
            raise ValueError(f"tokenizer: {name!r} cuts only by the pieces of a model; give one of {', '.join(_WORDS)}")
        return _Pieces(language, lowercase, pieces)
    return _WORDS[name](language, lowercase)


def build_detokenizer(name: str, language: str) -> Detokenizer:
    """What joins the tokens of that tokeniser.

    Neither MeCab nor sentencepiece, which may not be installed, are needed to join what they cut.
    """
    if is_of_pieces(name):
        return _PieceJoiner()
    return build_tokenizer("whitespace", "ja") if name == "mecab" else build_tokenizer(name, language)


def is_of_pieces(name: str) -> bool:
    """Whether that tokeniser cuts by a piece model."""
    return name in KINDS


def without_space(token: str, name: str) -> str:
    """A token of that tokeniser without the mark of a space before it, as it stands in the text."""
    return token.removeprefix(SPACE) or token if is_of_pieces(name) else token


def default_tokenizer(language: str) -> str:
    """The name of the tokeniser for plain text of a language."""
    return "mecab" if language == "ja" else "characters" if language in UNSPACED else "moses"


def check_tokenizer(name: str) -> str:
    """`name`, if there is such a tokeniser. Raises ValueError that proposes the nearest one."""
    names = [*_WORDS, *KINDS]
    if name not in names:
        near = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(f"tokenizer: there is no {name!r}; {hint}valid names are {', '.join(names)}")
    return name


def plain(line: str, lowercase: bool) -> str:
    """A line as it is cut: control characters are spaces, runs of spaces are one, and letters small if asked for."""
    line = " ".join(_NOT_TEXT.sub(" ", line).split())
    return line.lower() if lowercase else line


def unmarked(line: str) -> str:
    """A line in which the mark of a space counts as one."""
    return " ".join(line.replace(SPACE, " ").split())


class _Base(ABC):
    """Cleans a line before it is cut."""

    def __init__(self, language: str, lowercase: bool) -> None:
        self.language = language
        self.lowercase = lowercase

    def tokenize(self, line: str) -> list[str]:
        return self._cut(plain(line, self.lowercase))

    @abstractmethod
    def _cut(self, line: str) -> list[str]: ...

    @abstractmethod
    def detokenize(self, tokens: Sequence[str]) -> str: ...


class _Whitespace(_Base):
    """For text that is tokenised already."""

    def _cut(self, line: str) -> list[str]:
        return line.split()

    def detokenize(self, tokens: Sequence[str]) -> str:
        return _join_unspaced(tokens) if self.language in UNSPACED else " ".join(tokens)


class _Moses(_Base):
    """The rules of the Moses toolkit, for languages with spaces between words; English ones where it has none."""

    def __init__(self, language: str, lowercase: bool) -> None:
        import sacremoses  # type: ignore[import-untyped]

        super().__init__(language, lowercase)
        self._tokenizer = sacremoses.MosesTokenizer(lang=language)
        self._detokenizer = sacremoses.MosesDetokenizer(lang=language)

    def _cut(self, line: str) -> list[str]:
        return " ".join(self._tokenizer.tokenize(line, escape=False)).split()

    def detokenize(self, tokens: Sequence[str]) -> str:
        return self._detokenizer.detokenize(list(tokens), unescape=False)


class _MeCab(_Base):
    """Japanese words as MeCab finds them with the dictionary ipadic."""

    def __init__(self, language: str, lowercase: bool) -> None:
        try:
            import fugashi  # type: ignore[import-untyped]
            import ipadic  # type: ignore[import-untyped]
        except ImportError as error:
            raise ImportError(
                f"tokenizer 'mecab' needs the package {error.name}: pip install 'trellex[ja]'", name=error.name
            ) from error
        super().__init__(language, lowercase)
        self._tagger = fugashi.GenericTagger(ipadic.MECAB_ARGS)

    def _cut(self, line: str) -> list[str]:
        return " ".join(word.surface for piece in _MECAB_PIECE.findall(line) for word in self._tagger(piece)).split()

    def detokenize(self, tokens: Sequence[str]) -> str:
        return _join_unspaced(tokens)


class _Characters(_Base):
    """Every character is a token, a space is "▁". A "▁" of the text itself counts as a space."""

    def _cut(self, line: str) -> list[str]:
        return list(unmarked(line).replace(" ", SPACE))

    def detokenize(self, tokens: Sequence[str]) -> str:
        return "".join(tokens).replace(SPACE, " ")


class _PieceJoiner:
    """Joins pieces, in which "▁" is the space before. No model is needed for that."""

    def detokenize(self, tokens: Sequence[str]) -> str:
        return "".join(tokens).replace(SPACE, " ").strip()


class _Pieces(_PieceJoiner, _Base):
    """Pieces of words, as a model knows them. A "▁" of the text itself counts as a space."""

    def __init__(self, language: str, lowercase: bool, pieces: PieceModel) -> None:
        super().__init__(language, lowercase)
        self._processor = pieces.processor

    def _cut(self, line: str) -> list[str]:
        found: list[str] = self._processor.encode(unmarked(line), out_type=str)
        return found


_WORDS: dict[str, type[_Base]] = {
    "whitespace": _Whitespace,
    "moses": _Moses,
    "mecab": _MeCab,
    "characters": _Characters,
}
_WORDS_MEET = re.compile(r"(?<=[0-9A-Za-z]) (?=[0-9A-Za-z])")


def _join_unspaced(tokens: Sequence[str]) -> str:
    """Tokens without spaces, but for one between two neighbours in ASCII letters or digits."""
    pieces = _WORDS_MEET.sub("\n", " ".join(tokens))
    return pieces.replace(" ", "").replace("\n", " ")
