"""Values of keys: each element is searched among sorted keys, and replaced by the value of the key, or by a default.

for vector of elements of a unit of work:
    code = integers that are equal where the elements are
    for step in descending powers of 2: place += step where the key before place + step is at most the code
    y = values[place - 1] where that key is the code, else the default
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from sardonyx._src.compile.codegen.builder import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.element_types import LLVM_ELEMENTS
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.codegen.parameters import Parameters
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.gemm.packing import make_constant
from sardonyx._src.compile.kernels.loops.memory import load_lanes
from sardonyx._src.compile.kernels.loops.strided_loops import unit_row_range
from sardonyx._src.compile.kernels.loops.vectors import load_typed, loop_vectors, store_vector
from sardonyx._src.compile.kernels.tuning.tuning import ElementwiseTuning
from sardonyx._src.compile.program.step import Kernel, KernelArgument, Step
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import ceil_div
from sardonyx._src.ir.tensors import Array

SEARCHED = (DataType.FLOAT, DataType.DOUBLE, DataType.INT32, DataType.INT64)  # and types of values
PARAMETERS = Parameters("x", "y", "codes", "values", "count", "unit_elements")


@dataclass(frozen=True, slots=True, eq=False)
class KeyTable:
    """codes: distinct integers of the keys, ascending.  values: of each key, then the default.

    is_bitwise: whether floats are keys by their bits, else by their values, where all NaN are equal.
    """

    codes: Array
    values: Array
    is_bitwise: bool


def key_search_step(x: TensorView, y: TensorView, table: KeyTable) -> Step:
    """y = the values of the elements of x, both dense; there is at least one key."""
    steps = (len(table.codes)).bit_length()
    missing = (1 << steps) - 1 - len(table.codes)  # the last key is repeated
    codes = np.concatenate([table.codes, np.repeat(table.codes[-1:], missing)])
    values = np.concatenate([table.values[:-1], np.repeat(table.values[-2:-1], missing), table.values[-1:]])
    constants = make_constant(codes, "codes"), make_constant(values, "values")
    count, unit = x.num_elements, ElementwiseTuning.unit_elements
    args: tuple[KernelArgument, ...] = PARAMETERS.pack(
        x=x, y=y, codes=constants[0], values=constants[1], count=count, unit_elements=unit
    )
    variant = KeySearch(x.dtype, y.dtype, steps, table.is_bitwise)
    kernel = Kernel(variant.key, partial(key_search_module, variant=variant), PARAMETERS)
    return Step(kernel, args, ceil_div(count, unit), (x, *constants), (y,), flops=count * 3 * steps)


@dataclass(frozen=True, slots=True)
class KeySearch:
    """Specialization of the kernel.  steps: of the search, among 2^steps - 1 keys."""

    keys: DataType
    values: DataType
    steps: int
    is_bitwise: bool

    @property
    def key(self) -> str:
        return f"key_search_{self.keys.text}_{self.values.text}_{self.steps}{'_bits' * self.is_bitwise}"


def key_search_module(name: str, target: Target, variant: KeySearch) -> str:
    """The LLVM module of the kernel."""
    b, lanes = KernelBuilder(target, PARAMETERS), target.lanes
    x, y, codes, values = b.pointers("x", "y", "codes", "values")
    count, unit_elements = b.integers("count", "unit_elements")
    element, result = LLVM_ELEMENTS[variant.keys], LLVM_ELEMENTS[variant.values]
    index, default = LLVMType("i32", lanes), (1 << variant.steps) - 1
    for i, mask in loop_vectors(b, *unit_row_range(b, count, unit_elements)):
        code = code_of(b, load_typed(b, LLVMType(element, lanes), b.gep(x, i, element), mask), variant)
        place = b.constant(0, index)
        for step in range(variant.steps - 1, -1, -1):
            candidate = place + (1 << step)
            key = load_lanes(b, codes, candidate - 1, code.type.element)
            place = b.select(key <= code, candidate, place)
        last = b.select(place > 0, place - 1, b.constant(0, index))
        is_key = load_lanes(b, codes, last, code.type.element).eq(code)
        value = load_lanes(b, values, b.select(is_key, last, b.constant(default, index)), result)
        store_vector(b, value, b.gep(y, i, result), mask)
    return b.build_module(name)


def code_of(b: KernelBuilder, elements: LLVMValue, variant: KeySearch) -> LLVMValue:
    """Integers that are equal where the elements are the same key, as `KeyTable.codes` are made."""
    if not elements.type.is_float:
        return elements
    if variant.is_bitwise:
        return elements.bitcast()
    bits = (elements + 0.0).bitcast()  # -0 + 0 is 0
    nan = np.full(1, np.nan, variant.keys.numpy).view(f"i{variant.keys.numpy.itemsize}")
    return b.select(elements.ne(elements), int(nan[0]), bits)
