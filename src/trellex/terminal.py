"""The terminal: how commands get options, print results and errors, and how they end."""

from __future__ import annotations

import inspect
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar

import typer
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from trellex.ending import Ending
from trellex.files import FullDiskError, denied, is_full_disk
from trellex.memory import is_out_of_memory
from trellex.records import problems
from trellex.streams import STDERR, take_streams

Command = TypeVar("Command", bound=Callable[..., None])

MODEL_HELP = "An exported model, a run or a checkpoint; or en-ja or ja-en, which come with Trellex."
Model = Annotated[Path, typer.Argument(help=MODEL_HELP)]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Verify = Annotated[bool, typer.Option(help="Compare the model's files with their checksums before they are used.")]
SpellUnknown = Annotated[
    bool,
    typer.Option(
        "--spell-unknown", help="Read unknown source words by codes of words spelt like them (composed vectors)."
    ),
]
SPELLS_NOTHING = (
    "--spell-unknown changes nothing here: source words have no codes that those written alike share; "
    "they have with model.embeddings {type: composed, code: clusters}"
)

EXTRAS = {  # those that bring the modules which the base install has not
    **dict.fromkeys(("torch", "safetensors", "onnx"), "train"),
    **dict.fromkeys(("fugashi", "ipadic"), "ja"),
    **dict.fromkeys(("fastapi", "uvicorn", "prometheus_client", "python_multipart"), "serve"),
    "matplotlib": "report",
    "sentencepiece": "pieces",
    "pyarrow": "parquet",
    "ray": "ray",
    "tensorboard": "tensorboard",
}

EXPLAINED = (ValueError, OSError, ImportError, FloatingPointError, MemoryError, RecursionError)
LESS_MEMORY = (
    "give translate and score a smaller --batch-tokens or --beam, "
    "and train with a smaller training.batch_sentences, training.batch_tokens or model.hidden_size"
)

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but the tab and the end of a line

stderr = Console(stderr=True)


def run(app: typer.Typer) -> NoReturn:
    """Run the command line, and end: nothing that it printed is lost without an error, be it help."""
    take_streams()
    try:
        with _explained():
            app(prog_name="trellex")
    except BrokenPipeError:
        _drop_unwritten()
        sys.exit(1)
    except typer.Exit as ended:
        sys.exit(ended.exit_code)
    sys.exit(0)


@contextmanager
def errors_explained() -> Iterator[None]:
    """Turn errors that tell the user what to do into a line on stderr and exit status 1."""
    with _explained(), Ending():
        yield


@contextmanager
def _explained() -> Iterator[None]:
    try:
        try:
            yield
        except (SystemExit, typer.Exit):
            sys.stdout.flush()
            raise
        sys.stdout.flush()
    except BrokenPipeError:
        raise  # the reader has left, as `head` does: the end is quiet
    except Exception as error:
        if not isinstance(error, EXPLAINED) and not is_out_of_memory(error):
            raise
        complain(_told(error))
        _drop_unwritten()
        raise typer.Exit(1) from error


def _told(error: Exception) -> str:
    """What is wrong and what to do, in a line."""
    if is_out_of_memory(error):
        detail = str(error).strip().partition("\n")[0]
        return f"too little memory ({detail or type(error).__name__}); {LESS_MEMORY}"
    if isinstance(error, RecursionError):
        return f"something is nested too deeply to be read ({error}); look at the JSON or YAML files that were given"
    if isinstance(error, ValidationError):
        return "; ".join(problems(error))
    if isinstance(error, ModuleNotFoundError):
        extra = EXTRAS.get((error.name or "").partition(".")[0])
        return f"{error}; pip install '{f'trellex[{extra}]' if extra else 'trellex'}' brings it"
    if isinstance(error, PermissionError) and error.filename is not None:
        return str(denied(error.filename))
    if isinstance(error, OSError) and is_full_disk(error) and not isinstance(error, FullDiskError):
        return str(FullDiskError("stdout"))  # all files are named where they are written
    return str(error)


def _drop_unwritten() -> None:
    """Forget what stdout could not take, for at its end Python would try, and complain, once more."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def tell(message: str) -> None:
    """A line on stderr, as it is."""
    stderr.print(message, markup=False, highlight=False, soft_wrap=True)


def complain(message: str) -> None:
    message = _CONTROL.sub(lambda found: repr(found[0])[1:-1], message)  # so that no name of a file drives it
    try:
        stderr.print(f"[bold red]error:[/] {escape(message)}", highlight=False, soft_wrap=True)
    except MemoryError:  # for rich imports what it needs only now
        os.write(STDERR, f"error: {message}\n".encode())


def warn(message: str) -> None:
    stderr.print(f"[bold yellow]warning:[/] {escape(message)}", highlight=False, soft_wrap=True)


def show(result: dict[str, Any], as_json: bool) -> None:
    """Print a result for people or for programs."""
    if as_json:
        print(json.dumps(result, ensure_ascii=False))
        return
    table = Table("", "", show_header=False, box=None)
    table.columns[1].overflow = "fold"
    for key, value in result.items():
        table.add_row(key, f"{value:,}" if isinstance(value, int) else escape(str(value)))
    Console().print(table)


def with_options_of(settings: type[BaseModel]) -> Callable[[Command], Command]:
    """Give a command an option for every field, with its name, type, default and description, required ones first.

    The command takes their values as `**options`, None if one is not given and its default depends on others. In its
    help they stand before its own options.
    """

    def add_options(command: Command) -> Command:
        own = inspect.signature(command, eval_str=True).parameters.values()
        options = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=_option(name, field), annotation=field.annotation)
            for name, field in sorted(settings.model_fields.items(), key=lambda item: not item[1].is_required())
        ]
        arguments = [parameter for parameter in own if parameter.kind is Parameter.POSITIONAL_OR_KEYWORD]
        others = [parameter for parameter in own if parameter.kind is Parameter.KEYWORD_ONLY]
        command.__signature__ = inspect.Signature([*arguments, *options, *others])  # type: ignore[attr-defined]
        return command

    return add_options


def _option(name: str, field: FieldInfo) -> Any:
    text = field.description or ""
    default = ... if field.is_required() else None if field.default_factory else field.default
    names = [f"--{name.replace('_', '-')}"] if default is False else []  # which has no use for --no-…
    return typer.Option(default, *names, help=f"{text[:1].upper()}{text[1:]}.")


def examples(*commands: str) -> Callable[[Command], Command]:
    """Give a command examples, which stand at the end of its help."""

    def add_examples(command: Command) -> Command:
        command.examples = commands  # type: ignore[attr-defined]
        return command

    return add_examples


def examples_of(command: Callable[..., None]) -> str:
    return "\n\n".join(f"Example: {example}" for example in getattr(command, "examples", ()))
