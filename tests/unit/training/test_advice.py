"""Recipes suit the corpus, the machine and the time there is."""

import subprocess
import sys
from pathlib import Path

import pytest

from trellex.heads import HeadSpec
from trellex.training.advice import FEWEST_STEPS, SHORTENED, SIZES, Advisor, head_for, head_reason

RUN = Path("run")


@pytest.fixture
def advisor(data):
    """Advises on a corpus as large as it is told to be."""

    def advisor(tokens=400_000, steps_of_epoch=450, held_out_tokens=25_000, **options):
        advisor = Advisor(data, RUN, **options)
        advisor.tokens, advisor.steps_of_epoch, advisor.held_out_tokens = tokens, steps_of_epoch, held_out_tokens
        return advisor

    return advisor


def choose(advisor, minutes, seconds_a_unit=1e-6):
    """With a machine on which a token takes time in proportion to the size; also what was told."""
    told = []
    return advisor.choose(lambda recipe: seconds_a_unit * recipe.model.hidden_size, minutes, told.append), told


class TestSizes:
    @pytest.mark.parametrize(("tokens", "units"), [(500, [64]), (80_000, [128, 64]), (10**7, [512, 256, 128, 64])])
    def test_the_one_that_suits_and_smaller_ones(self, advisor, tokens, units):
        assert [size.units for size in advisor(tokens).sizes] == units

    def test_large_batches_are_for_gpus_and_large_corpora(self, data, monkeypatch):
        assert Advisor(data, RUN, on_gpu=True).untimed().recipe.training.batch_sentences == 64
        monkeypatch.setattr("trellex.training.advice.GPU_TOKENS", 100)
        small = Advisor(data, RUN).untimed().recipe.training
        large = Advisor(data, RUN, on_gpu=True).untimed().recipe.training
        assert (small.batch_sentences, small.batch_tokens, small.precision) == (64, None, "float32")
        assert (large.batch_sentences, large.batch_tokens, large.precision) == (None, 4096, "bfloat16")
        assert large.learning_rate > small.learning_rate


class TestHead:
    def test_few_words_need_no_codes(self):
        assert head_for(3_000) == HeadSpec.parse("softmax")
        assert head_for(8_192) == HeadSpec.parse("softmax")
        assert head_for(20_000) == HeadSpec.parse({"type": "shelves", "label_smoothing": 0.1})

    def test_reasons(self):
        assert "softmax is affordable" in head_reason(head_for(3_000), 3_000)
        assert "20,000 words" in head_reason(head_for(20_000), 20_000)
        assert "asked for" in head_reason(HeadSpec.parse("binary"), 20_000)

    def test_one_that_is_given_is_kept(self, data):
        head = HeadSpec.parse({"type": "binary-ec", "loss": "trellis"})
        assert Advisor(data, RUN, head).untimed().recipe.head == head


class TestRecipe:
    @pytest.mark.parametrize("steps", [1_500, 1_777, 9_000])
    def test_the_last_step_is_evaluated(self, advisor, steps):
        training = advisor().recipe(SIZES[1], steps).training
        assert training.max_steps % training.validate_every == 0
        assert abs(training.max_steps - steps) <= 20

    def test_evaluations_are_fewer_where_they_take_long(self, advisor):
        often = advisor(held_out_tokens=2_000).recipe(SIZES[1], 9_000).training
        seldom = advisor(held_out_tokens=100_000).recipe(SIZES[1], 9_000).training
        assert often.max_steps // often.validate_every == 20
        assert 5 <= seldom.max_steps // seldom.validate_every < 20

    def test_small_corpora_are_read_more_often(self, advisor):
        assert advisor(tokens=400, steps_of_epoch=1).untimed().epochs >= 1_000
        assert advisor().untimed().epochs == pytest.approx(20, abs=0.1)

    def test_a_dev_text_of_empty_lines_is_no_obstacle(self, advisor):
        assert advisor(held_out_tokens=1).untimed().recipe.training.max_steps > 0


class TestChoose:
    def test_without_a_limit_what_suits_the_corpus(self, advisor):
        choice, told = choose(advisor(), None)
        assert (choice.recipe, told) == (advisor().untimed().recipe, [choice])

    def test_fewer_steps_before_a_smaller_size(self, advisor):
        full, _ = choose(advisor(), None)
        choice, told = choose(advisor(), 0.8 * full.seconds / 60)
        assert told == [full]
        assert choice.recipe.model == full.recipe.model
        assert SHORTENED * full.seconds < choice.seconds <= 0.8 * full.seconds

    def test_a_smaller_size_before_many_fewer_steps(self, advisor):
        full, _ = choose(advisor(), None)
        choice, told = choose(advisor(), 0.55 * full.seconds / 60)
        assert [tried.recipe.model.hidden_size for tried in told] == [512, 256]
        assert choice.recipe.model.hidden_size == 256
        assert choice.recipe.training.max_steps == full.recipe.training.max_steps

    @pytest.mark.parametrize("minutes", [3, 7, 10, 30, 50, 70])
    def test_fits(self, advisor, minutes):
        choice, _ = choose(advisor(), minutes)
        assert not choice.exceeds(minutes)

    def test_no_training_is_too_short_to_learn_anything(self, advisor):
        choice, told = choose(advisor(), 0.01)
        assert choice.exceeds(0.01)
        assert (len(told), choice.recipe.model.hidden_size) == (4, 64)
        assert choice.recipe.training.max_steps >= FEWEST_STEPS

    def test_evaluations_take_time(self, advisor):
        short, long = (choose(advisor(held_out_tokens=tokens), None)[0] for tokens in (1_000, 50_000))
        assert long.seconds > short.seconds


def test_needs_no_torch():
    script = "import sys, trellex.training.advice, trellex.training.recipe_text; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)
