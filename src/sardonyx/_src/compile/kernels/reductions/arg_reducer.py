"""The reducers of ArgMax and ArgMin: every lane keeps its best element and the index of it, and NaN is the best of all.

An element replaces one of a lower index only if it is better, or, where the last of equal elements is selected, equal:
the indices themselves are compared only where lanes and accumulators are merged.
"""

from __future__ import annotations

from functools import partial

from sardonyx._src.compile.codegen import Element, LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.reductions.reducers import Reducer, State, worst_value
from sardonyx._src.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ArgReduction:
    """The element whose index is returned: the maximum or the minimum, and the first or the last of equal ones."""

    is_max: bool
    select_last: bool = False

    @property
    def key(self) -> str:
        return f"arg_{'max' if self.is_max else 'min'}_{'last' if self.select_last else 'first'}"

    def reducer(self, element: Element) -> Reducer:
        """A state is [best element, its index], at first [worst value, 0].

        That index stays for no elements, and where the first of equal ones counts, if all have the worst value.
        """
        return Reducer(
            (worst_value(element, is_max=self.is_max), 0),
            partial(select_best, reduction=self),
            merge=partial(select_best, reduction=self, is_ordered=False),
            has_index=True,
        )


def select_best(
    b: KernelBuilder, x: State, y: State, reduction: ArgReduction, *, is_ordered: bool = True
) -> State:
    """The state with the better element; of equal elements the first or the last, as `reduction` says.

    is_ordered: whether the index of y is known to be greater than that of x.
    """
    (best, i), (value, j) = x, y
    replaces = is_better(value, best, is_max=reduction.is_max)
    if not is_ordered:
        replaces = replaces | (is_equal(best, value) & (j > i if reduction.select_last else j < i))
    elif reduction.select_last:
        replaces = replaces | is_equal(value, best)
    return b.select(replaces, value, best), b.select(replaces, j, i)


def is_better(x: LLVMValue, y: LLVMValue, *, is_max: bool) -> LLVMValue:
    """Whether x ranks before y; NaN ranks before all numbers."""
    is_beyond = x > y if is_max else x < y
    return is_beyond | (x.ne(x) & y.eq(y)) if x.type.is_float else is_beyond


def is_equal(x: LLVMValue, y: LLVMValue) -> LLVMValue:
    """Whether x and y rank equally; NaNs do."""
    equal = x.eq(y)
    return equal | (x.ne(x) & y.ne(y)) if x.type.is_float else equal
