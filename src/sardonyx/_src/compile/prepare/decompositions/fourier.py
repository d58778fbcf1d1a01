"""DFT and STFT as products with matrices of cosines and sines.

A transform of length N1 * N2 has four steps: transforms of length N1 of the columns of a matrix [N1, N2], a product
with twiddle factors, transforms of length N2 of the rows, which for a long N2 have four steps again, and a
transposition (D. H. Bailey, "FFTs in external or hierarchical memory", J. Supercomputing 4, 1990).  All is computed
in float64, as in NumPy, and rounded once.  A complex number is two adjacent elements, its *parts*.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array, Node, Value
from sardonyx._src.rewrite.engine.edit import Edit

MAX_FACTOR = 32  # transforms up to this length are one product
MAX_PRIME = 127  # transforms without such factors are one product up to this length: larger float64 products have no kernel
MAX_LENGTH = 1 << 20


@dataclass(frozen=True, slots=True)
class TransformBuilder:
    """Inserts nodes before a node that is to be replaced."""

    node: Node
    edit: Edit

    def add(self, op_type: str, *inputs: Value | None, **attributes: object) -> Value:
        return self.edit.make(op_type, list(inputs), attributes, before=self.node).outputs[0]

    def constant(self, elements: Array) -> Value:
        return self.edit.make_constant(elements, f"{self.node.name}/factors", before=self.node)

    def table(self, elements: Array) -> Value:
        """A float64 constant, the type of the computation."""
        return self.constant(np.array(elements, np.float64))

    def ints(self, *elements: int) -> Value:
        return self.constant(np.array(elements, np.int64))

    def reshape(self, x: Value, *dims: int) -> Value:
        return self.add("Reshape", x, self.ints(*dims))

    def slice(self, x: Value, axis: int, first: int, end: int) -> Value:
        return self.add("Slice", x, self.ints(first), self.ints(end), self.ints(axis))


@dataclass(frozen=True, slots=True)
class Transform:
    """The transform of rows of `length` numbers.

    parts: 2 for complex inputs, 1 for real inputs.
    is_halved: whether only the first half of the spectrum of a real signal is the result, or the input of an
        inverse transform.
    """

    length: int
    parts: int
    is_inverse: bool
    is_halved: bool

    @property
    def has_real_result(self) -> bool:
        return self.is_inverse and self.is_halved

    @property
    def num_inputs(self) -> int:
        """The number of inputs of a row that are read; more are cropped, and missing ones are 0."""
        return self.length // 2 + 1 if self.has_real_result else self.length

    @property
    def num_outputs(self) -> int:
        return self.length // 2 + 1 if self.is_halved and not self.is_inverse else self.length

    @property
    def has_factors(self) -> bool:
        return factor_of(self.length) > 0


def factor_of(length: int) -> int:
    """N1, the length of the transforms of columns; 0 for a transform that is one product, -1 for one that no kernel supports."""
    if length <= MAX_FACTOR:
        return 0
    factors = [n for n in range(2, MAX_FACTOR + 1) if length % n == 0 and factor_of(length // n) >= 0]
    if factors and length <= MAX_LENGTH:
        return min(factors, key=lambda n: (abs(n * n - length), n))
    return 0 if length <= MAX_PRIME else -1


def angles(rows: int, columns: int, length: int) -> Array:
    """2 pi r c / length for all r and c, reduced to [0, 2 pi): [rows, columns]."""
    products = np.outer(np.arange(rows, dtype=np.int64), np.arange(columns, dtype=np.int64)) % length
    return products * (2 * np.pi / length)


def transform_rows(builder: TransformBuilder, x: Value, size: int, transform: Transform) -> Value:
    """Transforms x [rows, size, parts] to [rows, num_outputs, 2], or to [rows, length, 1] for a halved inverse."""
    read = min(size, transform.num_inputs)
    if read < size:
        x = builder.slice(x, 1, 0, read)
    if not transform.has_factors:
        return one_product(builder, x, read, transform)
    if transform.has_real_result:
        x, read = mirror_spectrum(builder, x, read, transform.length), transform.length
    if read < transform.length:
        pads = builder.ints(0, 0, 0, 0, transform.length - read, 0)
        x = builder.add("Pad", x, pads, builder.table(np.zeros(())))
    y = four_steps(builder, x, transform.length, transform.parts, is_inverse=transform.is_inverse)
    if transform.is_inverse:
        y = builder.add("Mul", y, builder.table(np.array(1 / transform.length)))
    if transform.has_real_result:
        return builder.slice(y, 2, 0, 1)
    return builder.slice(y, 1, 0, transform.num_outputs) if transform.is_halved else y


def one_product(builder: TransformBuilder, x: Value, read: int, transform: Transform) -> Value:
    """Transforms x [rows, read, parts] by one product to [rows, num_outputs, parts of a result]."""
    matrix = (
        real_result_matrix(read, transform) if transform.has_real_result else pair_matrix(read, transform)
    )
    product = builder.add("MatMul", builder.reshape(x, -1, read * transform.parts), builder.table(matrix))
    return builder.reshape(product, -1, transform.num_outputs, 1 if transform.has_real_result else 2)


def pair_matrix(read: int, transform: Transform) -> Array:
    """The matrix [read * parts, num_outputs * 2] of a transform; real and imaginary parts are interleaved."""
    angle = angles(read, transform.num_outputs, transform.length)
    cosines, sines = np.cos(angle), np.sin(angle) * (1 if transform.is_inverse else -1)
    rows = np.stack([np.stack([cosines, sines], -1), np.stack([-sines, cosines], -1)], 1)[
        :, : transform.parts
    ]
    scale = transform.length if transform.is_inverse else 1
    return rows.reshape(read * transform.parts, -1) / scale


def real_result_matrix(read: int, transform: Transform) -> Array:
    """The matrix [read * 2, length] of the transform from the first half of a spectrum to its real signal."""
    angle = angles(read, transform.length, transform.length)
    weights = np.where(is_own_mirror(read, transform.length), 1, 2)[:, None] / transform.length
    sines = np.where(is_own_mirror(read, transform.length)[:, None], 0, np.sin(angle))
    return np.stack([weights * np.cos(angle), -weights * sines], 1).reshape(read * 2, -1)


def is_own_mirror(read: int, length: int) -> Array:
    """Which of the first numbers of a spectrum have no conjugate in the second half: frequency 0, and half of the sampling rate."""
    frequencies = np.arange(read)
    return np.asarray((frequencies == 0) | (2 * frequencies == length))


def mirror_spectrum(builder: TransformBuilder, x: Value, read: int, length: int) -> Value:
    """The complete spectrum [rows, length, 2] of a real signal from its first half [rows, read, 2]; missing numbers are 0."""
    if read < length // 2 + 1:
        pads = builder.ints(0, 0, 0, 0, length // 2 + 1 - read, 0)
        x = builder.add("Pad", x, pads, builder.table(np.zeros(())))
    signs = np.ones((length // 2 + 1, 2))
    signs[is_own_mirror(len(signs), length), 1] = 0
    x = builder.add("Mul", x, builder.table(signs))
    order = np.arange(length)
    indices = builder.constant(np.minimum(order, length - order))
    conjugate = np.ones((length, 2))
    conjugate[length // 2 + 1 :, 1] = -1
    return builder.add("Mul", builder.add("Gather", x, indices, axis=1), builder.table(conjugate))


def four_steps(builder: TransformBuilder, x: Value, length: int, parts: int, *, is_inverse: bool) -> Value:
    """Transforms x [rows, length, parts] to [rows, length, 2]; an inverse is not divided by the length."""
    columns = factor_of(length)
    if not columns:
        matrix = pair_matrix(length, Transform(length, parts, is_inverse, is_halved=False))
        product = builder.add(
            "MatMul",
            builder.reshape(x, -1, length * parts),
            builder.table(matrix * (length if is_inverse else 1)),
        )
        return builder.reshape(product, -1, length, 2)
    rest = length // columns
    grid = builder.add("Transpose", builder.reshape(x, -1, columns, rest, parts), perm=[0, 2, 1, 3])
    matrix = pair_matrix(columns, Transform(columns, parts, is_inverse, is_halved=False))
    planes = matrix.reshape(columns * parts, columns, 2).swapaxes(1, 2) * (columns if is_inverse else 1)
    product = builder.add(
        "MatMul",
        builder.reshape(grid, -1, columns * parts),
        builder.table(planes.reshape(columns * parts, -1)),
    )
    rows = twiddle(
        builder, builder.reshape(product, -1, rest, 2, columns), rest, columns, is_inverse=is_inverse
    )
    done = four_steps(builder, builder.reshape(rows, -1, rest, 2), rest, 2, is_inverse=is_inverse)
    result = builder.add("Transpose", builder.reshape(done, -1, columns, rest, 2), perm=[0, 2, 1, 3])
    return builder.reshape(result, -1, length, 2)


def twiddle(builder: TransformBuilder, x: Value, rest: int, columns: int, *, is_inverse: bool) -> Value:
    """x [rows, rest, 2, columns] times the twiddle factor of each position, as [rows, columns, rest, 2]."""
    angle = angles(rest, columns, rest * columns)[:, None]
    cosines = builder.table(np.cos(angle))
    sines = builder.table(np.sin(angle) * (1 if is_inverse else -1))
    real, imaginary = builder.slice(x, 2, 0, 1), builder.slice(x, 2, 1, 2)
    new_real = builder.add("Sub", builder.add("Mul", real, cosines), builder.add("Mul", imaginary, sines))
    new_imaginary = builder.add(
        "Add", builder.add("Mul", real, sines), builder.add("Mul", imaginary, cosines)
    )
    whole = builder.add("Concat", new_real, new_imaginary, axis=2)
    return builder.add("Transpose", whole, perm=[0, 3, 1, 2])
