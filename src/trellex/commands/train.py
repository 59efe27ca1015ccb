"""Train a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trellex.terminal import Json, errors_explained, examples, show, tell


@examples(
    "trellex train recipes/phrasebook.yaml --head binary-ec --output runs/binary-ec",
    "trellex train recipes/phrasebook.yaml --set training.learning_rate=0.002 --set model.hidden_size=256",
)
def train(
    recipe: Annotated[Path, typer.Argument(help="A YAML file; see the recipes folder.")],
    head: Annotated[
        str | None, typer.Option(help="Another output layer than the recipe's: a name, or '{type: …}'.")
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Another output folder than the recipe's.")] = None,
    seed: Annotated[int | None, typer.Option(help="Another seed than the recipe's.")] = None,
    max_steps: Annotated[int | None, typer.Option(help="Another number of batches than the recipe's.")] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Another value of any key, such as head.loss=trellis; repeat it."
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option(help="Show no progress.")] = False,
    as_json: Json = False,
) -> None:
    """Train a model. Interrupted runs go on where they were when the same command is given again."""
    with errors_explained():
        from trellex.evaluation.curve import averaged_test_bleu, best_evaluation
        from trellex.files import check_writable
        from trellex.training.changes import parse_changes
        from trellex.training.checkpoint import model_folder
        from trellex.training.display import Display
        from trellex.training.processes import is_first_process
        from trellex.training.recipe import load_recipe
        from trellex.training.trainer import Trainer

        others = parse_changes(changes or ())
        settings = load_recipe(recipe, others, head=head, output=output, seed=seed, max_steps=max_steps)
        if is_first_process():
            check_writable(settings.output)
        trainer = Trainer(settings, Display(settings.head.type, quiet or not is_first_process()))
        evaluations = trainer.run()
        if not trainer.processes.is_first:
            return
        if trainer.was_interrupted:
            tell(f"stopped at step {trainer.step:,}; the same command goes on from there")
        result: dict[str, Any] = {"output": str(settings.output), "step": trainer.step}
        if evaluations:
            best = best_evaluation(evaluations)
            result |= {"best step": best.step, "dev BLEU": round(best.dev, 2)}
            if best.test is not None:
                result |= {"test BLEU": round(best.test, 2), "test BLEU is": "best checkpoint"}
            if (mean := averaged_test_bleu(evaluations)) is not None:
                result["test BLEU, mean of 5"] = round(mean, 2)
        if trainer.average is not None:
            result |= trainer.average.summary(evaluations)
            result["stands for the run"] = str(model_folder(settings.output))
        show(result, as_json)
        if trainer.was_interrupted:
            raise typer.Exit(130)
