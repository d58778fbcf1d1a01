"""Node contexts, the arguments of facets that replace or differentiate a node: they describe the node and add new ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Attribute, Node, Value
from sardonyx._src.ir.build import attribute as make_attribute
from sardonyx._src.ops.inference import Inference


@dataclass(slots=True)
class NodeContext:
    """A node with its inference context, and a builder of nodes: `context.Add(x, y)` adds an Add.

    Subclasses say where nodes are added, how constants are written, and which error refuses a node.
    """

    node: Node
    inference: Inference

    # --- the node ------------------------------------------------------------------------------

    def input(self, i: int) -> Value:
        """Input i; refused if it is omitted."""
        value = self.optional(i)
        if value is None:
            self.refuse(f"input {i} is missing")
        return value

    def optional(self, i: int) -> Value | None:
        """Input i, or None if it is omitted."""
        return self.node.inputs[i] if i < len(self.node.inputs) else None

    def has_output(self, i: int) -> bool:
        """Whether output i is named."""
        return i < len(self.node.outputs) and bool(self.node.outputs[i].name)

    def rank(self, i: int) -> int:
        """The rank of input i; refused where it is not known."""
        rank = self.inference.rank(i)
        if rank is None:
            self.refuse(f"the rank of input {i} must be known")
        return rank

    def shape(self, i: int) -> tuple[int, ...]:
        """The shape of input i; refused unless all sizes are known numbers."""
        shape = self.inference.shape(i)
        if shape is None or not all(isinstance(d, int) for d in shape):
            self.refuse(f"the sizes of input {i} must be known; got {self.inference.type(i) or 'no type'}")
        return tuple(d for d in shape if isinstance(d, int))

    def dtype(self, i: int) -> DataType:
        """The element type of input i; refused where it is not known."""
        dtype = self.inference.dtype(i)
        if dtype is None:
            self.refuse(f"the element type of input {i} must be known")
        return dtype

    def axis(self, name: str = "axis", i: int = 0) -> int:
        """An axis of input i that an attribute names, counted from the front."""
        axis = self.inference.integer(name)
        return axis if axis >= 0 else self.inference.axis(axis, self.rank(i))

    # --- new nodes -----------------------------------------------------------------------------

    def op(self, op_type: str, *inputs: Value | None, domain: str = "", **attributes: object) -> Value:
        """Add a node of one output; an attribute of None is omitted."""
        return self.ops(op_type, *inputs, outputs=1, domain=domain, **attributes)[0]

    def ops(
        self, op_type: str, *inputs: Value | None, outputs: int, domain: str = "", **attributes: object
    ) -> tuple[Value, ...]:
        """Adds a node of several outputs."""
        given_attributes = {k: make_attribute(k, v) for k, v in attributes.items() if v is not None}
        return self.add(op_type, inputs, given_attributes, outputs, domain)

    def __getattr__(self, op_type: str) -> Callable[..., Value]:
        if not op_type[:1].isupper():
            raise AttributeError(
                f"{type(self).__name__} has no {op_type!r}; operators begin with a capital letter"
            )

        def call(*inputs: Value | None, **options: object) -> Value:
            return self.op(op_type, *inputs, **options)  # type: ignore[arg-type]  # op checks them

        return call

    def integers(self, values: object) -> Value:
        """The array-like `values` as a constant of int64."""
        return self.constant(np.asarray(values, np.int64))

    def add(
        self,
        op_type: str,
        inputs: Sequence[Value | None],
        attributes: Mapping[str, Attribute],
        outputs: int,
        domain: str = "",
    ) -> tuple[Value, ...]:
        """Adds a node with these attributes."""
        raise NotImplementedError

    def constant(self, values: object, dtype: DataType | None = None) -> Value:
        """The array-like `values` as a constant."""
        raise NotImplementedError

    def refuse(self, why: str) -> NoReturn:
        """Raises the error that refuses the node."""
        raise NotImplementedError


def trim_absent_inputs(inputs: Sequence[Value | None]) -> Sequence[Value | None]:
    """Inputs without absent ones at the end."""
    remaining = list(inputs)
    while remaining and remaining[-1] is None:
        remaining.pop()
    return remaining
