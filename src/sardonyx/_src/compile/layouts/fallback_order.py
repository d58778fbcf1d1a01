"""Order of fallback operations: they come before or after all kernels where possible.

A run returns to Python for each fallback operation among kernels, which costs time.  Operations that depend only on
strings, sequences and maps of the caller come first.  Operations that compute strings, sequences and maps, which no
kernel reads, come last.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sardonyx._src.compile.layouts.laid_out import LayoutItem
from sardonyx._src.compile.program.steps.program import BindSizes, CopyIn, FallbackOp
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node, TensorType, Value
from sardonyx._src.ops.registry import find


def order_fallback_ops(items: Sequence[LayoutItem]) -> list[LayoutItem]:
    """The items with fallback operations, and the copies of their results, moved to the beginning or the end.

    Nothing is moved if sizes depend on results of kernels, since items bind these sizes at their positions.
    """
    first, last = leading_items(items), trailing_nodes(items)
    if any(isinstance(item, BindSizes) and i not in first for i, item in enumerate(items)):
        return list(items)
    is_last = [isinstance(item, FallbackOp) and item.node in last for item in items]
    ranks = [0 if i in first else 2 if late else 1 for i, late in enumerate(is_last)]
    return [items[i] for i in sorted(range(len(items)), key=ranks.__getitem__)]


def leading_items(items: Sequence[LayoutItem]) -> set[int]:
    """The indices of fallback operations that depend on Python inputs only, and of items that copy or size their results."""
    computed: set[Value] = set()
    leading: set[int] = set()
    for i, item in enumerate(items):
        if isinstance(item, CopyIn | BindSizes) and item.value in computed:
            leading.add(i)
        elif isinstance(item, FallbackOp) and is_pure(item.node) and reads_only(item, computed):
            leading.add(i)
            computed.update(item.node.outputs)
    return leading


def reads_only(op: FallbackOp, computed: Collection[Value]) -> bool:
    """Whether an operation reads only constants, `computed` values and Python inputs, and at least one that is not constant."""
    values = [value for value in op.node.inputs if value is not None and value.initializer is None]
    return bool(values) and all(value in computed or is_python_input(value) for value in values)


def is_python_input(value: Value) -> bool:
    """Whether a value is an input, and no tensor of numbers: strings, a sequence or a map, which only Python can hold."""
    return value.producer is None and not is_number_tensor(value)


def trailing_nodes(items: Sequence[LayoutItem]) -> set[Node]:
    """The nodes of fallback operations with results that no kernel reads: no tensors of numbers, read by such nodes only."""
    trailing: set[Node] = set()
    for item in reversed(items):
        if isinstance(item, FallbackOp) and is_pure(item.node) and is_unread(item.node, trailing):
            trailing.add(item.node)
    return trailing


def is_unread(node: Node, trailing: Collection[Node]) -> bool:
    """Whether no result of a node is a tensor of numbers, and only nodes in `trailing` read the results."""
    return all(
        not is_number_tensor(value) and all(consumer in trailing for consumer, _ in value.uses)
        for value in node.outputs
    )


def is_number_tensor(value: Value) -> bool:
    """Whether a value may be a tensor of numbers."""
    return value.type is None or (
        isinstance(value.type, TensorType) and value.type.dtype is not DataType.STRING
    )


def is_pure(node: Node) -> bool:
    """Whether a node computes the same at any time: it draws no random numbers and has no bodies."""
    op = find(node.domain, node.op_type)
    return op is not None and not op.is_random and not node.subgraphs
