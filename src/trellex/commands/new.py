"""Begin with a corpus of one's own: prepare it, and write a recipe that suits it and this machine."""

from __future__ import annotations

from pathlib import Path
from shlex import join
from textwrap import indent
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import BaseModel, Field, create_model

from trellex.commands.prepare import BothTokenizers, prepare_and_tell
from trellex.terminal import Json, errors_explained, examples, show, stderr, tell, with_options_of
from trellex.text.languages import language_of_name
from trellex.text.manifest import SIDES, Manifest, PrepareSettings

if TYPE_CHECKING:
    from trellex.heads.spec import HeadSpec
    from trellex.training.advice import Choice
    from trellex.training.recipe import Recipe

CPU_MINUTES = 60.0
WIDTH = 110  # of commands in comments
FILES = [f"{split}_{side}" for split in ("train", "dev", "test") for side in SIDES]


def _text_options() -> type[BaseModel]:
    """The settings of `prepare` without the files, and with languages that need not be given."""
    fields: dict[str, Any] = {
        name: (field.annotation, field) for name, field in PrepareSettings.model_fields.items() if name not in FILES
    }
    for name in (f"{side}_language" for side in SIDES):
        described = f"{PrepareSettings.model_fields[name].description}; follows from the names of the files"
        fields[name] = (str | None, Field(None, description=described))
    return create_model("TextOptions", **fields)


Pair = tuple[Path, Path]


@examples(
    "trellex new captions --train train.en train.de --dev dev.en dev.de --test test.en test.de --minutes 30",
    "trellex new talks --train train.src train.tgt --dev dev.src dev.tgt --source-language en --target-language ja",
)
@with_options_of(_text_options())
def new(
    folder: Annotated[Path, typer.Argument(help="Where to put the corpus, the recipe and, later, the model.")],
    train: Annotated[
        Pair, typer.Option(metavar="SOURCE TARGET", help="Text to train on and its translation, line by line.")
    ],
    dev: Annotated[Pair, typer.Option(metavar="SOURCE TARGET", help="Text to validate training on.")],
    test: Annotated[
        Pair | None, typer.Option(metavar="SOURCE TARGET", help="Text to test the finished model on.")
    ] = None,
    *,
    tokenizer: BothTokenizers = None,
    head: Annotated[
        str | None, typer.Option(help="The output layer: a name, or '{type: …}'; by the target words unless given.")
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(min=1, help=f"How long training may take; {CPU_MINUTES:.0f} on a CPU unless given."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a recipe that is there.")] = False,
    as_json: Json = False,
    **options: Any,
) -> None:
    """Begin with text of your own: prepare it, and write a recipe that suits it and this machine.

    Makes FOLDER/data, as `trellex prepare` does, times some steps of training,
    and writes FOLDER/recipe.yaml, in which every key has a comment. Read it,
    change what you like, and train.
    """
    with errors_explained():
        from trellex.files import atomic_writer
        from trellex.heads.spec import HeadSpec
        from trellex.training.recipe import parse_head
        from trellex.training.recipe_text import recipe_text

        recipe_file, data = folder / "recipe.yaml", folder / "data"
        if folder.exists() and not folder.is_dir():
            raise NotADirectoryError(f"{folder}: is no folder; choose another name")
        if recipe_file.exists() and not force:
            raise FileExistsError(f"{recipe_file}: is there already; choose another folder, or replace it with --force")
        spec = None if head is None else HeadSpec.parse(parse_head(head))
        pairs = [train, dev] if test is None else [train, dev, test]
        options |= _languages(pairs, options)
        files = dict(zip(FILES, (path for pair in pairs for path in pair), strict=False))
        facts = prepare_and_tell(data, tokenizer, options | files, as_json)
        choice, machine = _choose(folder, spec, minutes)
        takes = f"{_epochs(choice)}, {machine}"
        with atomic_writer(recipe_file) as file:
            file.write(recipe_text(choice.recipe, _introduction(choice.recipe, takes, folder)))
        recipe = choice.recipe
        result: dict[str, Any] = {"recipe": str(recipe_file), "head": recipe.head.as_text()}
        result |= {"size": recipe.model.hidden_size, "steps": recipe.training.max_steps, "training takes": takes}
        following = _next_commands(Manifest.load(data).settings, folder)
        if as_json:
            show(result | {"next": following, "corpus": facts}, as_json)
            return
        show(result, as_json)
        print("\nNext:", *following, sep="\n  ")


def _languages(pairs: list[Pair], given: dict[str, Any]) -> dict[str, str]:
    """The languages that were given, else those in the names of the files, which must agree."""
    languages = {}
    for name, paths in zip((f"{side}_language" for side in SIDES), zip(*pairs, strict=True), strict=True):
        option = "--" + name.replace("_", "-")
        found = {path: language_of_name(path) for path in paths}
        if given[name] is None and None in found.values():
            path = next(path for path in paths if found[path] is None)
            raise ValueError(f"{path}: the name does not end with a language, as in train.en; give {option}")
        if given[name] is None and len(set(found.values())) > 1:
            raise ValueError(f"{', '.join(map(str, paths))}: are of different languages; change them, or give {option}")
        languages[name] = given[name] or str(found[paths[0]])
    return languages


def _choose(folder: Path, head: HeadSpec | None, minutes: float | None) -> tuple[Choice, str]:
    """A recipe, and how long it takes on this machine, in words; tells what was tried."""
    from trellex.training.advice import Advisor

    data, run = folder / "data", folder / "run"
    try:
        from trellex.training import pace
    except ModuleNotFoundError as error:
        tell(f"{error}: training was not timed, and the recipe suits the corpus alone. To train, install Trellex by")
        tell("  pip install 'trellex[train]'")
        return Advisor(data, run, head).untimed(), "not timed"
    on_gpu = pace.has_gpu()
    limit = minutes if minutes or on_gpu else CPU_MINUTES

    def tell_tried(tried: Choice) -> None:
        comparison = f", more than {limit:g} minutes" if tried.exceeds(limit) else ""
        tell(f"size {tried.recipe.model.hidden_size}: {_epochs(tried)} take {_duration(tried)}{comparison}")

    with stderr.status("timing some steps of training"):
        choice = Advisor(data, run, head, on_gpu).choose(pace.seconds_of_token, limit, tell_tried)
    if choice.exceeds(limit):
        tell(f"even the smallest size takes more than {limit:g} minutes: take the time, or train on less text")
    elif pace.is_busy():
        tell("other programs keep this machine busy: without them training is faster, and a larger size may do")
    return choice, f"about {_duration(choice)} on this machine ({pace.machine()})"


def _epochs(choice: Choice) -> str:
    return f"{choice.epochs:,.{0 if choice.epochs >= 10 else 1}f} epochs"


def _duration(choice: Choice) -> str:
    seconds = choice.seconds or 0.0
    if seconds < 90:
        return f"{max(seconds, 1):.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 3 * 3600 else f"{seconds / 3600:.0f} hours"


def _introduction(recipe: Recipe, takes: str, folder: Path) -> str:
    """What stands above a recipe: the commands before and after it, and why it is as it is."""
    from trellex.training.advice import head_reason

    facts = Manifest.load(recipe.data)
    settings, train, words = facts.settings, facts.splits["train"], facts.target_vocabulary
    unit = "pieces" if settings.has_pieces("target") else "words"
    prepared = _wrapped(["trellex prepare", join([str(recipe.data)]), *_options(settings)])
    following = "\n".join(_next_commands(settings, folder))
    return f"""\
From {settings.source_language} to {settings.target_language}: {train.pairs:,} pairs to train on with \
{train.target.tokens:,} target tokens, {words:,} target {unit}. Prepared by

{indent(prepared, "  ")}

What follows; training takes {takes}:

{indent(following, "  ")}

head: {head_reason(recipe.head, words, unit)}

Sizes suit the target tokens and the time there is. If dev BLEU falls while the loss still does, raise dropout; if both
still get better at the end, raise max_steps and decay_steps."""


def _options(settings: PrepareSettings) -> list[str]:
    """The options of `trellex prepare` for these settings, but for those that have their default."""
    options = []
    for name, field in PrepareSettings.model_fields.items():
        value, option = getattr(settings, name), name.replace("_", "-")
        if value != field.default:
            is_flag = isinstance(value, bool)
            options.append(f"--{'' if value else 'no-'}{option}" if is_flag else f"--{option} {join([str(value)])}")
    return options


def _wrapped(parts: list[str]) -> str:
    """A command in lines that a shell joins again."""
    lines = [parts[0]]
    for part in parts[1:]:
        if len(lines[-1]) + len(part) < WIDTH:
            lines[-1] += f" {part}"
        else:
            lines.append(f"  {part}")
    return " \\\n".join(lines)


def _next_commands(settings: PrepareSettings, folder: Path) -> list[str]:
    text, run, exported = settings.test_source or settings.dev_source, folder / "run", folder / "int8"
    commands: list[list[Any]] = [
        ["train", folder / "recipe.yaml"],
        ["translate", run, text, "--beam", 5, "--replace-unknown"],
        ["export", run, exported],
        ["translate", exported, text, "--beam", 5, "--replace-unknown"],
    ]
    return [join(["trellex", *map(str, command)]) for command in commands]
