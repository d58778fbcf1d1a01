"""One head of attention: the addresses of its tensors, the key bounds of its queries, the softcap and the mask."""

from __future__ import annotations

from collections.abc import Mapping

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, MemoryLocation
from sardonyx._src.compile.kernels.attention.online_softmax import first_lane, negative_infinity
from sardonyx._src.compile.kernels.attention.parameters import AttentionKernel
from sardonyx._src.compile.kernels.loops.vectors import i64, load_splat, load_typed
from sardonyx._src.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class AttentionHead:
    """A head of keys and values with one of the query heads that share it, and the range of the keys to attend to.

    pointers: the addresses of the head in the tensors, by name.
    key_begin, key_end: the range of the keys.
    length_offset: the number that is added to key bounds: the length of the batch if there are lengths, else 0.
    """

    pointers: Mapping[str, str]
    key_begin: LLVMValue
    key_end: LLVMValue
    length_offset: LLVMValue


def select_head(
    kernel: AttentionKernel, batch: LLVMValue, kv_head: LLVMValue, q_head: LLVMValue
) -> AttentionHead:
    """The head with these indices, and all of its keys."""
    size, zero, pointers = kernel.sizes, i64(kernel.b, 0), {}
    for name in kernel.variant.tensors:
        index = kv_head if name in ("k", "v") else kv_head * size["group_size"] + q_head
        offset = batch * size[f"{name}_batch"] + index * size[f"{name}_head"]
        pointers[name] = kernel.b.gep(kernel.pointers[name], offset, kernel.variant.element(name))
    if not kernel.variant.has_lengths:
        return AttentionHead(pointers, zero, size["keys"], zero)
    length = load_length(kernel, batch)
    return AttentionHead(pointers, zero, kernel.b.min(length, size["keys"]), length)


def load_length(kernel: AttentionKernel, batch: LLVMValue) -> LLVMValue:
    """The number of valid keys of a batch; an invalid one is clamped, and reported in `status`."""
    b, max_length = kernel.b, kernel.sizes["max_length"]
    length = b.load(MemoryLocation(b.gep(kernel.pointers["lengths"], batch, "i64"), I64))
    with b.if_then((length < 0) | (length > max_length)):
        b.lines.append(f" atomicrmw max ptr {kernel.pointers['status']}, {batch + 1} monotonic, align 8")
    return b.select(length < 0, i64(b, 0), b.min(length, max_length))


def row_pointer(kernel: AttentionKernel, head: AttentionHead, name: str, index: LLVMValue) -> str:
    """The address of row `index` of a tensor."""
    offset = index * kernel.sizes[f"{name}_row"]
    return kernel.b.gep(head.pointers[name], offset, kernel.variant.element(name))


def key_end_of(kernel: AttentionKernel, head: AttentionHead, query: LLVMValue) -> LLVMValue:
    """The upper bound, exclusive, of the keys that a query attends to."""
    if not kernel.variant.causal:
        return head.key_end
    end = query + (kernel.sizes["causal_offset"] + head.length_offset)
    return kernel.b.select(end < 0, 0, kernel.b.min(head.key_end, end))


def key_begin_of(kernel: AttentionKernel, head: AttentionHead, query: LLVMValue) -> LLVMValue:
    """The lower bound of the keys that a query attends to."""
    if not kernel.variant.windowed:
        return head.key_begin
    begin = query + (kernel.sizes["window_offset"] + head.length_offset)
    end = key_end_of(kernel, head, query)
    return kernel.b.select(begin < head.key_begin, head.key_begin, kernel.b.min(end, begin))


# --- softcap and mask ------------------------------------------------------------------------


def apply_softcap(kernel: AttentionKernel, score: LLVMValue) -> LLVMValue:
    softcap = kernel.b.splat(kernel.softcap, score.type.lanes)
    return softcap * kernel.b.emit_operation("tanh", score / softcap)


def load_mask_vector(
    kernel: AttentionKernel, row: str, column: LLVMValue, lanes: LLVMValue | None
) -> LLVMValue:
    """A vector of a mask row as addends to scores: a bool becomes 0 or -inf.

    lanes: the mask of the lanes that are read, which has those of the vector; None: all lanes of a register.
    """
    b = kernel.b
    count = b.target.lanes if lanes is None else lanes.type.lanes
    element = kernel.variant.element("mask")
    mask = load_typed(b, LLVMType(element, count), b.gep(row, column, element), lanes)
    if kernel.variant.mask_type == "float":
        return mask
    return b.select(mask.ne(0), 0.0, negative_infinity(b, count))


def load_mask_element(kernel: AttentionKernel, row: str, column: LLVMValue) -> LLVMValue:
    """One element of a mask row as an addend to scores, in every lane."""
    b = kernel.b
    address = b.gep(row, column, kernel.variant.element("mask"))
    if kernel.variant.mask_type == "float":
        return load_splat(b, address)
    is_visible = b.load(MemoryLocation(address, LLVMType("i8")))
    lowest = b.constant(float("-inf"), LLVMType("float"))
    return b.splat(b.select(is_visible.ne(0), 0.0, lowest), b.target.lanes)


def is_fully_masked(
    kernel: AttentionKernel, head: AttentionHead, query: LLVMValue, mask_row: str
) -> LLVMValue:
    """Whether every key within a query's key bounds is masked; mask_row: the address of its mask row."""
    b = kernel.b
    begin, end = key_begin_of(kernel, head, query), key_end_of(kernel, head, query)
    if not kernel.variant.mask_type:
        return end <= begin
    visible = b.new_slot("visible", I64)
    b.store(visible, i64(b, 0))
    with b.loop(begin, end, name="key") as key:
        bias = first_lane(b, load_mask_element(kernel, mask_row, key * kernel.sizes["mask_column"]))
        is_visible = bias.ne(float("-inf")).convert("zext", "i64")
        b.store(visible, b.load(visible) | is_visible)
    return b.load(visible).eq(0)
