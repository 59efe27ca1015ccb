"""BLEU against counts by hand, and the signatures that tell how it was computed."""

import math

import pytest

from trellex.evaluation import text_bleu, token_bleu


class TestTokenBleu:
    def test_counted_by_hand(self):
        """5 of 6 words, 3 of 5 pairs, 2 of 4 triples and 1 of 3 quadruples are right; the lengths are equal."""
        score = token_bleu(["the cat sat on the mat"], ["the cat sat on a mat"]).score
        assert score == pytest.approx(100 * (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** (1 / 4))

    def test_a_short_translation_pays_for_it(self):
        score = token_bleu(["a b c d e"], ["a b c d e f"]).score
        assert score == pytest.approx(100 * math.exp(1 - 6 / 5))

    def test_counts_of_all_lines_are_added_up(self):
        """7 + 4 of 7 + 6 words and so on, not the mean of two scores."""
        score = token_bleu(["a b c d e f g", "p q r s x x"], ["a b c d e f g", "p q r s t u"]).score
        assert score == pytest.approx(100 * (11 / 13 * 9 / 11 * 7 / 9 * 5 / 7) ** (1 / 4))

    def test_case_is_ignored(self):
        assert token_bleu(["The CAT sat on É"], ["the cat Sat on é"]).score == pytest.approx(100)

    def test_tokens_are_what_spaces_separate(self):
        assert token_bleu(["I have a cat."], ["I have a cat ."]).score < 99
        assert token_bleu(["猫 が 好き です 。"], ["猫 が 好き です 。"]).score == pytest.approx(100)

    def test_signature(self):
        signature = token_bleu(["a"], ["a"]).signature
        assert "tok:none" in signature
        assert "case:lc" in signature
        assert "version:" in signature


class TestTextBleu:
    @pytest.mark.parametrize(
        ("language", "tokenizer"),
        [("en", "13a"), ("de", "13a"), ("ja", "char"), ("ko", "char"), ("th", "char"), ("zh", "zh"), ("yue", "zh")],
    )
    def test_signature_names_the_tokeniser_of_the_language(self, language, tokenizer):
        signature = text_bleu(["a b"], ["a b"], language).signature
        assert f"tok:{tokenizer}|" in signature
        assert "case:mixed" in signature

    def test_punctuation_is_split_off_and_case_counts(self):
        assert text_bleu(["I have a cat."], ["I have a cat ."]).score == pytest.approx(100)
        assert text_bleu(["i have a cat."], ["I have a cat."]).score < 99

    def test_japanese_is_compared_by_characters(self):
        """5 of 6 characters, 3 of 5 pairs, 2 of 4 triples and 1 of 3 quadruples."""
        score = text_bleu(["私は猫です。"], ["私は猫で、。"], "ja").score
        assert score == pytest.approx(100 * (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** (1 / 4))


@pytest.mark.parametrize("bleu", [text_bleu, token_bleu])
class TestErrors:
    def test_different_numbers_of_lines_are_named(self, bleu):
        with pytest.raises(ValueError, match="differ in number: 1 and 2 lines"):
            bleu(["a"], ["a", "b"])

    def test_no_lines(self, bleu):
        with pytest.raises(ValueError, match="references: .*no lines"):
            bleu([], [])

    def test_empty_translations_score_nothing(self, bleu):
        assert bleu(["", ""], ["a b c d", "e"]).score == 0


def test_confidence_intervals_on_demand():
    ours, theirs = ["a b c d e"] * 5 + ["a b x d e"] * 5, ["a b c d e"] * 10
    assert token_bleu(ours, theirs).interval is None
    assert 0 < token_bleu(ours, theirs, resamples=200).interval < 50
    assert token_bleu(theirs, theirs, resamples=200).interval == pytest.approx(0)
