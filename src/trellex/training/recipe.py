"""Recipes: what a training run is, in YAML that is checked before anything starts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from trellex.heads.coded_spec import CodedSpec
from trellex.heads.spec import AnyHeadSpec, HeadSpec
from trellex.kinds import check_kind
from trellex.nmt.settings import ModelSettings
from trellex.records import Record, read_bounded
from trellex.training.changes import apply_changes
from trellex.training.yaml_data import MAX_BYTES, parse_yaml

PLACES = [Path(__file__).parents[up] / "recipes" for up in (1, 3)]  # in a wheel, and in a clone
PACKAGED = next((place for place in PLACES if place.is_dir()), PLACES[0])  # recipes that came with Trellex
USUAL_HEAD = HeadSpec.parse({"type": "shelves", "label_smoothing": 0.1})


class TrainingSettings(Record):
    """How to train. The defaults are the paper's, as far as it tells."""

    seed: int = Field(1, ge=0, description="everything random follows from this number")
    batch_sentences: int | None = Field(64, ge=1, description="sentences in a batch; or null and batch_tokens")
    batch_tokens: int | None = Field(None, ge=1, description="padded tokens a side in a batch, instead of sentences")
    learning_rate: float = Field(
        0.001, gt=0, allow_inf_nan=False, description="Adam's α; β1 = 0.9, β2 = 0.999, ε = 1e-8"
    )
    warmup_steps: int = Field(0, ge=0, description="steps over which the learning rate rises from 0")
    schedule: Literal["halving", "inverse_sqrt", "plateau"] = Field(
        "halving", description="of the learning rate after warmup: halving, inverse_sqrt or plateau"
    )
    decay_steps: int | None = Field(
        None, ge=1, description="for halving: halve the learning rate every so many steps; null: never"
    )
    decay_patience: int | None = Field(
        None, ge=1, description="for plateau: halve it after so many evaluations without a better dev BLEU"
    )
    renumber_every: int | None = Field(
        None, ge=1, description="batches between exchanges of words' numbers, for codes; null: never"
    )
    clip_norm: float = Field(5.0, gt=0, description="gradients longer than this are shortened to it")
    max_steps: int = Field(100_000, ge=1, description="batches to train on at most")
    validate_every: int = Field(1000, ge=1, description="batches between evaluations on dev and test")
    patience: int | None = Field(None, ge=1, description="stop after so many evaluations without a better dev BLEU")
    save_every: int = Field(1000, ge=1, description="batches between checkpoints")
    keep_checkpoints: int = Field(2, ge=1, description="how many of the newest to keep; the best are kept besides")
    keep_best: int = Field(1, ge=1, description="how many of the best on dev to keep; as many as average at least")
    average: int | None = Field(None, ge=2, description="average so many of the best on dev in the end; null: do not")
    precision: Literal["float32", "bfloat16"] = Field("float32", description="bfloat16 is for GPUs only")
    device: Literal["auto", "cpu", "cuda"] = Field("auto", description="auto: a GPU if there is one")
    threads: int | None = Field(None, ge=1, description="CPU threads; null: as many as PyTorch likes")
    tensorboard: bool = Field(False, description="write curves for TensorBoard, too, into the output folder")

    @model_validator(mode="after")
    def _one_batch_size(self) -> TrainingSettings:
        if (self.batch_sentences is None) == (self.batch_tokens is None):
            raise ValueError("give one of batch_sentences and batch_tokens, and null for the other")
        return self

    @model_validator(mode="after")
    def _schedule_has_its_keys(self) -> TrainingSettings:
        if self.decay_steps is not None and self.schedule != "halving":
            raise ValueError(f"decay_steps is for the schedule halving, not for {self.schedule}; make it null")
        if self.decay_patience is not None and self.schedule != "plateau":
            raise ValueError(f"decay_patience is for the schedule plateau, not for {self.schedule}; make it null")
        if self.schedule == "plateau" and self.decay_patience is None:
            raise ValueError("the schedule plateau needs decay_patience, such as 3")
        if self.schedule == "inverse_sqrt" and not self.warmup_steps:
            raise ValueError("the schedule inverse_sqrt needs warmup_steps of 1 or more, such as 1000")
        if self.decay_patience and self.patience and self.patience <= self.decay_patience:
            raise ValueError("patience must be more than decay_patience, or training ends before the rate is halved")
        return self

    @model_validator(mode="after")
    def _averages_have_one_code(self) -> TrainingSettings:
        if self.renumber_every and self.average:
            raise ValueError("average: checkpoints with other numbers have no mean; make it, or renumber_every, null")
        return self

    @property
    def best_to_keep(self) -> int:
        """How many of the best checkpoints are needed."""
        return max(self.keep_best, self.average or 1)


class Recipe(Record):
    """A training run: the data, the network, the output layer and how to train."""

    data: Path = Field(description="a folder made by `trellex prepare`")
    output: Path = Field(description="the folder for checkpoints and metrics")
    head: AnyHeadSpec = Field(USUAL_HEAD, description="the output layer: a name, or a mapping with options")
    model: ModelSettings = Field(ModelSettings(), description="the sizes of the network")
    training: TrainingSettings = Field(TrainingSettings(), description="how to train")

    @field_validator("model", "training", mode="before")
    @classmethod
    def _nothing_written_is_all_defaults(cls, section: Any) -> Any:
        return {} if section is None else section

    @model_validator(mode="after")
    def _words_have_numbers(self) -> Recipe:
        if self.training.renumber_every and not (isinstance(self.head, CodedSpec) and self.head.can_renumber):
            raise ValueError(
                f"training.renumber_every: words of {self.head.label} have no numbers to exchange; make it null, or "
                "choose codes with loss: trellis and one set of bits"
            )
        return self

    def identity(self) -> dict[str, Any]:
        """What a run cannot change on its way, by name. All else may be another when it goes on."""
        return {
            **self.model_dump(mode="json", include={"model", "head"}),
            **self.training.model_dump(include={"seed", "batch_sentences", "batch_tokens"}),
        }


def load_recipe(
    path: Path,
    changes: Mapping[str, Any] | None = None,
    *,
    head: str | None = None,
    output: Path | None = None,
    seed: int | None = None,
    max_steps: int | None = None,
) -> Recipe:
    """Read a recipe, with some of its keys replaced. Its folders are relative to where the command runs.

    Args:
        path: the file
        changes: values by key, such as {"training.learning_rate": 0.002, "head.loss": "trellis"}
        head: like the others that follow, one of the changes by a shorter name; a name, or a mapping in YAML, such as
            {type: binary-ec, loss: trellis}
        output: the folder for checkpoints and metrics
        seed: that of training
        max_steps: that of training
    """
    head_value = None if head is None else parse_head(head)
    named = {"head": head_value, "output": output, "training.seed": seed, "training.max_steps": max_steps}
    named = {key: value for key, value in named.items() if value is not None}
    for key in named.keys() & (changes or {}).keys():
        raise ValueError(f"{key}: was set twice; give one value")
    data = read_yaml(path, "recipe")
    apply_changes(data, named | dict(changes or {}), Recipe)
    return Recipe.checked(data, path)


def read_yaml(path: Path, kind: str) -> dict[str, Any]:
    """The keys and values of a file. kind: what it is, such as recipe

    Raises ValueError that names the file if it has none, or too many. Where there is no file recipes/NAME, the
    one of that name that came with Trellex is read.
    """
    packaged = PACKAGED.joinpath(*path.parts[1:])
    file = packaged if path.parts[:1] == ("recipes",) and not path.exists() else path
    check_kind(file, f"a {kind}")
    if not file.is_file():
        inside = [path / found.name for found in sorted(file.glob("*.yaml"))]
        remedy = f"; it is a folder: give a file, such as {inside[0]}" if inside else ""
        raise FileNotFoundError(f"{path}: there is no such {kind}{remedy}")
    try:
        data = parse_yaml(read_bounded(file, MAX_BYTES).decode("utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: not valid YAML: {error}") from error
    if not isinstance(data, dict):
        raise ValueError(f"{path}: expected keys and values, got {type(data).__name__}")
    return data


def parse_head(text: str) -> str | dict[str, Any]:
    """What a recipe may have as its head, from a command line: a name, or a mapping in YAML."""
    try:
        head = parse_yaml(text)
    except ValueError:
        head = None
    if not isinstance(head, str | dict):
        raise ValueError(
            f"head: expected a name or a mapping, such as {{type: binary-ec, loss: trellis}}, got {text!r}"
        )
    return head
