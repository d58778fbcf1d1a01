"""Lookup of keys: each element is searched among sorted keys, and replaced by the value of its key, or by a default.

for vector of elements of a unit of work:
    code = integers that are equal if the elements are equal
    for step in descending powers of 2: count += step in lanes where codes[count + step - 1] <= code
    y = values[count - 1] in lanes where codes[count - 1] = code, else the default
"""

from __future__ import annotations

from functools import partial

import numpy as np

from sardonyx._src.compile.codegen import LLVMType, LLVMValue, Parameters, Target
from sardonyx._src.compile.codegen.element_types import LLVM_ELEMENTS
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.gemm.packing.packing import make_constant
from sardonyx._src.compile.kernels.loops.memory import load_lanes
from sardonyx._src.compile.kernels.loops.strided_loops import unit_row_range
from sardonyx._src.compile.kernels.loops.vectors import load_typed, loop_vectors, store_vector
from sardonyx._src.compile.kernels.tuning import ElementwiseTuning
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import ceil_div

# The types of keys, and the types of values.
SEARCHED = (DataType.FLOAT, DataType.DOUBLE, DataType.INT32, DataType.INT64)
PARAMETERS = Parameters("x", "y", "codes", "values", "count", "unit_elements")


@dataclass(frozen=True, slots=True, eq=False)
class KeyTable:
    """A table of keys and values.

    codes: the keys as distinct integers, ascending (`code_of`).
    values: the value of each key, then the default.
    is_bitwise: whether float keys are compared by their bits; otherwise by value, where all NaN are equal.
    """

    codes: Array
    values: Array
    is_bitwise: bool


def key_search_step(x: TensorView, y: TensorView, table: KeyTable) -> Step:
    """y = the values of the elements of x, both dense; there is at least one key."""
    steps = (len(table.codes)).bit_length()
    # The search needs 2^steps - 1 keys: the last key and its value are repeated.
    missing = (1 << steps) - 1 - len(table.codes)
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
    """The specialization of the kernel: types of keys and values; steps: the steps of a search among 2^steps - 1 keys."""

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
        keys_below = b.constant(0, index)  # the number of keys that are known to be at most the code
        for step in range(variant.steps - 1, -1, -1):
            candidate = keys_below + (1 << step)
            key = load_lanes(b, codes, candidate - 1, code.type.element)
            keys_below = b.select(key <= code, candidate, keys_below)
        last = b.select(keys_below > 0, keys_below - 1, b.constant(0, index))
        is_key = load_lanes(b, codes, last, code.type.element).eq(code)
        value = load_lanes(b, values, b.select(is_key, last, b.constant(default, index)), result)
        store_vector(b, value, b.gep(y, i, result), mask)
    return b.build_module(name)


def code_of(b: KernelBuilder, elements: LLVMValue, variant: KeySearch) -> LLVMValue:
    """Integers that are equal if the elements are the same key; `KeyTable.codes` are made in the same way."""
    if not elements.type.is_float:
        return elements
    if variant.is_bitwise:
        return elements.bitcast()
    bits = (elements + 0.0).bitcast()  # -0 + 0 is 0
    nan = np.full(1, np.nan, variant.keys.numpy).view(f"i{variant.keys.numpy.itemsize}")
    return b.select(elements.ne(elements), int(nan[0]), bits)
