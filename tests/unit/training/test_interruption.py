"""Interruptions are noted, unless whoever started the program wants them ignored."""

import os
import signal

import pytest

from trellex.training.interruption import Interruption


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("is_ignored", [False, True])  # as in the background of a script
def test_one_signal(number, is_ignored):
    before = signal.signal(number, signal.SIG_IGN) if is_ignored else signal.getsignal(number)
    try:
        with Interruption() as interruption:
            os.kill(os.getpid(), number)
            assert interruption.came is not is_ignored
    finally:
        signal.signal(number, before)
