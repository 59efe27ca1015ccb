"""Compiles the Triton kernels for compute capability 9.0, which takes no GPU."""

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from trellex.heads import fused_choices, fused_cross_entropy, fused_shelves
from trellex.nmt.lstm import fused_energies
from trellex.trellis import fused, fused_ranking, fused_sample, fused_words

WHOLE = {"num_rows", "num_words", "num_draws", "num_bits", "num_steps", "limit", "length", "k"} | {
    "reads", "width", "size", "steps", "frequent", "visit", "count", "shelf_bits", "row_stride", "stride",
    "num_mine", "num_others", "mine_stride", "other_stride", "most",
}  # fmt: skip
LONG = ("numbers", "numbers_ahead", "target", "words", "order", "first", "chosen", "shelves")
KINDS = {"masks": "*i32", "label_smoothing": "fp32"} | dict.fromkeys(LONG, "*i64")


def compile_kernel(kernel, number, half=(), double=(), num_warps=4, **constants):
    """number: the type of real ones, such as fp32; half, double: those that are in half and in double precision"""
    kinds = {
        name: "constexpr" if name in constants else "i32" if name in WHOLE else KINDS.get(name, f"*{number}")
        for name in kernel.arg_names
    }
    kinds |= dict.fromkeys(half, "*bf16") | dict.fromkeys(double, "*fp64")
    places = {(kernel.arg_names.index(name),): value for name, value in constants.items()}
    triton.compile(ASTSource(kernel, kinds, places), target=GPUTarget("cuda", 90, 32), options={"num_warps": num_warps})


for outputs, memory in ((2, 6), (0, 7)):
    sizes = {"OUTPUTS": outputs, "MEMORY": memory, "STATES": 1 << memory}
    compile_kernel(fused._log_partition, "fp32", **sizes, WORDS=2, WITH_POSTERIOR=True)
    for k, slots in ((3, 4), (20, 32)):
        warps = fused_words.warps_for(1 << memory, k)
        compile_kernel(fused_words._topk, "fp64", num_warps=warps, **sizes, K=slots, ROWS=1)
    for number in ("fp32", "fp64"):
        compile_kernel(fused_words._best, number, double=["scores", "log_sums"], **sizes, ROWS=1, WITH_SUM=True)
    compile_kernel(fused_sample._sample, "fp64", **sizes, ROWS=1)

for bits in (10, 14):
    warps = fused_ranking.warps_for(bits)
    compile_kernel(fused_ranking._ranked, "fp32", double=["log_probs"], num_warps=warps, BITS=bits, MEMORY=7)

for has_words in (False, True):
    sizes = {"HAS_WORDS": has_words, "BLOCK": fused_choices.BLOCK}
    compile_kernel(fused_choices._of_hybrid, "fp32", double=["scores", "log_sums"], **sizes)
    sizes = {"HAS_WORDS": has_words, "PLACES": 1024, "SHELVES": 16}
    compile_kernel(fused_choices._of_shelves, "fp32", double=["log_shelves", "log_probs"], **sizes)
    for bits in (3, 10, 14):
        warps = max(4, fused_ranking.warps_for(bits))
        sizes = {"HAS_WORDS": has_words, "BITS": bits, "MEMORY": 7, "WIDTH": 64, "COLUMNS": fused_choices.COLUMNS}
        doubles = ["log_shelves", "log_probs"]
        compile_kernel(fused_choices._on_further_shelves, "fp32", double=doubles, num_warps=warps, **sizes)

for smoothed in (False, True):
    sizes = {"IS_SMOOTHED": smoothed, "BLOCK": fused_cross_entropy.BLOCK}
    warps = fused_cross_entropy.WARPS
    compile_kernel(fused_cross_entropy._cross_entropy, "fp32", half=["scores"], num_warps=warps, **sizes)
blocks = {"PRECISION": "tf32", "ROWS": fused_shelves.ROWS, "COLUMNS": fused_shelves.COLUMNS, "WIDTH": 64}
for half in ((), ("states", "of_reads")):
    compile_kernel(fused_shelves._scores, "fp32", [*half[:1]], **blocks, SPLIT=fused_shelves.SPLIT)
    compile_kernel(fused_shelves._of_states, "fp32", [*half[1:]], **blocks, SPLIT=fused_shelves.SPLIT)
    compile_kernel(fused_shelves._of_vectors, "fp32", [*half[:1]], **blocks)
    by_read = {"HAS_WORDS": True, "COLUMNS": fused_shelves.COLUMNS, "WIDTH": 64}
    compile_kernel(fused_shelves._scores_by_read, "fp32", [*half[:1]], **by_read)

half = ["queries", "keys", "mine", "others", "of_mine"]
compile_kernel(fused_energies._energies, "fp32", half[:2], WORDS=fused_energies.WORDS, COLUMNS=fused_energies.COLUMNS)
for with_vector in (False, True):
    sizes = {"WITH_VECTOR": with_vector, "PLACES": fused_energies.PLACES, "COLUMNS": fused_energies.COLUMNS}
    compile_kernel(fused_energies._gradients, "fp32", half[2:], num_warps=1, **sizes)
