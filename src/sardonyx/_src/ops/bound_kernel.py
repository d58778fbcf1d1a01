"""Bound kernels: kernels of one node, for runs that repeat the element types and sizes of an earlier run.

A bind facet does once what depends only on attributes, constants and shapes.  A node without a bound kernel is evaluated by the
kernel of its eval facet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array, Node
from sardonyx._src.ops.persistent_sequence import RuntimeValue


class BoundInput(NamedTuple):
    """An input of a node, as far as all of these runs have it in common.

    shape, dtype: None if they are not known.
    array: the array that all of these runs read, as a constant or as memory that each of them writes; None if there is none.
    """

    shape: tuple[int, ...] | None = None
    dtype: np.dtype[np.generic] | None = None
    array: Array | None = None


@dataclass(frozen=True, slots=True)
class NodeBinding:
    """A node for which a bind facet may return a kernel.

    attributes: the values of the attributes, as kernels are given them.
    producers: a function of the number of an input, which returns the node that computes it; None unless that node is
        evaluated in Python as well, has one output, and nothing else reads this output.
    random_state: the state of the random numbers that a seed determines or, without one, of the session.
    max_iterations: the limit of the iterations of one loop.
    """

    node: Node
    attributes: Mapping[str, Any]
    inputs: tuple[BoundInput, ...]
    producers: Callable[[int], NodeBinding | None]
    random_state: Callable[
        [float | None], np.random.RandomState
    ]  # never evaluated, since numpy.random loads slowly
    max_iterations: int

    @property
    def operator(self) -> tuple[str, str]:
        """The domain and the name of the operator."""
        return self.node.domain, self.node.op_type


@dataclass(frozen=True, slots=True)
class BoundKernel:
    """The result of a bind facet.

    function: a function of the inputs.  Its results share no memory with them.
    replaces: the nodes before this one whose work the function does as well, in order.  Its argument is then input 0 of the first.
    takes_out: whether the keyword argument `out` may be a contiguous array for the result.
    """

    function: Callable[..., RuntimeValue]
    replaces: tuple[Node, ...] = ()
    takes_out: bool = False


BindFacet: TypeAlias = "Callable[[NodeBinding], BoundKernel | None]"
