"""Settings that must stand before anything is imported, and those that must come back after a test."""

import os
import signal

import pytest
import torch

if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")  # GPU kernels run on the CPU, slowly but for real
torch.set_num_threads(1)  # more of them wait for each other longer than these models take
for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:  # as in the background of a shell; commands under test would, too
        signal.signal(number, usual)


@pytest.fixture(autouse=True)
def _one_thread_again():
    """What a test may change is of the whole process."""
    yield
    torch.set_num_threads(1)
