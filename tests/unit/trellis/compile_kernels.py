"""Compiles the Triton kernels for compute capability 9.0, which takes no GPU."""

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from trellex.trellis import fused, fused_sample, fused_words

WHOLE = {"num_rows", "num_words", "num_draws", "num_bits", "num_steps", "limit", "length", "k"}
INTEGERS = {"masks": "*i32", "numbers": "*i64", "numbers_ahead": "*i64"}


def compile_kernel(kernel, number, **constants):
    """number: the type of real ones, such as fp64"""
    kinds = {
        name: "constexpr" if name in constants else "i32" if name in WHOLE else INTEGERS.get(name, f"*{number}")
        for name in kernel.arg_names
    }
    places = {(kernel.arg_names.index(name),): value for name, value in constants.items()}
    triton.compile(ASTSource(kernel, kinds, places), target=GPUTarget("cuda", 90, 32), options={"num_warps": 4})


for outputs, memory in ((2, 6), (0, 7)):
    sizes = {"OUTPUTS": outputs, "MEMORY": memory, "STATES": 1 << memory}
    compile_kernel(fused._log_partition, "fp32", **sizes, WORDS=2, WITH_POSTERIOR=True)
    compile_kernel(fused_words._topk, "fp64", **sizes, K=4, ROWS=1)
    compile_kernel(fused_sample._sample, "fp64", **sizes, ROWS=1)
