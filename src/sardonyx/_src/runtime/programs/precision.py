"""Checks that this processor has the products of a requested precision."""

from __future__ import annotations

from sardonyx._src.arguments import require_choice
from sardonyx._src.compile.kernels.gemm.bf16.bf16_arithmetic import has_bf16_products
from sardonyx._src.compile.llvm.jit import compile_target
from sardonyx._src.compile.program import EXACT, Precision
from sardonyx._src.compile.program.steps.precision import PRECISIONS
from sardonyx._src.errors import UnsupportedProcessor

BF16_FEATURE = "avx512_bf16"  # processors with AMX tiles of bfloat16 have this feature, too


def require_precision(precision: Precision) -> None:
    """Raises InputError for an unknown precision, and UnsupportedProcessor if this processor has no such products."""
    require_choice("precision", precision, PRECISIONS)
    if precision == EXACT or has_bf16_products(compile_target()):
        return
    raise UnsupportedProcessor(
        f'precision="{precision}" requires a processor with products of bfloat16 ({BF16_FEATURE}), without which it would be '
        f'slower than precision="{EXACT}"',
        features=(BF16_FEATURE,),
    )
