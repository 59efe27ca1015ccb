"""All but the sentences of a text stays as it was."""

import pytest

from trellex.serve.layout import Layout


def filled(text, source="en", target="ja", is_html=False):
    layout = Layout(text, source, target, is_html)
    return layout.filled([f"[{sentence}]" for sentence in layout.sentences])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One.", "[One.]"),
        ("One. Two.", "[One.][Two.]"),
        ("One.\nTwo.\n", "[One.]\n[Two.]\n"),
        ("\n\n One. \r\n\r\n\tTwo.\r", "\n\n [One.] \r\n\r\n\t[Two.]\r"),
        ("", ""),
        (" \n ", " \n "),
    ],
)
def test_lines(text, expected):
    assert filled(text) == expected


def test_sentences_get_a_space_between_where_words_have_one():
    assert filled("一。二。", "ja", "en") == "[一。] [二。]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<p class='a>b'>One.</p>", "<p class='a>b'>[One.]</p>"),
        ("a &amp; b &lt; c", "[a &amp; b &lt; c]"),
        ("One <b>two</b> three.", "[One] <b>[two]</b> [three.]"),
        ("<!-- a. b. -->One.<!DOCTYPE html>", "<!-- a. b. -->[One.]<!DOCTYPE html>"),
        ("<script>if (a < b) c('</p>')</SCRIPT>One.", "<script>if (a < b) c('</p>')</SCRIPT>[One.]"),
        ("<style>p {}</style><code>x = 1</code>One.", "<style>p {}</style><code>x = 1</code>[One.]"),
        ("1 < 2 and 3 > 2", "[1 &lt; 2 and 3 &gt; 2]"),
        (f"a&#{'1' * 5000};b&#{'0' * 99}c", "[a\ufffdb\ufffdc]"),
        (f"a&#x{'1' * 5000};b", "[a\ufffdb]"),
        ("One.\n  Two.", "[One.][Two.]"),
        ("One <!-- never closed", "[One] <!-- never closed"),
        ("<pre>never closed", "<pre>never closed"),
        ('<br/>One.<img alt="x">', '<br/>[One.]<img alt="x">'),
        ("<code-box>One.</code-box><PRE>x</pre-x></pre>", "<code-box>[One.]</code-box><PRE>x</pre-x></pre>"),
        ("<pre>a<pre>b</pre>c</pre>One.", "<pre>a<pre>b</pre>c</pre>[One.]"),
        ("<script>'<script>'</script>One.", "<script>'<script>'</script>[One.]"),
        ('<b id=a translate="no">a<b>b</b>c</b>One.', '<b id=a translate="no">a<b>b</b>c</b>[One.]'),
        ("<b\nTranslate=NO>a</B>One.", "<b\nTranslate=NO>a</B>[One.]"),
        ("<b translate=none>One.</b><b data-translate=no>", "<b translate=none>[One.]</b><b data-translate=no>"),
        ("<br translate='no'>One.", "<br translate='no'>[One.]"),
    ],
)
def test_html(text, expected):
    assert filled(text, is_html=True) == expected


@pytest.mark.parametrize(
    "part",
    [
        *("<a", "<!--", "<script>", "<a '", "<", "&", "</script", '<a "', "「", "（", ".", '."', ". ", "。"),
        *("<b translate=no>", "<b translate=no></b>", "<b\n", " translate"),
    ],
)
def test_a_long_text_of_odd_parts_is_read_in_reasonable_time(part):
    """By the square of its length this would take minutes."""
    text = part * (400_000 // len(part))
    assert filled(text, "ja", "en", is_html=True)
    assert filled(text, is_html=True)
