"""Settings that must stand before anything is imported, and those that must come back after a test."""

import os

import pytest
import torch

if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")  # GPU kernels run on the CPU, slowly but for real
torch.set_num_threads(1)  # more of them wait for each other longer than these models take


@pytest.fixture(autouse=True)
def _one_thread_again():
    """What a test may change is of the whole process."""
    yield
    torch.set_num_threads(1)
