"""Linear attention: each head has a state S [d_k, d_v], which every token updates and reads.

With f = exp(decay), or 1, and for each token:
    known = k' (f S)                                  delta rules
    S = f S + k (v - known)' rate                     other rules: S = f S + k v'
    y = scale q' S                                    for each query head of the group

Columns of a state do not depend on each other.  So a unit of work is a chunk of the columns of a head, with all tokens; its
part of the state stays in the level-1 cache.  Loop nest: tokens -> rows of the state -> vectors of columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from sardonyx._src.compile.codegen import LLVMValue, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.loops.vectors import (
    i64,
    load_splat,
    load_vector,
    loop_vectors,
    store_vector,
    vector_type,
    zeros,
)
from sardonyx._src.compile.kernels.tuning import AttentionTuning
from sardonyx._src.dataclass import dataclass

Decay = Literal["", "head", "row"]
SIZES = ("tokens", "heads", "group", "d_k", "d_v", "scale")
STATES = ("past", "state")
MAX_LANES = 16  # lanes of the widest target: a chunk has the same number of columns on all targets


@dataclass(frozen=True, slots=True)
class Variant:
    """The specialization of a kernel: the kind of decay, and whether there are a delta rule and a past state."""

    decay: Decay
    has_delta: bool
    has_past: bool

    def tensors(self) -> list[str]:
        named = {"past": self.has_past, "decay": bool(self.decay), "beta": self.has_delta}
        return ["q", "k", "v", *(name for name, is_given in named.items() if is_given), "y", "state"]

    def parameters(self) -> Parameters:
        tensors = self.tensors()
        strides = [f"{name}_{dim}" for name in tensors if name not in STATES for dim in ("item", "token")]
        strides += [f"{name}_head" for name in ("decay", "beta") if name in tensors]
        return Parameters(*tensors, *strides, *SIZES)


@dataclass(frozen=True, slots=True)
class StateRows:
    """The rows of some columns of a state, `stride` floats apart."""

    address: str
    stride: LLVMValue


@dataclass(frozen=True, slots=True)
class Scan:
    """A scan over the tokens, for some vectors of columns of a head.

    address: the addresses of the operands at a token, by name; those of the states, y and v are at the first column.
    size: the integer arguments by name.
    scale: the scale in every lane.
    mask: the lanes of a partial vector; None if vectors are whole.
    """

    b: KernelBuilder
    variant: Variant
    address: Mapping[str, str]
    size: Mapping[str, LLVMValue]
    scale: LLVMValue
    vectors: int = 1
    mask: LLVMValue | None = None

    def columns(self, address: str) -> list[str]:
        """The addresses of the vectors of a row."""
        return [self.b.gep(address, i64(self.b, v * self.b.target.lanes)) for v in range(self.vectors)]

    def load(self, address: str) -> list[LLVMValue]:
        return [load_vector(self.b, column, self.mask) for column in self.columns(address)]

    def store(self, values: Sequence[LLVMValue], address: str) -> None:
        for value, column in zip(values, self.columns(address), strict=True):
            store_vector(self.b, value, column, self.mask)

    def rows(self, state: StateRows) -> Iterator[tuple[LLVMValue, str]]:
        """A loop over the rows of a state: the number and the address of each."""
        with self.b.loop(i64(self.b, 0), self.size["d_k"], 1, "row") as row:
            yield row, self.b.gep(state.address, row * state.stride)

    def new_sums(self) -> list[MemoryLocation]:
        sums = [self.b.new_slot("sum", vector_type(self.b)) for _ in range(self.vectors)]
        for total in sums:
            self.b.store(total, zeros(self.b))
        return sums

    def add_products(
        self, sums: Sequence[MemoryLocation], factor: LLVMValue, values: Sequence[LLVMValue]
    ) -> None:
        for total, value in zip(sums, values, strict=True):
            self.b.store(total, self.b.fma(factor, value, self.b.load(total)))


def linear_attention_module(name: str, target: Target, variant: Variant) -> str:
    """The LLVM module of the kernel.  Scratch: the decay factors of the rows of a state, and the unit's columns of the state."""
    parameters = variant.parameters()
    b = KernelBuilder(target, parameters)
    base = {tensor: b.pointer(tensor) for tensor in variant.tensors()}
    size = {each: b.integer(each) for each in parameters.names if each not in (*base, "scale")}
    scale = b.splat(b.float32("scale"), target.lanes)
    width = AttentionTuning.state_vectors * MAX_LANES
    with b.loop(b.first_unit, b.end_unit, 1, "unit") as unit:
        index, chunk = b.udivmod(unit, b.udiv(size["d_v"] + (width - 1), width))
        item, head = b.udivmod(index, size["heads"])
        first = chunk * width
        end = b.min(first + width, size["d_v"])
        for vectors in (AttentionTuning.state_vectors, 1):
            with b.loop(first, end, vectors * target.lanes, "columns") as column:
                scan_tokens(
                    Scan(b, variant, addresses(b, base, size, item, head, column), size, scale, vectors)
                )
            first = column
        if target.lanes > 1:
            with b.if_then(first < end):
                scan = Scan(b, variant, addresses(b, base, size, item, head, first), size, scale)
                scan_tokens(replace(scan, mask=b.lane_mask(end - first, target.lanes)))
    return b.build_module(name)


def addresses(
    b: KernelBuilder,
    base: Mapping[str, str],
    size: Mapping[str, LLVMValue],
    item: LLVMValue,
    head: LLVMValue,
    column: LLVMValue,
) -> dict[str, str]:
    """The addresses of the operands of a head, at the first token and at a column of the state."""
    d_k, d_v = size["d_k"], size["d_v"]
    state = (item * size["heads"] + head) * d_k * d_v + column
    offsets = {"q": head * size["group"] * d_k, "k": head * d_k, "v": head * d_v + column}
    offsets |= {"y": head * size["group"] * d_v + column, "past": state, "state": state}
    offsets |= {name: head * size[f"{name}_head"] for name in ("decay", "beta") if name in base}
    items = item_addresses(b, base, size, item)
    return {name: b.gep(address, offsets[name]) for name, address in items.items()}


def item_addresses(
    b: KernelBuilder, base: Mapping[str, str], size: Mapping[str, LLVMValue], item: LLVMValue
) -> dict[str, str]:
    """The addresses of an item of the batch; states keep their base, since their offsets count the heads of all items."""
    return {
        name: address if name in STATES else b.gep(address, item * size[f"{name}_item"])
        for name, address in base.items()
    }


def scan_tokens(scan: Scan) -> None:
    """Updates a state by all tokens.

    With many tokens the columns are copied to scratch, where their rows are adjacent.  With few tokens a copy would not pay
    off: the first token reads the past state and writes the new one, which later tokens update.
    """
    b, size, tokens = scan.b, scan.size, scan.size["tokens"]
    state = StateRows(scan.address["state"], size["d_v"])
    past = replace(state, address=scan.address.get("past", state.address))
    in_scratch = (tokens >= AttentionTuning.min_state_tokens) | tokens.eq(0)
    columns = i64(b, scan.vectors * b.target.lanes)
    work = StateRows(
        b.select_pointer(in_scratch, b.gep(b.scratch, size["d_k"]), state.address),
        b.select(in_scratch, columns, state.stride),
    )
    if not scan.variant.has_past:
        fill_state(scan, work)
    with b.if_then(in_scratch):
        if scan.variant.has_past:
            copy_state(scan, past, work)
    with b.loop(i64(b, 0), tokens, 1, "token") as token:
        is_past = token.eq(0) & in_scratch.eq(0)
        before = StateRows(
            b.select_pointer(is_past, past.address, work.address),
            b.select(is_past, past.stride, work.stride),
        )
        at_token = {
            name: b.gep(address, token * size[f"{name}_token"])
            for name, address in scan.address.items()
            if name not in STATES
        }
        update(replace(scan, address=at_token), before, work)
    with b.if_then(in_scratch):
        copy_state(scan, work, state)


def fill_state(scan: Scan, state: StateRows) -> None:
    """Fills a state with zeros."""
    for _, row in scan.rows(state):
        scan.store([zeros(scan.b)] * scan.vectors, row)


def copy_state(scan: Scan, source: StateRows, target: StateRows) -> None:
    for row, address in scan.rows(target):
        scan.store(scan.load(scan.b.gep(source.address, row * source.stride)), address)


def update(scan: Scan, before: StateRows, after: StateRows) -> None:
    """Processes a token: updates the state, and stores the products of the queries with it."""
    b, factor, sums = scan.b, decay_factor(scan), scan.new_sums()
    written = written_values(scan, factor, before)
    for row, address in scan.rows(after):
        key, query = (load_splat(b, b.gep(scan.address[name], row)) for name in ("k", "q"))
        values = scale_row(scan, factor, row, scan.load(b.gep(before.address, row * before.stride)))
        values = [b.fma(key, new, value) for new, value in zip(written, values, strict=True)]
        scan.store(values, address)
        scan.add_products(sums, query, values)
    store_read(scan, sums, i64(b, 0))
    with b.loop(i64(b, 1), scan.size["group"], 1, "query") as head:
        sums = scan.new_sums()
        queries = b.gep(scan.address["q"], head * scan.size["d_k"])
        for row, address in scan.rows(after):
            scan.add_products(sums, load_splat(b, b.gep(queries, row)), scan.load(address))
        store_read(scan, sums, head)


def store_read(scan: Scan, sums: Sequence[MemoryLocation], head: LLVMValue) -> None:
    """Stores the result of a query head of the group."""
    b = scan.b
    results = [b.load(total) * scan.scale for total in sums]
    scan.store(results, b.gep(scan.address["y"], head * scan.size["d_v"]))


def decay_factor(scan: Scan) -> LLVMValue | None:
    """The decay factor of the whole state in all lanes; None if there is no decay.

    If each row has a factor, the factors are stored in scratch, and the result is None.
    """
    b = scan.b
    if not scan.variant.decay:
        return None
    if scan.variant.decay == "head":
        return b.emit_operation("exp", load_splat(b, scan.address["decay"]))
    for i, mask in loop_vectors(b, 0, scan.size["d_k"]):
        factors = b.emit_operation("exp", load_vector(b, b.gep(scan.address["decay"], i), mask))
        store_vector(b, factors, b.gep(b.scratch, i), mask)
    return None


def scale_row(
    scan: Scan, factor: LLVMValue | None, row: LLVMValue, values: Sequence[LLVMValue]
) -> list[LLVMValue]:
    """A row of the state times its decay factor."""
    if scan.variant.decay == "row":
        factor = load_splat(scan.b, scan.b.gep(scan.b.scratch, row))
    return [value if factor is None else value * factor for value in values]


def written_values(scan: Scan, factor: LLVMValue | None, before: StateRows) -> list[LLVMValue]:
    """The vector whose product with the key is added to the state.

    With a delta rule it is the rate times the difference of the values and the state's product with the key; with other
    rules it is the values.
    """
    b, values = scan.b, scan.load(scan.address["v"])
    if not scan.variant.has_delta:
        return values
    known, by_row = scan.new_sums(), scan.variant.decay == "row"
    for row, state in scan.rows(before):
        key = load_splat(b, b.gep(scan.address["k"], row))
        scan.add_products(
            known, key * load_splat(b, b.gep(b.scratch, row)) if by_row else key, scan.load(state)
        )
    rate = load_splat(b, scan.address["beta"])
    totals = [b.load(total) for total in known]
    totals = [total if factor is None else total * factor for total in totals]
    return [rate * (value - total) for value, total in zip(values, totals, strict=True)]
