"""Records know their keys, and what is wrong with one is told by its place, with the file and the remedy."""

from pathlib import Path

import pytest
from pydantic import Field, ValidationError, model_validator

from trellex.records import Record, problems


class Leaf(Record):
    seed: int = Field(1, ge=0)
    sizes: list[int] = Field([])

    @model_validator(mode="after")
    def _is_seven(self):
        if self.seed == 7:
            raise ValueError("seed: never 7")
        return self


class Tree(Record):
    trunk: Leaf
    branch: Leaf | None = None
    twigs: list[Leaf] = Field([])
    rings: int = Field(default_factory=lambda fields: fields["trunk"].seed if "trunk" in fields else 0)
    named: dict[str, Leaf] = Field({})


def problems_of(data, model=Tree):
    with pytest.raises(ValidationError) as caught:
        Tree.model_validate(data)
    return problems(caught.value, model)


class TestProblems:
    @pytest.mark.parametrize(
        ("data", "expected"),
        [
            ({"trunk": {"seed": -1}}, "trunk.seed: Input should be greater than or equal to 0"),
            ({"trunk": {"sizes": [1, "x"]}}, "trunk.sizes.1: Input should be a valid integer"),
            ({"trunk": {"seed": 7}}, "trunk: seed: never 7"),
            ({}, "trunk: Field required"),
            ([], "Input should be a valid dictionary"),
        ],
    )
    def test_are_told_with_their_place(self, data, expected):
        (found,) = problems_of(data)
        assert found.startswith(expected)

    @pytest.mark.parametrize(
        ("data", "expected"),
        [
            ({"trunks": {}}, "trunks: unknown key; did you mean 'trunk'?"),
            ({"trunk": {"sed": 1}}, "trunk.sed: unknown key; did you mean 'seed'?"),
            ({"branch": {"sed": 1}}, "branch.sed: unknown key; did you mean 'seed'?"),
            ({"twigs": [{}, {"sed": 1}]}, "twigs.1.sed: unknown key; did you mean 'seed'?"),
            ({"named": {"oak": {"sed": 1}}}, "named.oak.sed: unknown key; did you mean 'seed'?"),
            ({"trunk": {"zzz": 1}}, "trunk.zzz: unknown key; known: seed, sizes"),
        ],
    )
    def test_an_unknown_key_is_told_with_the_nearest(self, data, expected):
        assert problems_of({"trunk": {}} | data) == [expected]
        assert problems_of({"trunk": {}} | data, model=None) != [expected]

    def test_all_are_told(self):
        assert len(problems_of({"trunk": {"seed": "x"}, "twig": 1})) == 2


class TestChecked:
    def test_good(self):
        assert Tree.checked({"trunk": {"seed": 3}}, "here").trunk.seed == 3

    def test_bad(self):
        with pytest.raises(ValueError, match=r"^here: trunk.sed: unknown key; did .*\?; twig: unknown key") as caught:
            Tree.checked({"trunk": {"sed": 3}, "twig": 1}, "here")
        assert not isinstance(caught.value, ValidationError)


class TestJson:
    def test_round_trip(self, tmp_path):
        tree = Tree(trunk=Leaf(seed=3), named={"犬": Leaf()})
        tree.save_json(tmp_path / "tree.json")
        assert Tree.load_json(tmp_path / "tree.json", "a tree", "plant one") == tree
        assert (tmp_path / "tree.json").read_bytes().count(b"\n") == 1
        assert [path.name for path in tmp_path.iterdir()] == ["tree.json"]

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            (b"", "Invalid JSON"),
            (b"\xff", "Invalid JSON"),
            (b'{"trunk": {"seed"', "Invalid JSON"),
            (b"[1]", "Input should be an object"),
            (b'{"trunk": {"sed": 1}, "twig": 1}', r"trunk.sed: unknown key; did you mean 'seed'\?\)"),
            (None, "No such file"),
        ],
    )
    def test_the_file_the_first_problem_and_the_remedy_are_told(self, tmp_path, text, problem):
        if text is not None:
            (tmp_path / "tree.json").write_bytes(text)
        with pytest.raises(ValueError, match=rf"tree.json: not a tree \({problem}.*; plant one$"):
            Tree.load_json(tmp_path / "tree.json", "a tree", "plant one")


def test_a_file_that_may_not_be_read_is_not_taken_for_a_bad_one(tmp_path, monkeypatch):
    def refuse(path, *_):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)  # root may read all
    with pytest.raises(
        PermissionError, match=r"leaf.json: permission denied; its owner can allow it with `chmod a\+rX`"
    ):
        Leaf.load_json(tmp_path / "leaf.json", "a leaf", "grow one")
