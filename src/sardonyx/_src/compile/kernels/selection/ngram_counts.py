"""Counts of the n-grams of rows of integers, by a trie in a hash table.

for row: y[row] = 0                                          # units of work: rows
    for start: node = child of the root for x[row, start]
        for distance: for token at start + distance, start + 2 * distance ...: node = child of node for the token
            for n-gram that ends at a node: y[row, column of the n-gram] += its weight
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.element_types import memory_type
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.data_movement.memcpy import emit_fill
from sardonyx._src.compile.kernels.gemm.packing.packing import make_constant
from sardonyx._src.compile.kernels.loops.vectors import i64
from sardonyx._src.compile.kernels.selection.distinct_rows import HALF_WORD, MULTIPLIER
from sardonyx._src.compile.kernels.selection.group_rows import slot_at
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array

PARAMETERS = Parameters(
    "x", "y", "edges", "endings", "grams", "weights", "columns", "width", "slots", "distances", "longest"
)
FREE = -1  # the node of an empty slot of the hash table
FLOAT = LLVMType("float")
EDGE_FIELDS = 3  # node, token, child
SLOTS_PER_EDGE = 4


@dataclass(frozen=True, slots=True, eq=False)
class NgramTrie:
    """A trie of n-grams.

    edges: [slots, 3], a hash table of node, token and child by the hash of node and token; an empty slot has the node FREE.
    endings: for each node, the first n-gram that ends at it, or -1.
    grams: [n-grams, 2], the column of the n-gram in the result, and the next n-gram with the same tokens, or -1.
    weights: the weights of the n-grams, float32.
    distances: the maximum distance between successive tokens of an n-gram.
    longest: the length of the longest n-gram.
    is_binary: whether an n-gram that occurs several times counts once.
    """

    edges: Array
    endings: Array
    grams: Array
    weights: Array
    distances: int
    longest: int
    is_binary: bool

    @classmethod
    def of(
        cls, ngrams: Sequence[tuple[int, ...]], columns: Array, weights: Array, skips: int, *, is_binary: bool
    ) -> NgramTrie:
        """The trie of n-grams of any length; columns, weights: the column in the result, and the weight, of each n-gram.

        skips: the maximum number of tokens between successive tokens of an n-gram.
        """
        children: dict[tuple[int, int], int] = {}
        endings, grams = [-1], np.full((len(ngrams), 2), -1)
        grams[:, 0] = columns
        for gram, tokens in enumerate(ngrams):
            node = 0
            for token in tokens:
                child = children.setdefault((node, token), len(endings))
                endings += [-1] * (child == len(endings))
                node = child
            grams[gram, 1], endings[node] = endings[node], gram
        longest = max(map(len, ngrams), default=0)
        table = build_table(children)
        return cls(table, np.array(endings), grams, weights.astype(np.float32), skips + 1, longest, is_binary)


def build_table(children: Mapping[tuple[int, int], int]) -> Array:
    """The edges of a trie as a hash table with linear probing."""
    slots = SLOTS_PER_EDGE * len(children) + 1
    table = np.zeros((slots, EDGE_FIELDS), np.int64)
    table[:, 0] = FREE
    for (node, token), child in children.items():
        slot = (edge_hash(node, token) * slots) >> 32
        while table[slot, 0] != FREE:
            slot = (slot + 1) % slots
        table[slot] = node, token, child
    return table


def edge_hash(node: int, token: int) -> int:
    """The hash of an edge, 32 bits; `NgramKernel.find_child` computes the same."""
    mask = (1 << 64) - 1
    mixed = ((token & mask) * MULTIPLIER + node) & mask
    return ((mixed ^ (mixed >> 32)) * MULTIPLIER & mask) >> 32


def ngram_counts_step(x: TensorView, y: TensorView, trie: NgramTrie) -> Step:
    """The step of y [rows, width] float32 from x [rows, columns] int32 or int64, both dense; columns < 2**24.

    With fewer columns than that, counts are exact in float32.
    """
    arrays = {name: getattr(trie, name) for name in ("edges", "endings", "grams", "weights")}
    constants = {name: make_constant(array.reshape(-1), name) for name, array in arrays.items()}
    (rows, columns), width = x.shape, y.shape[1]
    args: tuple[KernelArgument, ...] = PARAMETERS.pack(
        x=x,
        y=y,
        columns=columns,
        width=width,
        slots=len(trie.edges),
        distances=trie.distances,
        longest=trie.longest,
        **constants,
    )
    key = f"ngram_counts_{x.dtype.text}{'_binary' * trie.is_binary}"
    source = partial(ngram_counts_module, dtype=x.dtype, is_binary=trie.is_binary)
    return Step(
        Kernel(key, source, PARAMETERS),
        args,
        rows,
        (x, *constants.values()),
        (y,),
        flops=x.num_elements * 20 * min(trie.longest, 3),
    )


def ngram_counts_module(name: str, target: Target, dtype: DataType, is_binary: bool) -> str:
    b = KernelBuilder(target, PARAMETERS)
    kernel = NgramKernel(b, dtype, is_binary)
    with b.loop(b.first_unit, b.end_unit, name="row") as row:
        kernel.count_row(row)
    return b.build_module(name)


class NgramKernel:
    """The kernel that is being emitted, with its arguments; methods emit its parts.

    result_row: the index in y of the first element of a row of the result.
    """

    def __init__(self, b: KernelBuilder, dtype: DataType, is_binary: bool) -> None:
        self.b, self.element, self.is_binary = b, memory_type(dtype), is_binary
        self.x, self.y, self.edges, self.endings, self.grams, self.weights = b.pointers(*PARAMETERS.names[:6])
        self.columns, self.width, self.slots, self.distances, self.longest = b.integers(*PARAMETERS.names[6:])

    def count_row(self, row: LLVMValue) -> None:
        b, zero, first = self.b, i64(self.b, 0), row * self.columns
        result_row = row * self.width
        emit_fill(b, b.constant(0.0, FLOAT), b.gep(self.y, result_row), self.width)
        most = b.min(self.distances, b.select(self.columns > 2, self.columns - 1, i64(b, 1)))
        with b.loop(zero, self.columns, name="start") as start:
            node = self.find_child(zero, self.token(first + start))
            with b.if_then(node >= 0):
                self.add_ngrams(node, result_row)
                with b.if_then(self.longest > 1), b.loop(i64(b, 1), most + 1, name="distance") as distance:
                    self.follow(node, first, start, distance, result_row)

    def follow(
        self, node: LLVMValue, first: LLVMValue, start: LLVMValue, distance: LLVMValue, result_row: LLVMValue
    ) -> None:
        """Counts the n-grams of at least two tokens that begin with a token, with one distance."""
        b = self.b
        current, position = b.new_slot("node", I64), b.new_slot("token", I64)
        b.store(current, node)
        b.store(position, start + distance)
        with self.repeat(lambda: (b.load(current) >= 0) & (b.load(position) < self.columns)):
            child = self.find_child(b.load(current), self.token(first + b.load(position)))
            b.store(current, child)
            b.store(position, b.load(position) + distance)
            with b.if_then(child >= 0):
                self.add_ngrams(child, result_row)

    def add_ngrams(self, node: LLVMValue, result_row: LLVMValue) -> None:
        """Adds the weights of the n-grams that end at a node."""
        b, gram = self.b, self.b.new_slot("gram", I64)
        b.store(gram, b.load(slot_at(b, self.endings, node)))
        with self.repeat(lambda: b.load(gram) >= 0):
            number = b.load(gram)
            result = self.result(result_row + b.load(slot_at(b, self.grams, number * 2)))
            weight = b.load(MemoryLocation(b.gep(self.weights, number), FLOAT))
            b.store(result, weight if self.is_binary else b.load(result) + weight)
            b.store(gram, b.load(slot_at(b, self.grams, number * 2 + 1)))

    def find_child(self, node: LLVMValue, token: LLVMValue) -> LLVMValue:
        """The child of a node for a token; -1 if there is none."""
        b, slot = self.b, self.b.new_slot("slot", I64)
        mixed = token * MULTIPLIER + node
        mixed = (mixed ^ ((mixed >> 32) & HALF_WORD)) * MULTIPLIER
        b.store(slot, (((mixed >> 32) & HALF_WORD) * self.slots) >> 32)

        def is_other() -> LLVMValue:
            owner, key = (self.edge(b.load(slot), i) for i in (0, 1))
            is_match = owner.eq(node) & key.eq(token)
            return is_match.eq(0) & owner.ne(FREE)

        with self.repeat(is_other):
            following = b.load(slot) + 1
            b.store(slot, b.select(following.eq(self.slots), i64(b, 0), following))
        final = b.load(slot)
        return b.select(self.edge(final, 0).eq(FREE), i64(b, -1), self.edge(final, 2))

    # --- memory and loops --------------------------------------------------------------------

    def edge(self, slot: LLVMValue, field: int) -> LLVMValue:
        return self.b.load(slot_at(self.b, self.edges, slot * EDGE_FIELDS + field))

    def token(self, index: LLVMValue) -> LLVMValue:
        value = self.b.load(
            MemoryLocation(self.b.gep(self.x, index, self.element.llvm_element), self.element)
        )
        return value if value.type.element == "i64" else value.convert("sext", "i64")

    def result(self, index: LLVMValue) -> MemoryLocation:
        return MemoryLocation(self.b.gep(self.y, index), FLOAT)

    def repeat(self, condition: Callable[[], LLVMValue]) -> WhileLoop:
        return WhileLoop(self.b, condition)


class WhileLoop:
    """The body of a loop that is executed as long as a condition holds: `with WhileLoop(b, condition):`."""

    def __init__(self, b: KernelBuilder, condition: Callable[[], LLVMValue]) -> None:
        self.b, self.condition = b, condition
        self.head, self.inside, self.done = (b.new_label(word) for word in ("while", "body", "done"))

    def __enter__(self) -> None:
        self.b.enter_block(self.head)
        self.b.lines.append(f" br {self.condition()}, label %{self.inside}, label %{self.done}")
        self.b.start_block(self.inside)

    def __exit__(self, *_: object) -> None:
        self.b.lines.append(f" br label %{self.head}")
        self.b.start_block(self.done)
