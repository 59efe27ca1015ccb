"""The training of a piece model, in a process of its own: a signal can end it, and what it prints is nobody's."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from subprocess import PIPE

from trellex.text.languages import UNSPACED
from trellex.text.pieces import check_installed

THREADS = 4  # the model depends on their number
COVERAGE, COVERAGE_OF_MANY = 0.9999, 0.9995  # of all characters: the rarest stay unknown, so that models learn of some
MANY_CHARACTERS = UNSPACED | {"ko"}  # languages with thousands of them
CHILD = f"from {__name__} import main; main()"


class PieceError(ValueError):
    """Why no pieces can be learnt from a text."""


def train_pieces(kind: str, size: int, language: str, lines: Iterable[str]) -> bytes:
    """A piece model, the same for the same lines. Raises PieceError, or ImportError without sentencepiece.

    Args:
        kind: bpe, which joins what often stands together, or unigram, which drops what a language model can spare
        size: the number of pieces, three markers included; there are fewer if the lines have no more
        language: where it is written without spaces, a line does not begin with the mark of one
        lines: without white space but for single spaces between words
    """
    check_installed()
    command = [sys.executable, "-c", CHILD, kind, str(size), language]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True) as process:
        try:
            assert process.stdin is not None
            with suppress(BrokenPipeError):  # then it tells why it has ended
                for line in lines:
                    process.stdin.write(line.encode() + b"\n")
            model, told = process.communicate()
        finally:
            process.kill()
    if process.returncode:
        problem = told.decode(errors="replace").strip().rpartition("\n")[2]
        raise PieceError(problem or f"sentencepiece ended with status {process.returncode}; is there enough memory?")
    return model


def main() -> None:
    """The process: lines from stdin, the model to stdout."""
    import sentencepiece

    kind, size, language = sys.argv[1:]
    threading.Thread(target=_end_with, args=[os.getppid()], daemon=True).start()
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=(line.decode().removesuffix("\n") for line in sys.stdin.buffer),
            model_writer=model,
            model_type=kind,
            vocab_size=int(size),
            hard_vocab_limit=False,
            character_coverage=COVERAGE_OF_MANY if language in MANY_CHARACTERS else COVERAGE,
            normalization_rule_name="identity",  # so that pieces join to just the text that was cut
            add_dummy_prefix=language not in UNSPACED,
            shuffle_input_sentence=False,
            num_threads=THREADS,
            minloglevel=2,
        )
    except RuntimeError as error:
        sys.exit(_meaning(str(error)))
    sys.stdout.buffer.write(model.getvalue())


def _end_with(parent: int) -> None:
    """Ends this process when its parent is gone, for then nobody wants the model any more."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def _meaning(problem: str) -> str:
    """What sentencepiece means, as far as that is known."""
    if needed := re.search(r"smaller than required_chars\. \d+ vs (\d+)", problem):
        return f"its characters alone are {int(needed[1]):,} pieces; give at least as many"
    if "sentences_.empty()" in problem:
        return "no line to learn pieces from, all are empty or have more than 4,192 bytes; give files with text"
    return f"no pieces can be learnt ({problem}); check the text, or cut it into words"
