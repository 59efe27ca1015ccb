"""Which rows are a shard's."""

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trellex.bulk.division import MOST_SHARDS, USUAL_ROWS, parse_shard, pieces, rows_of, usual_shards


@given(st.lists(st.integers(0, 50), max_size=8), st.integers(1, 40))
def test_every_row_is_in_exactly_one_shard_and_in_order(counts, shards):
    rows, ends = sum(counts), list(accumulate(counts))
    found = [
        (piece.source, row)
        for number in range(1, shards + 1)
        for piece in pieces(ends, rows_of(number, shards, rows))
        for row in range(piece.first, piece.end)
    ]
    assert found == [(source, row) for source, count in enumerate(counts) for row in range(count)]


@given(st.integers(0, 10**12), st.integers(1, MOST_SHARDS))
def test_shards_differ_by_one_row_at_most(rows, shards):
    sizes = {len(rows_of(number, shards, rows)) for number in {1, 2, shards // 2, shards} if 1 <= number <= shards}
    assert max(sizes) - min(sizes) <= 1


def test_the_usual_number():
    assert [usual_shards(rows) for rows in (0, 1, USUAL_ROWS, USUAL_ROWS + 1)] == [1, 1, 1, 2]
    assert usual_shards(10**12) == MOST_SHARDS


@pytest.mark.parametrize(
    ("text", "expected"), [("3/16", (3, 16)), ("16/16", (16, 16)), ("all/16", (None, 16)), ("all", (None, None))]
)
def test_what_the_option_says(text, expected):
    assert parse_shard(text) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("17/16", "16 shards are numbered 1 to 16, got 17"),
        ("0/16", "numbered 1 to 16, got 0"),
        ("1/0", "expected 1 to 99,999 shards, got 0"),
        ("1/100000", "got 100,000"),
        *(
            (text, f"expected such as 3/16, all/16 or all, got '{text}'")
            for text in ("3", "", "3/", "-1/4", "a/b", "1/2/3")
        ),
    ],
)
def test_what_it_may_not_say(text, problem):
    with pytest.raises(ValueError, match=f"^shard: .*{problem}"):
        parse_shard(text)
