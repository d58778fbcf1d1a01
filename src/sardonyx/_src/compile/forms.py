"""Forms of values: tensors in the order of their dims whose strides differ.

A value may be in several at once: as a plain one, a view of another value's elements, or one whose channels are
innermost.  A lowering asks for the form that it wants, and gets a copy where there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, cast

import numpy as np

from sardonyx._src.compile.asked import Asked
from sardonyx._src.compile.dequantizing import dequantized_constant, half_of
from sardonyx._src.compile.llvm.kernels import prepare
from sardonyx._src.compile.moves.copy import copied
from sardonyx._src.compile.moves.words import written
from sardonyx._src.compile.prepare import Prepared
from sardonyx._src.compile.program import Action, Upload
from sardonyx._src.compile.step import Step
from sardonyx._src.compile.tensor import Storage, Tensor, bytes_of, first_order, last_order, row_major
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known
from sardonyx._src.ir.graph import Graph, Node, Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.tensors import Tensor as Literal

T = TypeVar("T")


class Forms(Asked):
    """The values of a graph that are there already, and the actions that make them."""

    def __init__(self, prepared: Prepared, graph: Graph | None = None) -> None:
        super().__init__(prepared, graph)
        self.actions: list[Action] = []
        self.forms: dict[Value, list[Tensor]] = {}
        self.done: set[Node] = set()
        self.deferred: dict[Value, Callable[[], None]] = {}  # values that are made when somebody asks
        self.widened = 0  # bytes of constants that were dequantized
        self.names: tuple[str, ...] = ()  # of the nodes that the steps put down now stand for
        self._constants: dict[object, Tensor] = {}
        self._kept: dict[object, object] = {}

    def constant(self, value: Value | None) -> Array | None:
        """The elements of a value that is known beforehand."""
        literal = None if value is None else value.initializer
        if value is None or isinstance(literal, Literal):
            return literal.numpy() if isinstance(literal, Literal) else None
        return dequantized_constant(self, value) if value in self.deferred else None

    def packable(self, value: Value) -> Array | None:
        """The elements of a constant of floats; of 16 bits where they are widened from such."""
        half = half_of(self, value)
        return self.constant(value) if half is None else half

    def is_constant(self, value: Value) -> bool:
        """Whether the elements are known beforehand, whatever it takes to make them."""
        return half_of(self, value) is not None or self.constant(value) is not None

    def is_native(self, value: Value | None) -> bool:
        """Whether a tensor of the value can be had here: it is made already, and its sizes are known."""
        if value is None or self.shape(value) is None:
            return False
        return bool(self.forms.get(value)) or self.is_made(value) or self.constant(value) is not None

    def is_made(self, value: Value) -> bool:
        """Whether the host has it: an input, or what a node behind us made."""
        return value.producer is None or value.producer in self.done

    def strided(self, value: Value) -> Tensor:
        """The value in any form."""
        if not self.forms.get(value) and value in self.deferred and self.constant(value) is None:
            self.deferred[value]()
        if not self.forms.get(value):
            self.forms[value] = [self.first_form(value)]
        return self.forms[value][0]

    def first_form(self, value: Value) -> Tensor:
        elements = self.constant(value)
        if elements is not None:
            return self.constant_tensor(elements, (value, "plain"))
        tensor = self.temporary(self.dtype(value), self.known_shape(value), value.name)
        numbers = self.numbers(value)
        if numbers is None:
            self.actions.append(Upload(value, tensor))
        else:
            self.emit(written(tensor, numbers))
        return tensor

    def dense(self, value: Value) -> Tensor:
        """The value with its elements in a row."""
        first = self.strided(value)
        for form in self.forms[value]:
            if form.is_dense:
                return form
        return self.copy(value, first, self.temporary(first.dtype, first.shape, value.name))

    def rows(self, value: Value) -> Tensor:
        """The value with the elements of its last dim in a row, and rows one pitch apart."""
        self.strided(value)
        for form in self.forms[value]:
            if form.pitch is not None:
                return form
        return self.dense(value)

    def channels_last(self, value: Value) -> Tensor:
        """A value [N, C, ...] as a tensor [N, ..., C] whose rows of channels are dense and one pitch apart."""
        first = self.strided(value)
        order = last_order(first.rank)
        for form in self.forms[value]:
            if (found := form.permuted(order)).pitch is not None:
                return found
        shape = first.permuted(order).shape
        made = self.temporary(first.dtype, shape, value.name)
        return self.copy(value, first, made.permuted(first_order(first.rank))).permuted(order)

    def has_channels_last(self, value: Value) -> bool:
        """Whether the value is there with its channels innermost, and not plain."""
        forms = self.forms.get(value, [])
        order = last_order(forms[0].rank) if forms and forms[0].rank > 2 else ()
        return bool(order) and any(f.permuted(order).pitch is not None and not f.is_dense for f in forms)

    def copy(self, value: Value, source: Tensor, made: Tensor) -> Tensor:
        """Puts down a copy into another form of the value."""
        self.emit(copied(source, made))
        self.forms[value].append(made)
        return made

    # --- memory and steps ---------------------------------------------------------------------

    def bind(self, value: Value, *forms: Tensor) -> None:
        """Says in which tensors a value is from here on."""
        self.forms[value] = [*forms]

    def temporary(self, dtype: DataType, shape: Sequence[Known], name: str) -> Tensor:
        """Dense memory of a program's own."""
        shape = tuple(shape)
        return Tensor(dtype, shape, row_major(shape), Storage("arena", bytes_of(dtype, shape), name))

    def constant_tensor(self, elements: Array, key: object = None) -> Tensor:
        """A tensor of the program's own data; the same key stands for the same elements."""
        found = None if key is None else self._constants.get(key)
        if found is None:
            data = np.ascontiguousarray(elements).reshape(elements.shape)  # which makes one dim of none
            storage = Storage("constant", data.nbytes, "constant", data)
            found = Tensor(DataType.of(data.dtype), data.shape, row_major(data.shape), storage)
            if key is not None:
                self._constants[key] = found
        return found

    def kept(self, key: object, make: Callable[[], T]) -> T:
        """What is made once for this key."""
        if key not in self._kept:
            self._kept[key] = make()
        return cast(T, self._kept[key])

    def emit(self, *steps: Step) -> None:
        """Puts down steps, in the name of the nodes that are being lowered."""
        for step in steps:
            prepare(step.kernel)
        self.actions += [step if step.nodes else step.named(self.names) for step in steps]
