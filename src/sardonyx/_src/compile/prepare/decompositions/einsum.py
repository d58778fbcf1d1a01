"""Einsum as transpositions, reductions and matrix products, or elementwise products where nothing is summed.

Each axis has a label, the number of its letter in the equation.  Operands are multiplied in pairs.  First, axes with
labels that no other operand has, nor the output, are summed.  Then the pair is multiplied as [batch, rows, inner] by
[batch, inner, columns]: batch labels are in both operands and stay, inner labels are in both and are summed.  Sizes
of one label must be known to be equal, or 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Node, Shape, Value
from sardonyx._src.ir.dims import Known
from sardonyx._src.ops.math.einsum import Axes, number_axes, parse
from sardonyx._src.rewrite.engine.edit import Edit

LIMITS = "sums of integers wrap around, of half precision are rounded, after each product"
FLOATS = (DataType.FLOAT, DataType.DOUBLE)
Labels = tuple[int, ...]


def decompose(node: Node, edit: Edit) -> bool:
    axes, sizes = labeled_axes(node, edit), None
    if axes is not None:
        sizes = label_sizes(axes, [edit.shape(value) or () for value in node.inputs])
    if axes is None or sizes is None:
        return False
    Contraction(node, edit, axes.output, sizes).replace(axes)
    return True


def labeled_axes(node: Node, edit: Edit) -> Axes | None:
    """The axes of the terms; None for types, ranks and equations that are not supported."""
    types = [edit.type(value) for value in node.inputs]
    if edit.operator_of(node) is None or any(t is None or t.dtype not in FLOATS for t in types):
        return None
    if any(t is None or t.shape is None or None in t.shape for t in types):
        return None
    try:
        return number_axes(
            parse(str(edit.attributes(node)["equation"])), [edit.rank(value) for value in node.inputs]
        )
    except EvaluationError:
        return None


def label_sizes(axes: Axes, shapes: Sequence[Shape]) -> dict[int, Known] | None:
    """The size of each label; None if two axes of one label may have different sizes, neither of which is 1."""
    sizes: dict[int, Known] = {}
    for term, shape in zip(axes.inputs, shapes, strict=True):
        for label, size in zip(term, shape, strict=True):
            assert size is not None, "sizes are known"
            known = sizes.get(label, 1)
            if size != 1 and known not in (1, size):
                return None
            sizes[label] = size if known == 1 else known
    for term, shape in zip(axes.inputs, shapes, strict=True):
        repeated = [label for label in term if term.count(label) > 1]
        diagonals = [shape[i] for i, label in enumerate(term) if label in repeated]
        if any(size != sizes[label] for size, label in zip(diagonals, repeated, strict=True)):
            return None  # the diagonal of an axis of size 1 and a longer one
        if not all(isinstance(size, int) for size in diagonals):
            return None
    return sizes


@dataclass(frozen=True, slots=True)
class EinsumOperand:
    """A value with a label for each axis."""

    value: Value
    labels: Labels


@dataclass(frozen=True, slots=True)
class Contraction:
    """The nodes that replace one Einsum, inserted before it."""

    node: Node
    edit: Edit
    output: Labels
    sizes: dict[int, Known]

    def replace(self, axes: Axes) -> None:
        values = [value for value in self.node.inputs if value is not None]
        pairs = zip(values, axes.inputs, strict=True)
        operands = [self.drop_broadcast_axes(self.take_diagonals(EinsumOperand(*pair))) for pair in pairs]
        while len(operands) > 1:
            first, second = self.choose_pair(operands)
            rest = [operand for operand in operands if operand not in (first, second)]
            kept = {label for operand in rest for label in operand.labels} | {*self.output}
            operands = [*rest, self.multiply(first, second, kept)]
        result = self.transpose(self.sum_except(operands[0], {*self.output}), self.output)
        self.edit.replace(self.node, "Identity", [result.value])

    def make(self, op_type: str, *inputs: Value, **attributes: object) -> Value:
        return self.edit.make(op_type, inputs, attributes, before=self.node).outputs[0]

    def vector(self, *numbers: int) -> Value:
        return self.edit.make_constant(
            np.array(numbers, np.int64), f"{self.node.op_type}_numbers", before=self.node
        )

    # --- one operand

    def take_diagonals(self, operand: EinsumOperand) -> EinsumOperand:
        """The operand with each label once; two axes with the same label are replaced by their diagonal."""
        for label in dict.fromkeys(operand.labels):
            while operand.labels.count(label) > 1:
                operand = self.take_diagonal(operand, label)
        return operand

    def take_diagonal(self, operand: EinsumOperand, label: int) -> EinsumOperand:
        """The diagonal of the first two axes of a label: every (n + 1)th element of both as one axis."""
        first, second = [i for i, other in enumerate(operand.labels) if other == label][:2]
        rest = [i for i in range(len(operand.labels)) if i not in (first, second)]
        value = self.make("Transpose", operand.value, perm=[*rest, first, second])
        labels = tuple(operand.labels[i] for i in rest)
        flat = self.reshape(value, labels, [[label, label]])
        axis, size, end = len(rest), self.sizes[label], (1 << 63) - 1
        assert isinstance(size, int), "the size of a diagonal is constant"
        bounds = (self.vector(0), self.vector(end), self.vector(axis), self.vector(size + 1))
        diagonal = self.make("Slice", flat, *bounds)
        return EinsumOperand(diagonal, (*labels, label))

    def drop_broadcast_axes(self, operand: EinsumOperand) -> EinsumOperand:
        """The operand without axes of size 1 that are broadcast, since their label has another size elsewhere."""
        shape = self.edit.shape(operand.value) or ()
        axes = [i for i, label in enumerate(operand.labels) if shape[i] == 1 and self.sizes[label] != 1]
        if not axes:
            return operand
        value = self.make("Squeeze", operand.value, self.vector(*axes))
        return EinsumOperand(value, tuple(label for i, label in enumerate(operand.labels) if i not in axes))

    def sum_except(self, operand: EinsumOperand, kept: set[int]) -> EinsumOperand:
        """The operand summed over the labels that are not kept."""
        axes = [i for i, label in enumerate(operand.labels) if label not in kept]
        if not axes:
            return operand
        value = self.make("ReduceSum", operand.value, self.vector(*axes), keepdims=0)
        return EinsumOperand(value, tuple(label for label in operand.labels if label in kept))

    def transpose(self, operand: EinsumOperand, labels: Labels) -> EinsumOperand:
        perm = [operand.labels.index(label) for label in labels]
        if perm == sorted(perm):
            return operand
        return EinsumOperand(self.make("Transpose", operand.value, perm=perm), labels)

    # --- two operands

    def choose_pair(self, operands: Sequence[EinsumOperand]) -> tuple[EinsumOperand, EinsumOperand]:
        """The pair with the fewest elements in its product; the first two operands if sizes are not constant."""
        if not all(isinstance(size, int) for size in self.sizes.values()):
            return operands[0], operands[1]
        pairs = [(a, b) for i, a in enumerate(operands) for b in operands[i + 1 :]]
        return min(pairs, key=lambda pair: self.count({*pair[0].labels, *pair[1].labels}))

    def count(self, labels: set[int]) -> int:
        return math.prod(size for label in labels if isinstance(size := self.sizes[label], int))

    def multiply(self, first: EinsumOperand, second: EinsumOperand, kept: set[int]) -> EinsumOperand:
        """The product, summed over the labels that are not kept."""
        first = self.sum_except(first, kept | {*second.labels})
        second = self.sum_except(second, kept | {*first.labels})
        shared = [label for label in first.labels if label in second.labels]
        inner = tuple(label for label in shared if label not in kept)
        batch = tuple(label for label in shared if label in kept)
        rows = tuple(label for label in first.labels if label not in shared)
        columns = tuple(label for label in second.labels if label not in shared)
        labels = (*batch, *rows, *columns)
        left = self.transpose(first, (*batch, *rows, *inner)).value
        if not inner:
            right = self.transpose(second, (*batch, *columns)).value
            return EinsumOperand(
                self.multiply_elements(left, right, len(batch), len(rows), len(columns)), labels
            )
        right = self.transpose(second, (*batch, *inner, *columns)).value
        product = self.make(
            "MatMul",
            left if len(rows) == len(inner) == 1 else self.reshape(left, batch, [rows, inner]),
            right if len(inner) == len(columns) == 1 else self.reshape(right, batch, [inner, columns]),
        )
        if len(rows) == len(columns) == 1:
            return EinsumOperand(product, labels)
        return EinsumOperand(self.reshape(product, batch, [[label] for label in (*rows, *columns)]), labels)

    def multiply_elements(self, left: Value, right: Value, batch: int, rows: int, columns: int) -> Value:
        """The products of [batch, rows] and [batch, columns] as [batch, rows, columns]."""
        if columns and rows + batch:
            left = self.make("Unsqueeze", left, self.vector(*range(batch + rows, batch + rows + columns)))
        if rows and batch:
            right = self.make("Unsqueeze", right, self.vector(*range(batch, batch + rows)))
        return self.make("Mul", left, right)

    # --- sizes

    def reshape(self, value: Value, batch: Labels, groups: Sequence[Sequence[int]]) -> Value:
        """The value with an axis for each batch label and for each group of labels, the product of their sizes."""
        parts = [self.product_of([label]) for label in batch] + [self.product_of(group) for group in groups]
        if all(isinstance(part, int) for part in parts):
            shape = self.vector(*(part for part in parts if isinstance(part, int)))
        else:
            vectors = [self.vector(part) if isinstance(part, int) else part for part in parts]
            shape = self.make("Concat", *vectors, axis=0)
        return self.make("Reshape", value, shape, allowzero=1)

    def product_of(self, labels: Sequence[int]) -> int | Value:
        """The product of the sizes of labels: a number, or a vector of one element."""
        number = math.prod(size for label in labels if isinstance(size := self.sizes[label], int))
        open_labels = [label for label in labels if not isinstance(self.sizes[label], int)]
        if not open_labels:
            return number
        product = self.size_of(open_labels[0])
        for label in open_labels[1:]:
            product = self.make("Mul", product, self.size_of(label))
        return product if number == 1 else self.make("Mul", product, self.vector(number))

    def size_of(self, label: int) -> Value:
        """The size of a label, from an input that has it, as a vector of one element."""
        for value in self.node.inputs:
            shape = () if value is None else self.edit.shape(value) or ()
            for axis, size in enumerate(shape):
                if value is not None and size == self.sizes[label]:
                    return self.make("Shape", value, start=axis, end=axis + 1)
        raise AssertionError(f"label {label} must be an axis of an input")
