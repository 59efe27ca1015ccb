"""The runtime: translate on a CPU with ONNX Runtime and numba, without torch."""
