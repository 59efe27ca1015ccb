"""What an output layer is, as data: parsed, written again, named in tables, and without torch."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from trellex.codes import FrequencyCode, HuffmanCode, PermutedCode, RandomCode, cluster_code, ordered_code
from trellex.heads.code_spec import BinarySpec, HybridSpec
from trellex.heads.free_spec import FreeSpec
from trellex.heads.rival_spec import AdaptiveSpec, DifferentiatedSpec, HierarchicalSpec
from trellex.heads.shelves_spec import ShelvesSpec
from trellex.heads.softmax_spec import SoftmaxSpec
from trellex.heads.spec import AnyHeadSpec, HeadSpec
from trellex.records import Record
from trellex.text import Vocabulary

parse = HeadSpec.parse
RESULTS = Path(__file__).parents[3] / "docs" / "results"
WRITTEN = [
    "softmax",
    "binary",
    "binary-ec",
    "hybrid-9",
    "hybrid-2048-ec",
    {"type": "softmax", "label_smoothing": 0.1},
    {"type": "softmax", "tied": True},
    {"type": "softmax", "tied": False},
    {"type": "softmax", "loss": "full"},
    {"type": "softmax", "loss": "nce", "samples": 20, "proposal": "log-uniform"},
    {"type": "softmax", "code": "clusters", "tied": True, "loss": "sampled", "proposal": "code", "memory": 8},
    {"type": "binary-ec", "loss": "trellis", "mixtures": 4},
    {"type": "binary-ec", "decoding": "paper"},
    {"type": "binary", "loss": None},
    {"type": "hybrid-9-ec", "generators": ["101", "111"], "hidden_layer": 7, "numbering": "rare"},
    {"type": "hybrid-9", "code": "random", "seed": 3, "softmax_weight": 0.5, "bits_weight": 2.0},
    {"type": "binary", "code": "huffman", "reduction": "mean", "ignore_index": 0},
    {"type": "binary", "code": {"file": "codes/brown.json"}},
    {"type": "binary", "code": {"type": "permuted", "numbers": [2, 0, 1]}},
    {"type": "binary", "code": {"type": "frequency", "vocab_size": 50}},
    {"type": "hybrid-2048-ec", "code": "clusters", "generators": "complete", "memory": 8},
    "shelves",
    {"type": "shelves", "code": "random", "seed": 3, "words": 32, "visit": 4, "memory": 6, "shelf_weight": 0.5},
    "hierarchical",
    {"type": "differentiated", "cutoffs": [2000], "units": [400, 112], "label_smoothing": 0.1},
    "adaptive",
    {"type": "adaptive", "cutoffs": [2000, 10000], "div_value": 2.0},
    {"type": "hierarchical", "code": "random", "seed": 3},
    "free",
    {"type": "free", "bits": 128, "label_smoothing": 0.1},
    {"type": "free", "loss": "sampled", "samples": 500},
]
written = pytest.mark.parametrize("spec", WRITTEN, ids=str)


class Holder(Record):
    """A record with a head, as recipes, manifests and results are."""

    head: AnyHeadSpec


class TestParse:
    @pytest.mark.parametrize(
        ("name", "kind"),
        [
            ("softmax", SoftmaxSpec),
            ("binary", BinarySpec),
            ("binary-ec", BinarySpec),
            ("hybrid-2", HybridSpec),
            ("hybrid-2048-ec", HybridSpec),
            ("shelves", ShelvesSpec),
            ("hierarchical", HierarchicalSpec),
            ("differentiated", DifferentiatedSpec),
            ("adaptive", AdaptiveSpec),
            ("free", FreeSpec),
        ],
    )
    def test_the_name_tells_the_family(self, name, kind):
        for spec in (name, {"type": name}):
            assert type(parse(spec)) is kind
            assert parse(spec).type == name

    def test_options_are_read(self):
        spec = parse({"type": "hybrid-9-ec", "loss": "trellis", "mixtures": 4, "generators": ["101", "111"]})
        assert (spec.loss, spec.mixtures, spec.generators) == ("trellis", 4, ("101", "111"))
        assert (spec.decoding, spec.code, spec.hidden_layer, spec.numbering) == ("exact", "frequency", None, None)
        assert (spec.ignore_index, spec.reduction, spec.label_smoothing) == (-100, "none", 0)

    @written
    def test_what_is_parsed_is_parsed(self, spec):
        assert parse(parse(spec)) is not None
        assert parse(parse(spec)).model_dump() == parse(spec).model_dump()

    def test_the_mapping_is_left_as_it_was(self):
        spec = {"type": "hybrid-9-ec", "generators": ["101", "111"]}
        parse(spec).with_options(loss="trellis")
        assert spec == {"type": "hybrid-9-ec", "generators": ["101", "111"]}

    def test_it_cannot_be_changed(self):
        with pytest.raises(ValueError, match="frozen"):
            parse("binary").mixtures = 2

    def test_some_options_may_be_replaced(self):
        spec = parse({"type": "binary-ec", "loss": "trellis"}).with_options(mixtures=3, loss=None)
        assert spec.model_dump() == {"type": "binary-ec", "loss": None, "mixtures": 3}
        with pytest.raises(ValueError, match="decoding: Input should be 'exact' or 'paper', got 'exakt'"):
            spec.with_options(decoding="exakt")
        with pytest.raises(ValueError, match="decoding: not an option of softmax"):
            parse("softmax").with_options(decoding="paper")

    def test_a_new_family_is_known_from_then_on(self, monkeypatch):
        monkeypatch.setattr(HeadSpec, "families", [*HeadSpec.families])

        class NewSpec(HeadSpec):
            forms = ("new-N",)

        assert type(parse("new-7")) is NewSpec
        assert parse("new-7").size == 7
        with pytest.raises(ValueError, match="hybrid-N, hybrid-N-ec, shelves.* or new-N, got 'newer'"):
            parse("newer")


class TestData:
    @written
    def test_it_is_as_it_was_written(self, spec):
        assert parse(spec).model_dump() == spec
        assert json.loads(parse(spec).model_dump_json()) == spec

    @written
    def test_a_record_holds_it_as_it_was_written(self, spec):
        holder = Holder(head=spec)
        assert holder.model_dump(mode="json") == {"head": spec}
        assert Holder.model_validate_json(holder.model_dump_json()) == holder
        assert Holder.model_validate(holder.model_dump()) == holder

    @written
    def test_as_text_it_is_a_name_or_json(self, spec):
        text = parse(spec).as_text()
        assert (text if isinstance(spec, str) else json.loads(text)) == spec

    def test_a_mapping_of_a_type_alone_is_its_name(self):
        assert parse({"type": "binary"}).model_dump() == "binary"
        assert parse({"type": "binary"}) == parse("binary")
        assert parse("binary") != parse("binary-ec")

    def test_a_default_that_is_given_is_written_and_equal(self):
        given = parse({"type": "binary", "decoding": "exact"})
        assert given.model_dump() == {"type": "binary", "decoding": "exact"}
        assert given == parse("binary")
        assert given != parse({"type": "binary", "decoding": "paper"})

    def test_a_record_names_the_mistake(self):
        with pytest.raises(ValueError, match="recipe: head: los: not an option of binary; did you mean 'loss'"):
            Holder.checked({"head": {"type": "binary", "los": "squared"}}, "recipe")


def label_by_the_rules(head):
    """The type and, in brackets, what is not as in the paper; its decoding belongs to its loss."""
    spec = {"type": head} if isinstance(head, str) else head
    options = {key: value for key, value in spec.items() if key not in ("type", "decoding")}
    has_the_papers_loss = options.get("loss", "squared") == "squared" and "mixtures" not in options
    if has_the_papers_loss:
        options.pop("loss", None)
    parts = [str(value) if key == "loss" else f"{key.replace('_', ' ')} {value}" for key, value in options.items()]
    decoding = spec.get("decoding", "exact")
    if decoding != ("paper" if has_the_papers_loss else "exact") and spec["type"] != "softmax":
        parts.append(f"{decoding} decoding")
    return spec["type"] + (f" ({', '.join(parts)})" if parts else "")


class TestLabel:
    @pytest.mark.parametrize(
        ("spec", "label"),
        [
            ("softmax", "softmax"),
            ({"type": "softmax", "label_smoothing": 0.1}, "softmax (label smoothing 0.1)"),
            ({"type": "softmax", "tied": True}, "softmax (tied)"),
            ({"type": "softmax", "tied": False}, "softmax"),
            ({"type": "softmax", "tied": True, "label_smoothing": 0.1}, "softmax (label smoothing 0.1, tied)"),
            ({"type": "softmax", "loss": "full", "proposal": "log-uniform"}, "softmax"),
            ({"type": "softmax", "loss": "negative", "samples": 20}, "softmax (negative, samples 20)"),
            (
                {"type": "softmax", "loss": "sampled", "proposal": "code", "code": "clusters"},
                "softmax (clusters, sampled, proposal code)",
            ),
            ({"type": "binary", "decoding": "paper"}, "binary"),
            ({"type": "binary", "decoding": "paper", "loss": "squared"}, "binary"),
            ("binary", "binary (exact decoding)"),
            ({"type": "hybrid-2048-ec", "decoding": "paper"}, "hybrid-2048-ec"),
            ({"type": "hybrid-2048-ec", "loss": "trellis"}, "hybrid-2048-ec (trellis)"),
            ({"type": "binary-ec", "loss": "cross_entropy"}, "binary-ec (cross_entropy)"),
            ({"type": "binary-ec", "loss": "trellis", "decoding": "paper"}, "binary-ec (trellis, paper decoding)"),
            ({"type": "binary-ec", "mixtures": 4}, "binary-ec (mixtures 4)"),
            ({"type": "binary-ec", "loss": "trellis", "mixtures": 4}, "binary-ec (trellis, mixtures 4)"),
            ({"type": "binary", "code": "huffman", "decoding": "paper"}, "binary (huffman)"),
            ({"type": "binary", "code": "clusters", "decoding": "paper"}, "binary (clusters)"),
            ({"type": "binary", "code": "brown", "decoding": "paper"}, "binary (brown)"),
            ({"type": "binary", "code": {"file": "codes/brown.json"}, "decoding": "paper"}, "binary (code brown)"),
            ({"type": "binary", "code": RandomCode(9), "decoding": "paper"}, "binary (code permuted)"),
            ({"type": "binary-ec", "generators": "complete"}, "binary-ec (complete, memory 8)"),
            ({"type": "binary-ec", "generators": "complete", "loss": "trellis"}, "binary-ec (complete, memory 8)"),
            (
                {"type": "hybrid-2048-ec", "generators": "complete", "memory": 6, "code": "clusters", "mixtures": 2},
                "hybrid-2048-ec (complete, memory 6, clusters, mixtures 2)",
            ),
            ("shelves", "shelves"),
            ("free", "free"),
            ({"type": "free", "bits": 64, "loss": "full"}, "free"),
            ({"type": "free", "bits": 128, "loss": "sampled", "samples": 9}, "free (bits 128, sampled, samples 9)"),
            ("hierarchical", "hierarchical"),
            ({"type": "differentiated", "units": [5, 3]}, "differentiated (units [5, 3])"),
            ({"type": "adaptive", "div_value": 4.0}, "adaptive"),
            ({"type": "adaptive", "cutoffs": [9, 20]}, "adaptive (cutoffs [9, 20])"),
            ({"type": "hierarchical", "code": "huffman"}, "hierarchical"),
            ({"type": "hierarchical", "code": "clusters"}, "hierarchical (clusters)"),
            ({"type": "shelves", "code": "clusters", "words": 64, "shelf_weight": 1}, "shelves"),
            ({"type": "shelves", "visit": 4, "memory": 7}, "shelves (visit 4)"),
            (
                {"type": "shelves", "shelf_weight": 0.5, "words": 32, "code": "random", "seed": 3},
                "shelves (random, seed 3, words 32, shelf weight 0.5)",
            ),
        ],
        ids=str,
    )
    def test_in_brackets_stands_what_is_not_as_in_the_paper(self, spec, label):
        assert parse(spec).label == label
        assert parse(spec).variant == label.removeprefix(parse(spec).type).strip(" ()")

    @pytest.mark.parametrize("loss", [{}, *({"loss": loss} for loss in ("squared", "cross_entropy", "trellis"))])
    @pytest.mark.parametrize("decoding", [{}, {"decoding": "paper"}, {"decoding": "exact"}])
    @pytest.mark.parametrize("more", [{}, {"hidden_layer": 7}, {"bits_weight": 2.5}, {"numbering": "rare"}])
    @pytest.mark.parametrize("name", ["hybrid-9", "hybrid-512-ec"])
    def test_by_the_rules(self, name, loss, decoding, more):
        spec = {"type": name, **loss, **decoding, **more}
        assert parse(spec).label == label_by_the_rules(spec)

    def test_methods_of_the_committed_results_are_those_of_their_report(self):
        cells = [json.loads(path.read_text())["cell"] for path in sorted((RESULTS / "cells").glob("*.json"))]
        report = (RESULTS / "report.md").read_text(encoding="utf-8")
        assert len(cells) > 20
        for cell in cells:
            spec = parse(cell["head"])
            if not (spec.is_apart or spec.uses_embedding):
                assert spec.label == label_by_the_rules(cell["head"])
            assert f"| {spec.label} |" in report
            assert spec.model_dump() == cell["head"]

    def test_they_are_sorted_as_in_the_report(self):
        cells = [json.loads(path.read_text())["cell"] for path in (RESULTS / "cells").glob("kftt-en-ja-*.json")]
        in_order = sorted((parse(cell["head"]) for cell in cells), key=lambda spec: spec.order)
        labels = list(dict.fromkeys(spec.label for spec in in_order))  # of several seeds, one
        lines = (RESULTS / "report.md").read_text(encoding="utf-8").splitlines()
        first = next(place for place, line in enumerate(lines) if line.startswith("| softmax |"))
        assert [line.split("|")[1].strip() for line in lines[first : first + len(labels)]] == labels

    def test_order(self):
        names = [
            *("softmax", {"type": "softmax", "tied": True}, "binary", "hybrid-512", "hybrid-2048", "binary-ec"),
            {"type": "binary-ec", "loss": "trellis"},
            *("hybrid-9-ec", "hybrid-10-ec", {"type": "hybrid-2048-ec", "decoding": "paper"}),
            *({"type": "hybrid-2048-ec", "generators": "complete", "memory": memory} for memory in (6, 8)),
            *("shelves", {"type": "shelves", "visit": 4}, "free", "hierarchical", "adaptive", "differentiated"),
        ]
        specs = [parse(name) for name in names]
        assert sorted(reversed(specs), key=lambda spec: spec.order) == specs

    @pytest.mark.parametrize(
        ("name", "base", "size", "is_corrected"),
        [
            ("softmax", "softmax", 0, False),
            ("binary", "binary", 0, False),
            ("binary-ec", "binary", 0, True),
            ("hybrid-512", "hybrid-512", 512, False),
            ("hybrid-2048-ec", "hybrid-2048", 2048, True),
        ],
    )
    def test_parts_of_the_name(self, name, base, size, is_corrected):
        spec = parse(name)
        assert (spec.base, spec.size, spec.is_corrected) == (base, size, is_corrected)
        if name != "softmax":
            assert spec.first_rare == max(0, size - 1)
            assert (spec.error_correction().memory > 0) == is_corrected


class TestCode:
    def test_a_file_is_read_when_it_is_built(self, tmp_path):
        code = RandomCode(50, 3)
        spec = parse({"type": "binary", "code": {"file": tmp_path / "code.json"}})
        assert spec.code == tmp_path / "code.json"
        with pytest.raises(ValueError, match="code.json: not a saved code .No such file"):
            spec.build_code(50)
        code.save(tmp_path / "code.json")
        assert spec.build_code(50) == code
        assert spec.model_dump() == {"type": "binary", "code": {"file": str(tmp_path / "code.json")}}

    @pytest.mark.parametrize("code", [FrequencyCode(50), RandomCode(50, 3), HuffmanCode(range(50, 0, -1))], ids=repr)
    def test_a_code_is_the_same_as_its_data(self, code):
        given, inline = parse({"type": "binary", "code": code}), parse({"type": "binary", "code": code.to_dict()})
        assert given.build_code(50) is code
        assert inline.build_code(50) == code
        assert given == inline
        assert given.model_dump() == {"type": "binary", "code": code.to_dict()}
        assert parse(json.loads(given.model_dump_json())) == given

    @pytest.mark.parametrize(
        ("spec", "code"),
        [("hybrid-9", FrequencyCode(12)), ("hybrid-9-ec", RandomCode(21)), ("binary-ec", FrequencyCode(20))],
    )
    def test_one_of_another_number_of_words_is_refused(self, spec, code):
        words = 13 if spec.startswith("hybrid") else 21
        with pytest.raises(
            ValueError, match=f"code: expected one of {words} words, got .*={code.vocab_size},.*; make one of this"
        ):
            parse({"type": spec, "code": code}).build_code(21)

    def test_shelves_need_numbers_without_gaps(self):
        words = Vocabulary.from_counts({f"w{rank}": 500 // rank for rank in range(1, 48)})
        for code in ("huffman", HuffmanCode(words.counts), HuffmanCode(words.counts).to_dict()):
            with pytest.raises(
                ValueError, match="^code: shelves need numbers without gaps, got Huffman.*; use clusters"
            ):
                parse({"type": "shelves", "code": code}).build_code(words)
        assert parse({"type": "shelves", "code": "random"}).build_code(words) == RandomCode(50)
        with pytest.raises(ValueError, match="^code: expected one of 50 words"):
            parse({"type": "shelves", "code": RandomCode(49)}).build_code(words)

    def test_by_name_it_is_made_for_the_vocabulary(self):
        words = Vocabulary.from_counts({f"w{rank}": 500 // rank for rank in range(1, 48)})
        assert parse("binary").build_code(50) == FrequencyCode(50)
        assert parse({"type": "binary", "code": "random", "seed": 3}).build_code(words) == RandomCode(50, 3)
        assert parse({"type": "binary", "code": "huffman"}).build_code(words) == HuffmanCode(words.counts)
        assert parse({"type": "hybrid-9", "code": "huffman"}).build_code(words) == HuffmanCode(words.counts[8:])
        assert parse({"type": "hybrid-9", "code": "random"}).build_code(50) == RandomCode(42)

    def test_clusters_are_those_of_the_vocabularys_vectors_or_of_others(self):
        words = Vocabulary.from_counts({f"w{rank}": 500 // rank for rank in range(1, 48)})
        own, others = np.random.default_rng(0).normal(size=(2, 50, 4))
        binary, hybrid = (parse({"type": name, "code": "clusters"}) for name in ("binary", "hybrid-9"))
        assert binary.build_code(50, others) == binary.build_code(words, others) == cluster_code(others)
        assert hybrid.build_code(words, others) == cluster_code(others[8:])
        words.vectors = own
        assert binary.build_code(words) == binary.build_code(words, others) == cluster_code(own)
        assert hybrid.build_code(words) == cluster_code(own[8:])

    def test_clusters_of_nothing(self):
        spec = parse({"type": "binary", "code": "clusters"})
        with pytest.raises(ValueError, match=r"^code: clusters need word vectors; pass .*code=cluster_code\(vectors\)"):
            spec.build_code(50)
        with pytest.raises(ValueError, match="^code: expected word vectors of 50 words, got 49"):
            spec.build_code(50, np.zeros((49, 3)))
        with pytest.raises(ValueError, match="^type: N = 60 does not fit a vocabulary of 50 words"):
            parse({"type": "hybrid-60", "code": "clusters"}).build_code(50)

    def test_brown_is_the_order_of_all_words_or_of_the_rare_ones(self):
        order = np.random.default_rng(0).permutation(50)
        binary, hybrid = (parse({"type": name, "code": "brown"}) for name in ("binary", "hybrid-9"))
        assert binary.build_code(50, order=order) == ordered_code(order)
        assert hybrid.build_code(50, order=order) == ordered_code([word - 8 for word in order if word >= 8])
        with pytest.raises(ValueError, match="^code: brown needs a text; train by a recipe"):
            binary.build_code(50, vectors=np.zeros((50, 2)))
        with pytest.raises(ValueError, match="^code: expected an order of 50 words, got 49"):
            binary.build_code(50, order=order[:-1])

    def test_of_a_softmax_it_is_there_to_propose_words(self):
        assert not parse("softmax").has_code
        assert not parse({"type": "softmax", "loss": "sampled"}).has_code
        spec = parse({"type": "softmax", "loss": "sampled", "proposal": "code", "code": "random", "seed": 3})
        assert spec.has_code
        assert spec.build_code(50) == RandomCode(50, 3)
        assert spec.with_options(code="clusters").stand_in(50).vocab_size == 50

    @pytest.mark.parametrize(
        ("name", "size"), [("binary-ec", 50), ("hybrid-9", 42), ("shelves", 50), ("hierarchical", 50)]
    )
    def test_only_codes_from_a_text_have_a_stand_in(self, name, size):
        for code in ("clusters", "brown"):
            stand_in = parse({"type": name, "code": code}).stand_in(50)
            assert (stand_in.vocab_size, stand_in.num_bits) == (size, 6)
        assert parse({"type": name, "code": "random"}).stand_in(50) is parse("softmax").stand_in(50) is None

    def test_the_papers_numbering_has_a_frequency_code_however_it_is_given(self):
        spec = parse({"type": "hybrid-9-ec", "loss": "trellis", "numbering": "paper"})
        assert spec.build_code(50) == FrequencyCode(50)
        assert spec.with_options(code=FrequencyCode(50)).build_code(50) == FrequencyCode(50)
        with pytest.raises(ValueError, match="numbering: the paper's is for the frequency code"):
            spec.with_options(code=PermutedCode([1, 0]))


class TestMistakes:
    @pytest.mark.parametrize("name", ["soft-max", "Softmax", "softmax-ec", "binary-16", "hybrid", "hybrid-x-ec", "", 3])
    def test_an_unknown_type(self, name):
        with pytest.raises(
            ValueError, match=f"type: expected softmax, binary, .* hybrid-N-ec, shelves.* or [a-z]+, got {name!r}"
        ):
            parse({"type": name})

    @pytest.mark.parametrize("spec", [None, 5, ["binary"], ("binary", {}), b"binary"], ids=str)
    def test_neither_a_name_nor_a_mapping(self, spec):
        with pytest.raises(ValueError, match="spec: expected a name or a mapping, got"):
            parse(spec)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"los": "squared"}, "^los: not an option of hybrid-9-ec; did you mean 'loss'"),
            ({"zzz": 1}, "^zzz: not an option of hybrid-9-ec; known: type, ignore_index, "),
            ({5: 6}, "^5: not an option of hybrid-9-ec"),
            ({"loss": "hinge"}, "^loss: Input should be 'squared', 'cross_entropy' or 'trellis', got 'hinge'"),
            ({"loss": 5}, "^loss: Input should be 'squared', 'cross_entropy' or 'trellis', got 5"),
            ({"decoding": "papr"}, "^decoding: Input should be 'exact' or 'paper', got 'papr'"),
            ({"decoding": None}, "^decoding: Input should be 'exact' or 'paper', got None"),
            ({"code": "gray"}, "^code: expected one of frequency, .*, brown, or {file: …}, got 'gray'"),
            ({"code": 5}, "^code: expected one of frequency, .*, brown, or {file: …}, got 5"),
            ({"code": "a/brown.json"}, "got 'a/brown.json'; did you mean {file: a/brown.json}?"),
            ({"code": {"fil": "x"}}, "^code: expected {file: …}, the path of a code that was saved, got {'fil': 'x'}"),
            ({"code": {"type": "gray"}}, "^code: expected a JSON object with a type among"),
            ({"code": {"file": 5}}, "^code: "),
            ({"code": {"type": "frequency"}}, "^code: the key 'vocab_size' is missing"),
            ({"code": {"type": "permuted", "numbers": [0, 0]}}, "^code: numbers: expected each of 0 … 1 exactly once"),
            ({"generators": "101"}, "^generators: "),
            ({"generators": ["101"]}, "^generators: expected two or more"),
            ({"ignore_index": "x"}, "^ignore_index: "),
            ({"mixtures": True}, "^mixtures: Input should be a valid integer, got True"),
            ({"seed": -1}, "^seed: Input should be greater than or equal to 0, got -1"),
            ({"label_smoothing": 1.0}, "^label_smoothing: Input should be less than 1, got 1.0"),
            ({"bits_weight": float("inf")}, "^bits_weight: Input should be a finite number, got inf"),
            ({"los": "squared", "mixtures": 0}, "mixtures: Input should be greater .*; los: not an option"),
            ({"generators": "complet"}, "^generators: expected a list of generators, .* or complete, got 'complet'"),
            ({"memory": 6}, "^memory: is of a complete trellis; add generators: complete, or leave it out"),
            *(
                ({"generators": "complete", **options}, message)
                for options, message in (
                    ({"memory": 2}, "^memory: Input should be greater than or equal to 3, got 2"),
                    ({"memory": 11}, "^memory: Input should be less than or equal to 10, got 11"),
                    ({"memory": "8"}, "^memory: Input should be a valid integer, got '8'"),
                    ({"memory": True}, "^memory: Input should be a valid integer, got True"),
                    ({"loss": "squared"}, "^loss: a complete trellis needs the loss 'trellis', got 'squared'; leave"),
                    (
                        {"decoding": "paper"},
                        "^decoding: the paper's is not defined for a complete trellis; use 'exact'",
                    ),
                )
            ),
        ],
        ids=str,
    )
    def test_an_option_is_named_with_what_was_expected(self, options, message):
        with pytest.raises(ValueError, match=message) as error:
            parse({"type": "hybrid-9-ec", **options})
        assert "pydantic" not in str(error.value)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"words": 48}, "^words: expected a power of 2, such as 64, got 48"),
            ({"words": 1}, "^words: Input should be greater than or equal to 2, got 1"),
            ({"words": 8192}, "^words: Input should be less than or equal to 4096, got 8192"),
            ({"visit": 0}, "^visit: Input should be greater than or equal to 1, got 0"),
            ({"visit": "8"}, "^visit: Input should be a valid integer, got '8'"),
            ({"memory": None}, "^memory: Input should be a valid integer, got None"),
            ({"memory": 11}, "^memory: Input should be less than or equal to 10, got 11"),
            ({"shelf_weight": -1}, "^shelf_weight: Input should be greater than or equal to 0, got -1"),
            ({"shelf_weight": float("inf")}, "^shelf_weight: Input should be a finite number, got inf"),
            ({"label_smoothing": 1}, "^label_smoothing: Input should be less than 1, got 1"),
            ({"loss": "trellis"}, "^loss: not an option of shelves"),
            ({"shelf_wieght": 1}, "^shelf_wieght: not an option of shelves; did you mean 'shelf_weight'"),
        ],
        ids=str,
    )
    def test_of_shelves_likewise(self, options, message):
        with pytest.raises(ValueError, match=message) as error:
            parse({"type": "shelves", **options})
        assert "pydantic" not in str(error.value)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"loss": "hinge"}, "^loss: Input should be 'full', 'sampled', 'nce' or 'negative', got 'hinge'"),
            ({"samples": 5}, "^samples: is of a loss by drawn words; add loss: sampled, or leave it out"),
            ({"loss": "full", "proposal": "code"}, "^proposal: is of a loss by drawn words; add loss: sampled"),
            ({"loss": "sampled", "samples": 0}, "^samples: Input should be greater than or equal to 1, got 0"),
            ({"loss": "sampled", "samples": "5"}, "^samples: Input should be a valid integer, got '5'"),
            ({"loss": "sampled", "proposal": "zipf"}, "^proposal: Input should be 'log-uniform' or 'code', got 'zipf'"),
            *(
                ({"loss": "nce", **option}, f"^{name}: is of the code that proposes words; add proposal: code")
                for option in ({"memory": 6}, {"code": "clusters"}, {"seed": 1})
                for name in option
            ),
            ({"loss": "nce", "proposal": "code", "memory": 2}, "^memory: Input should be greater than or equal to 3"),
            (
                {"loss": "negative", "proposal": "code"},
                "^proposal: negative sampling .*; use log-uniform, or",
            ),
            (
                {"loss": "sampled", "label_smoothing": 0.1},
                "^label_smoothing: the mean over all words would .*; set it to 0, or loss to full",
            ),
            ({"loss": "sampled", "sample": 5}, "^sample: not an option of softmax; did you mean 'samples'"),
        ],
        ids=str,
    )
    def test_of_a_softmax_likewise(self, options, message):
        with pytest.raises(ValueError, match=message) as error:
            parse({"type": "softmax", **options})
        assert "pydantic" not in str(error.value)

    @pytest.mark.parametrize("name", ["binary-ec", "hybrid-9", "shelves", "hierarchical", "adaptive"])
    @pytest.mark.parametrize("option", ["samples", "proposal"])
    def test_only_a_softmax_is_trained_by_drawn_words(self, name, option):
        with pytest.raises(ValueError, match=f"^{option}: not an option of {name}"):
            parse({"type": name, option: 5})

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (
                {"type": "hierarchical", "label_smoothing": 0.1},
                "^label_smoothing: the mean over all words would read all nodes of the tree; set it to 0",
            ),
            (
                {"type": "adaptive", "label_smoothing": 0.1},
                "^label_smoothing: the mean over all words would enter all tails; set it to 0",
            ),
            *(
                ({"type": "adaptive", "cutoffs": cutoffs}, "^cutoffs: .*expected rising whole numbers of at least 1")
                for cutoffs in ([], [0, 5], [5, 5], [9, 5], [1.5], 7, "7", [True])
            ),
            ({"type": "adaptive", "div_value": 1}, "^div_value: Input should be greater than 1, got 1"),
            *(
                ({"type": "differentiated", "units": units}, "^units: .*expected whole numbers of at least 1")
                for units in ([], [0, 5], [1.5], 7, [True, 3])
            ),
            ({"type": "hierarchical", "loss": "trellis"}, "^loss: not an option of hierarchical"),
            *(
                ({"type": "free", "bits": bits}, f"^bits: expected a multiple of 8, such as 64, got {bits}")
                for bits in (9, 63, 255)
            ),
            ({"type": "free", "bits": 0}, "^bits: Input should be greater than or equal to 8, got 0"),
            ({"type": "free", "bits": 264}, "^bits: Input should be less than or equal to 256, got 264"),
            ({"type": "free", "bits": 64.0}, "^bits: Input should be a valid integer, got 64.0"),
            ({"type": "free", "loss": "trellis"}, "^loss: Input should be 'full' or 'sampled', got 'trellis'"),
            ({"type": "free", "samples": 9}, "^samples: is of a loss by drawn words; add loss: sampled, or leave it"),
            ({"type": "free", "loss": "sampled", "samples": 0}, "^samples: Input should be greater than or equal to 1"),
            (
                {"type": "free", "loss": "sampled", "label_smoothing": 0.1},
                "^label_smoothing: the mean over all words would take the scores of all; set it to 0, or loss to full",
            ),
            ({"type": "free", "code": "random"}, "^code: not an option of free"),
            (
                {"type": "hierarchical", "code": "gray"},
                "^code: .*expected one of frequency, random, huffman, clusters",
            ),
        ],
        ids=str,
    )
    def test_of_rivals_likewise(self, options, message):
        with pytest.raises(ValueError, match=message) as error:
            parse(options)
        assert "pydantic" not in str(error.value)


@pytest.mark.parametrize(
    "statement",
    [
        "from trellex.heads import HeadSpec; print(HeadSpec.parse('hybrid-9-ec').label)",
        "from trellex.heads.spec import HeadSpec; print(HeadSpec.parse({'type': 'hybrid-9-ec'}).label)",
        "from trellex.heads.code_distribution import CodeDistribution; print('hybrid-9-ec (exact decoding)')",
    ],
)
def test_it_needs_no_torch(statement):
    script = f"import sys; sys.modules['torch'] = None; {statement}; assert 'numba' not in sys.modules"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "hybrid-9-ec (exact decoding)\n"


def test_the_package_gives_the_rest_when_it_is_asked_for():
    import trellex.heads
    from trellex.heads.build import build_head
    from trellex.heads.head import Cost, Head

    assert (trellex.heads.build_head, trellex.heads.Cost, trellex.heads.Head) == (build_head, Cost, Head)
    with pytest.raises(AttributeError, match="module 'trellex.heads' has no attribute 'Heads'"):
        trellex.heads.Heads  # noqa: B018


def test_a_number_beyond_all_measure():
    with pytest.raises(ValueError, match=r"^type: expected softmax, .*, got 'hybrid-9+\.\.\.9+'"):
        HeadSpec.parse("hybrid-" + "9" * 5000)


def test_a_label_without_a_loss():
    assert HeadSpec.parse({"type": "binary", "loss": None, "mixtures": 2}).label == "binary (mixtures 2)"
