"""The context of lowering functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, TypeVar

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.executor import status
from sardonyx._src.compile.layouts.constants import ConstantPool
from sardonyx._src.compile.layouts.laid_out import LayoutItem
from sardonyx._src.compile.program import Buffer, TensorView
from sardonyx._src.compile.program.operands.tensor import dense_temporary
from sardonyx._src.compile.program.steps.program import Action
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Node
from sardonyx._src.ir.dims import Known

T = TypeVar("T")
LowerItems: TypeAlias = "Callable[[Iterable[LayoutItem], Lowering], list[Action]]"


class Lowering:
    """The context of lowering functions: the target, the status block (`executor.status`), and shared constants.

    oversized: the nodes to refuse because sizes of their steps are too long expressions or too large.
    defects: the nodes to refuse because their lowering raised an exception, with it.
    shared_rows: rows that steps of these items have computed in a form of their kernels, by the value and the form, for later
        steps that read the same rows.
    local_sizes: the symbols that steps bind so far (`program.encoding.local_sizes`).
    """

    def __init__(self, target: Target, constants: ConstantPool, lower_items: LowerItems) -> None:
        """lower_items: lowers items by the lowerings of all kinds of regions, which this module does not know."""
        self.target, self.constants, self._lower_items = target, constants, lower_items
        self.oversized: set[Node] = set()
        self.defects: dict[Node, Exception] = {}
        self.shared_rows: dict[object, TensorView] = {}
        self.local_sizes: set[str] = set()
        buffer = Buffer("status", status.STATUS_SLOTS * status.SLOT_BYTES, "status")
        self.status = TensorView(DataType.INT64, (1,), (1,), buffer)

    def lower_items(self, items: Iterable[LayoutItem]) -> list[Action]:
        """The actions of regions and copies, in order, for the lowering of a region with subgraphs."""
        return self._lower_items(items, self)

    def constant_tensor(self, elements: Array, key: object = None) -> TensorView:
        """A tensor of constant data, shared by all requests with the same key."""
        return self.constants.tensor(elements, key)

    def memoize(self, key: object, make: Callable[[], T]) -> T:
        """The result of `make`, which is called for the first request with this key in the program only."""
        return self.constants.memoize(key, make)

    def temporary(self, dtype: DataType, shape: Sequence[Known], name: str) -> TensorView:
        """A dense tensor in the arena."""
        return dense_temporary(dtype, shape, name)
