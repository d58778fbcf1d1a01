"""Base class of the attention kernels: their arguments, the addresses of the current head, key bounds and masks.

Tensors, with any strides: q [B, H, S, D], k [B, G, T, D], v [B, G, T, E], y [B, H, S, E] and a mask that broadcasts to
[B, H, S, T].  H is a multiple of G: with grouped-query attention, H / G query heads share a head of keys and values.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen.blocks import I64, StackSlot
from sardonyx._src.compile.codegen.builder import Element, LLVMType, LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.attention.variant import AttentionVariant
from sardonyx._src.compile.kernels.gemm.dot_products import DotProductEmitter

QUERY_BLOCK = 64  # most queries of a head in a prefill unit
KEY_BLOCK = 128  # keys of a prefill block: their scores, with the keys and values, stay in L1 and L2
SPLIT_KEYS = 512  # keys of a decode unit when the keys are split (split-KV)
DECODE_UNIT_QUERIES = 16  # most queries of a decode unit that share a head of keys
ALIGNED_FLOATS = 16  # lanes of the widest target; rows of scratch are multiples of it
PARTIAL_HEADER_FLOATS = 3 * ALIGNED_FLOATS  # maximum, sum and visibility before a partial output row
SIZE_NAMES = (
    "kv_heads", "group_size", "queries", "keys", "depth", "width", "causal_offset", "window_offset", "max_length",
    "scale", "softcap", "is_decode", "unit_q_heads", "unit_kv_heads", "splits",
    "q_batch", "q_head", "q_row", "k_batch", "k_head", "k_row", "k_column",
    "v_batch", "v_head", "v_row", "v_column", "y_batch", "y_head", "y_row",
)  # fmt: skip
MASK_STRIDE_NAMES = ("mask_batch", "mask_head", "mask_row", "mask_column")


class AttentionEmitter(DotProductEmitter):
    """Emits what all attention kernels share.

    Arguments: pointers to q, k, v, y, the mask (if any), the partial results of split-KV, and the lengths and status (if
    any); then `SIZE_NAMES`; then `MASK_STRIDE_NAMES` (if there is a mask).  Names of the form `q_row` are strides.

    kv_heads: G.  group_size: H / G.  queries, keys, depth, width: S, T, D, E.  causal_offset, window_offset: query s
    attends to keys from s + window_offset up to, not including, s + causal_offset, both relative to the length of the
    batch if there are lengths.  max_length: the largest valid length.  scale, softcap: the bits of a float.

    is_decode: whether units are those of the decode kernel.  Such a unit has `unit_kv_heads` heads of k and v,
    `unit_q_heads` query heads for each of them, and one of `splits` ranges of `SPLIT_KEYS` keys.
    """

    def __init__(self, target: Target, variant: AttentionVariant) -> None:
        super().__init__(target)
        self.variant = variant
        tensors = ("q", "k", "v", "y", *(["mask"] if variant.mask_type else []))
        extra_names = ("partials", *(("lengths", "status") if variant.has_lengths else ()))
        size_names = (*SIZE_NAMES, *MASK_STRIDE_NAMES) if variant.mask_type else SIZE_NAMES
        self.pointers = {name: self.pointer_argument(i) for i, name in enumerate(tensors)}
        self.extra_pointers = {
            name: self.pointer_argument(i) for i, name in enumerate(extra_names, len(tensors))
        }
        self.sizes = {
            name: self.size_argument(i) for i, name in enumerate(size_names, len(tensors) + len(extra_names))
        }
        self.scale, self.softcap = (self.float_argument(name) for name in ("scale", "softcap"))
        self.head_pointers: dict[str, str] = {}  # of the current head, by tensor
        # The keys of the current unit, and what is added to key bounds: the batch's length if there are lengths.
        self.key_begin = self.key_end = self.length_offset = self.i64(0)

    def float_argument(self, name: str) -> LLVMValue:
        """The float whose bits are a size argument, in every lane."""
        return self.splat(self.sizes[name].convert("trunc", "i32").bitcast(), self.lanes)

    def aligned_size(self, name: str) -> LLVMValue:
        """A size, rounded up to a multiple of `ALIGNED_FLOATS`."""
        return self.sizes[name] + (ALIGNED_FLOATS - 1) & -ALIGNED_FLOATS

    def select_head(self, batch: LLVMValue, kv_head: LLVMValue, q_head: LLVMValue) -> None:
        """Makes a head of keys and values, and one of the query heads that share it, the current ones."""
        size = self.sizes
        for name, address in self.pointers.items():
            index = kv_head if name in ("k", "v") else kv_head * size["group_size"] + q_head
            offset = batch * size[f"{name}_batch"] + index * size[f"{name}_head"]
            self.head_pointers[name] = self.gep(address, offset, self.element_type(name))
        self.key_end, self.length_offset = (
            self.load_key_count(batch) if self.variant.has_lengths else (size["keys"], self.i64(0))
        )

    def load_key_count(self, batch: LLVMValue) -> tuple[LLVMValue, LLVMValue]:
        """The number of keys of a batch, and its length; an invalid length is reported in `status`."""
        length = self.load(StackSlot(self.gep(self.extra_pointers["lengths"], batch, "i64"), I64))
        zero, max_length = self.i64(0), self.sizes["max_length"]

        def report() -> None:
            self.lines.append(
                f" atomicrmw max ptr {self.extra_pointers['status']}, {batch + 1} monotonic, align 8"
            )

        self.if_then_call((length < 0) | (length > max_length), report)
        length = self.select(length < 0, zero, self.min(length, max_length))
        return self.min(length, self.sizes["keys"]), length

    def element_type(self, name: str) -> Element:
        return "i8" if name == "mask" and self.variant.mask_type == "bool" else "float"

    def row_pointer(self, name: str, index: LLVMValue) -> str:
        """The address of row `index` of a tensor in the current head."""
        return self.gep(self.head_pointers[name], index * self.sizes[f"{name}_row"], self.element_type(name))

    def key_end_of(self, query: LLVMValue) -> LLVMValue:
        """The upper bound, exclusive, of the keys that a query attends to."""
        if not self.variant.causal:
            return self.key_end
        end = query + (self.sizes["causal_offset"] + self.length_offset)
        return self.select(end < 0, self.i64(0), self.min(self.key_end, end))

    def key_begin_of(self, query: LLVMValue) -> LLVMValue:
        """The lower bound of the keys that a query attends to."""
        if not self.variant.windowed:
            return self.key_begin
        begin, end = query + (self.sizes["window_offset"] + self.length_offset), self.key_end_of(query)
        return self.select(begin < self.key_begin, self.key_begin, self.min(end, begin))

    # --- scores and masks --------------------------------------------------------------------

    def apply_softcap(self, score: LLVMValue) -> LLVMValue:
        return self.softcap * self.emit_operation("tanh", score / self.softcap)

    def load_mask_vector(self, row: str, column: LLVMValue, mask: LLVMValue | None) -> LLVMValue:
        """A vector of a mask row as addends to scores: a bool becomes 0 or -inf."""
        address = self.gep(row, column, self.element_type("mask"))
        if self.variant.mask_type == "float":
            return self.load_vector(address, mask)
        return self.select(self.load_bool_vector(address, mask).ne(0), 0.0, self.negative_infinity)

    def load_mask_element(self, row: str, column: LLVMValue) -> LLVMValue:
        """One element of a mask row as an addend to scores, in every lane."""
        address = self.gep(row, column, self.element_type("mask"))
        if self.variant.mask_type == "float":
            return self.load_splat(address)
        is_visible = self.load(StackSlot(address, LLVMType("i8")))
        lowest = self.constant(float("-inf"), LLVMType("float"))
        return self.splat(self.select(is_visible.ne(0), 0.0, lowest), self.lanes)

    def load_bool_vector(self, address: str, mask: LLVMValue | None) -> LLVMValue:
        slot = StackSlot(address, LLVMType("i8", self.lanes))
        if mask is None:
            return self.load(slot)
        if self.lanes > 1:
            return self.masked_load(mask, slot)
        result = self.new_slot("truth", slot.type)
        self.store(result, self.constant(0, slot.type))
        self.if_then_call(mask, lambda: self.store(result, self.load(slot)))
        return self.load(result)

    def is_fully_masked(self, query: LLVMValue, mask_row: str) -> LLVMValue:
        """Whether every key within a query's key bounds is masked; mask_row: the address of its mask row."""
        begin, end = self.key_begin_of(query), self.key_end_of(query)
        if not self.variant.mask_type:
            return end <= begin
        visible = self.new_slot("seen", I64)
        self.store(visible, self.i64(0))

        def visit_key(key: LLVMValue) -> None:
            bias = self.load_mask_element(mask_row, key * self.sizes["mask_column"])
            if self.lanes > 1:
                bias = self.emit(LLVMType("float"), f"extractelement {bias}, i32 0")
            is_visible = bias.ne(float("-inf")).convert("zext", "i64")
            self.store(visible, self.load(visible) | is_visible)

        self.loop_call(begin, end, 1, visit_key, "look")
        return self.load(visible).eq(0)

    # --- arithmetic --------------------------------------------------------------------------

    def max_skipping_nan(self, a: LLVMValue, b: LLVMValue) -> LLVMValue:
        """max(a, b), but a if b is NaN: the sum of the exponentials becomes NaN all the same."""
        return self.select(b > a, b, a)

    def reduce_max(self, value: LLVMValue) -> LLVMValue:
        """The maximum of all lanes, none of which is NaN, in every lane."""
        distance = self.lanes // 2
        while distance:
            swapped = self.shuffle(value, value, [i ^ distance for i in range(self.lanes)])
            value, distance = self.max_skipping_nan(value, swapped), distance // 2
        return value

    def softmax_base(self, maximum: LLVMValue) -> LLVMValue:
        """What softmax subtracts from scores: their maximum, or 0 if all of them are -inf."""
        return self.select(maximum.eq(float("-inf")), 0.0, maximum)

    def reciprocal_sum(self, total: LLVMValue) -> LLVMValue:
        """1 / the sum of exponentials; 1 if there are no keys, for which the result is 0."""
        has_no_keys = self.splat(self.sizes["keys"].eq(0), self.lanes)
        return self.select(has_no_keys, self.constant(1.0, self.vector_type), 1.0 / total)

    def is_not_positive(self, total: LLVMValue) -> LLVMValue:
        """Whether a sum of weights, equal in every lane, is not > 0: it is 0 or NaN."""
        if self.lanes > 1:
            total = self.emit(LLVMType("float"), f"extractelement {total}, i32 0")
        return (total > 0).eq(0)

    @property
    def negative_infinity(self) -> LLVMValue:
        return self.constant(float("-inf"), self.vector_type)

    @property
    def zeros(self) -> LLVMValue:
        return self.constant(0.0, LLVMType("float", self.lanes))
