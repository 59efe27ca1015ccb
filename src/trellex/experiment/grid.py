"""Grids: which output layers are trained on which corpora with which seeds, in YAML that is checked beforehand."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import torch
from pydantic import Field

from trellex.checksums import sha256
from trellex.evaluation.result import Cell
from trellex.experiment.job import ENGINES, Engine, Job
from trellex.heads.coded_spec import CodedSpec
from trellex.heads.softmax_spec import SoftmaxSpec
from trellex.heads.spec import AnyHeadSpec
from trellex.nmt.build import build_model
from trellex.nmt.settings import ModelSettings
from trellex.nmt.word_codes import WordCodes
from trellex.records import Record
from trellex.text.corpus import Corpus
from trellex.training.recipe import Recipe, TrainingSettings, load_recipe, read_yaml

Seed = Annotated[int, Field(ge=0)]


class Block(Record):
    """Every output layer with every seed on every prepared folder."""

    corpus: str = Field(min_length=1, description="the corpus as tables call it")
    stands_for: str | None = Field(None, description="the paper's corpus whose place it takes")
    recipe: Path = Field(description="how to train; its data, output, head and seed are replaced")
    data: list[Path] = Field(min_length=1, description="folders made by `trellex prepare`, one a direction")
    heads: list[AnyHeadSpec] = Field(min_length=1, description="output layers, as in recipes")
    seeds: list[Seed] = Field([1], min_length=1, description="a training each")
    model: dict[str, Any] = Field({}, description="settings in place of the recipe's, such as embeddings")
    training: dict[str, Any] = Field({}, description="settings in place of the recipe's, such as max_steps")
    variant: str | None = Field(None, min_length=1, description="what tables add to the names of methods")
    shortlist: bool = Field(False, strict=True, description="softmax heads also translate with a shortlist")

    def load_recipe(self, where: str = "grid") -> Recipe:
        """The recipe with the block's settings. Raises ValueError that begins with where if those are no settings."""
        recipe = load_recipe(self.recipe)
        model = ModelSettings.checked(recipe.model.model_dump() | self.model, f"{where}.model")
        training = TrainingSettings.checked(recipe.training.model_dump() | self.training, f"{where}.training")
        return recipe.model_copy(update={"model": model, "training": training})


class Grid(Record):
    """The trainings of an experiment and where their files go. Folders are relative to where the command runs."""

    runs: Path = Field(description="the folder for checkpoints and logs")
    results: Path = Field(description="the folder for results, a file a cell")
    at_once: int = Field(1, ge=1, description="trainings side by side")
    timed: list[Engine] = Field(list(ENGINES), description="what translates when all are timed in turns")
    grid: list[Block] = Field(min_length=1, description="the cells, block by block")

    @classmethod
    def load(cls, path: Path) -> Grid:
        """Raises ValueError that names the file and the key if it is no grid."""
        return cls.checked(read_yaml(path, "grid"), path)

    def jobs(self) -> list[Job]:
        """All cells in the order of the grid. Raises ValueError if any of them could not be trained on any machine."""
        jobs: dict[str, Job] = {}
        for job in (job for place, block in enumerate(self.grid) for job in self._jobs_of(block, f"grid.{place}")):
            twin = jobs.setdefault(job.name, job)
            if twin is not job:
                raise ValueError(
                    f"grid: two cells are called {job.name}: {_describe(twin)} and {_describe(job)}; "
                    "give one of them another variant, or leave it out"
                )
        return list(jobs.values())

    def _jobs_of(self, block: Block, where: str) -> Iterator[Job]:
        recipe = block.load_recipe(where)
        if recipe.training.validate_every > recipe.training.max_steps:
            raise ValueError(
                f"{block.recipe}: training.validate_every: is more than max_steps, so nothing is evaluated"
            )
        if recipe.training.average:
            raise ValueError(f"{block.recipe}: training.average: results are those of single checkpoints; leave it out")
        if block.shortlist and not any(isinstance(head, SoftmaxSpec) for head in block.heads):
            raise ValueError(f"{where}.shortlist: lists are for softmax, which is not among the heads; leave it out")
        for data in block.data:
            corpus = Corpus.open(data)
            text = corpus.manifest.settings
            if "test" not in text.splits():
                raise ValueError(f"{data}: has no test split to score; prepare it with --test-source and --test-target")
            for place, head in enumerate(block.heads):
                data_of_head = recipe.model_dump() | {"head": head.model_dump()}
                self._check(Recipe.checked(data_of_head, f"{where}.heads.{place}"), corpus, f"{where}.heads.{place}")
            for head, seed in product(block.heads, block.seeds):
                cell = Cell(
                    corpus=block.corpus,
                    stands_for=block.stands_for,
                    source_language=text.source_language,
                    target_language=text.target_language,
                    head=head,
                    seed=seed,
                    cut=text.cut(),
                    variant=block.variant,
                )
                training = recipe.training.model_copy(update={"seed": seed})
                places = {"data": data, "output": self.runs / cell.name, "head": head, "training": training}
                yield Job(
                    cell=cell,
                    recipe=recipe.model_copy(update=places),
                    result_file=self.results / f"{cell.name}.json",
                    corpus=corpus.manifest.fingerprint(),
                    code=sha256(head.code) if isinstance(head, CodedSpec) and isinstance(head.code, Path) else None,
                    shortlist=block.shortlist and isinstance(head, SoftmaxSpec),
                    timed=self.timed,
                )

    @staticmethod
    def _check(recipe: Recipe, corpus: Corpus, where: str) -> None:
        """Build the model without weights or a code from its text, which finds mistakes in the output layer."""
        source, target = len(corpus.source_vocabulary), corpus.target_vocabulary
        codes = WordCodes.stand_in(source, len(target)) if recipe.model.embeddings.is_composed else None
        try:
            with torch.device("meta"):
                build_model(recipe.model, recipe.head, source, target, recipe.head.stand_in(target), word_codes=codes)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from error


def _describe(job: Job) -> str:
    return f"{job.cell.head.model_dump()} on {job.recipe.data} with seed {job.cell.seed}"
