"""Codes of languages are taken, and what is none leads to the code that was meant."""

import re

import pytest

from trellex.text.languages import check_language


@pytest.mark.parametrize("code", ["en", "ja", "de", "zh", "pt", "sh", "ee", "yue", "haw", "kau", "fil"])
def test_codes(code):
    assert check_language(code) == code


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        *[("jp", "'ja' (Japanese)"), ("cn", "'zh' (Chinese)"), ("kr", "'ko' (Korean)"), ("cz", "'cs' (Czech)")],
        *[("dk", "'da' (Danish)"), ("gr", "'el' (Greek)"), ("ua", "'uk' (Ukrainian)"), ("vn", "'vi' (Vietnamese)")],
        *[("eng", "'en' (English)"), ("ger", "'de' (German)"), ("deu", "'de' (German)"), ("lao", "'lo' (Lao)")],
        *[("cmn", "'zh' (Chinese)"), ("iw", "'he' (Hebrew)"), ("english", "'en' (English)"), ("English", "'en'")],
        *[("deutsch", "'de' (German)"), ("日本語", "'ja' (Japanese)"), ("scottish gaelic", "'gd' (Scottish Gaelic)")],
        *[("cantonese", "'yue'?"), ("japanesse", "'ja' (Japanese)"), ("EN", "'en' (English)"), (" en", "'en'")],
        *[("pt-BR", "'pt' (Portuguese)"), ("zh_TW", "'zh' (Chinese)"), ("jp-JP", "'ja'"), ("en_US.UTF-8", "'en'")],
    ],
)
def test_what_was_meant(written, meant):
    message = f"source_language: {written!r} is no language code; did you mean {meant}"
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        check_language(written, "source_language")


@pytest.mark.parametrize("code", ["", "x", "xx", "e1", "klingonish", "12", "ëñ"])
def test_what_nobody_can_guess(code):
    with pytest.raises(ValueError, match=r"^language: .* is no language code; give two letters of ISO 639-1"):
        check_language(code)
