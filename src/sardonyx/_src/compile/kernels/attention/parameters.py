"""Parameters of the attention kernels, and `AttentionKernel`, the arguments as the functions of a kernel share them.

Tensors, with any strides: q [B, H, S, D], k [B, G, T, D], v [B, G, T, E], y [B, H, S, E] and a mask that broadcasts to
[B, H, S, T].  H is a multiple of G: with grouped-query attention, H / G query heads share a head of keys and values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sardonyx._src.compile.codegen import LLVMValue, Parameters
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.attention.variant import AttentionVariant
from sardonyx._src.compile.program import KernelArgument
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import Known

ALIGNED_FLOATS = 16  # lanes of the widest target; rows of scratch are multiples of it
PARTIAL_HEADER_FLOATS = 3 * ALIGNED_FLOATS  # maximum, sum and visibility before a partial output row
SIZES = (
    "kv_heads", "group_size", "queries", "keys", "depth", "width", "causal_offset", "window_offset", "max_length",
    "scale", "softcap", "is_decode", "unit_q_heads", "unit_kv_heads", "splits",
    "q_batch", "q_head", "q_row", "k_batch", "k_head", "k_row", "k_column",
    "v_batch", "v_head", "v_row", "v_column", "y_batch", "y_head", "y_row",
)  # fmt: skip
MASK_STRIDES = ("mask_batch", "mask_head", "mask_row", "mask_column")


def attention_parameters(variant: AttentionVariant) -> Parameters:
    """The parameters of the attention kernels of a variant.  Names of the form `q_row` are strides.

    partials: the partial results of split-KV.
    kv_heads, group_size: G and H / G.
    queries, keys, depth, width: S, T, D and E.
    causal_offset, window_offset: query s attends to keys from s + window_offset up to, not including, s + causal_offset,
        both relative to the length of the batch if there are lengths.
    max_length: the largest valid length.
    scale, softcap: the bits of a float.
    is_decode: 1 if units are those of the decode kernel, 0 for the prefill kernel.  A decode unit has `unit_kv_heads` heads
        of k and v, `unit_q_heads` query heads for each of them, and one of `splits` ranges of `split_keys` keys.
    """
    return Parameters(*pointer_names(variant), *size_names(variant))


def pointer_names(variant: AttentionVariant) -> tuple[str, ...]:
    return *variant.tensors, "partials", *(("lengths", "status") if variant.has_lengths else ())


def size_names(variant: AttentionVariant) -> tuple[str, ...]:
    return (*SIZES, *MASK_STRIDES) if variant.mask_type else SIZES


def name_strides(tensor: str, strides: Sequence[Known]) -> dict[str, KernelArgument]:
    """The strides of a tensor along [B, H, S, ...], by the names of their parameters."""
    axes = ("batch", "head", "row", "column")
    return {f"{tensor}_{axis}": stride for axis, stride in zip(axes, strides, strict=False)}


@dataclass(frozen=True, slots=True)
class AttentionKernel:
    """An attention kernel that is being emitted: its builder, variant and arguments.

    pointers, sizes: the arguments by name.
    scale, softcap: the numbers, scalars.
    """

    b: KernelBuilder
    variant: AttentionVariant
    pointers: Mapping[str, str]
    sizes: Mapping[str, LLVMValue]
    scale: LLVMValue
    softcap: LLVMValue


def load_arguments(b: KernelBuilder, variant: AttentionVariant) -> AttentionKernel:
    pointers = {name: b.pointer(name) for name in pointer_names(variant)}
    sizes = {name: b.integer(name) for name in size_names(variant)}
    scale, softcap = (sizes[name].convert("trunc", "i32").bitcast() for name in ("scale", "softcap"))
    return AttentionKernel(b, variant, pointers, sizes, scale, softcap)


def aligned_size(kernel: AttentionKernel, name: str) -> LLVMValue:
    """A size, rounded up to a multiple of `ALIGNED_FLOATS`."""
    return kernel.sizes[name] + (ALIGNED_FLOATS - 1) & -ALIGNED_FLOATS
