"""Compiles the Triton kernels for compute capability 9.0, which takes no GPU."""

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from trellex.heads import fused_cross_entropy, fused_shelves
from trellex.nmt.lstm import fused_energies
from trellex.trellis import fused, fused_ranking, fused_sample, fused_words

WHOLE = {"num_rows", "num_words", "num_draws", "num_bits", "num_steps", "limit", "length", "k"} | {
    "reads", "width", "size", "steps"
}  # fmt: skip
INTEGERS = {"masks": "*i32"} | dict.fromkeys(("numbers", "numbers_ahead", "target", "words", "order", "first"), "*i64")


def compile_kernel(kernel, number, half=(), **constants):
    """number: the type of real ones, such as fp64; half: those that are in half precision"""
    kinds = {
        name: "constexpr" if name in constants else "i32" if name in WHOLE else INTEGERS.get(name, f"*{number}")
        for name in kernel.arg_names
    } | dict.fromkeys(half, "*bf16")
    places = {(kernel.arg_names.index(name),): value for name, value in constants.items()}
    triton.compile(ASTSource(kernel, kinds, places), target=GPUTarget("cuda", 90, 32), options={"num_warps": 4})


for outputs, memory in ((2, 6), (0, 7)):
    sizes = {"OUTPUTS": outputs, "MEMORY": memory, "STATES": 1 << memory}
    compile_kernel(fused._log_partition, "fp32", **sizes, WORDS=2, WITH_POSTERIOR=True)
    compile_kernel(fused_words._topk, "fp64", **sizes, K=4, ROWS=1)
    compile_kernel(fused_words._best, "fp64", **sizes, ROWS=1, WITH_SUM=True)
    compile_kernel(fused_sample._sample, "fp64", **sizes, ROWS=1)

compile_kernel(fused_ranking._ranked, "fp64", BITS=10, MEMORY=7)

compile_kernel(fused_cross_entropy._cross_entropy, "fp32", half=["scores"], BLOCK=fused_cross_entropy.BLOCK)
blocks = {"PRECISION": "tf32", "ROWS": fused_shelves.ROWS, "COLUMNS": fused_shelves.COLUMNS, "WIDTH": 64}
for half in ((), ("states", "of_reads")):
    compile_kernel(fused_shelves._scores, "fp32", [*half[:1]], **blocks, SPLIT=fused_shelves.SPLIT)
    compile_kernel(fused_shelves._of_states, "fp32", [*half[1:]], **blocks, SPLIT=fused_shelves.SPLIT)
    compile_kernel(fused_shelves._of_vectors, "fp32", [*half[:1]], **blocks)
    compile_kernel(fused_shelves._scores_by_read, "fp32", [*half[:1]], COLUMNS=fused_shelves.COLUMNS, WIDTH=64)

for kernel in (fused_energies._energies, fused_energies._gradients):
    half = [name for name in kernel.arg_names if name.endswith(("queries", "keys"))]
    compile_kernel(kernel, "fp32", half, WORDS=fused_energies.WORDS, COLUMNS=fused_energies.COLUMNS)
