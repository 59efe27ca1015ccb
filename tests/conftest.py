"""Settings that must stand before anything is imported."""

import os

import torch

if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")  # GPU kernels run on the CPU, slowly but for real
