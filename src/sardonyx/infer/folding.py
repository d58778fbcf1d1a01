"""Values that are known before a model runs: elements of small tensors, as numbers or as expressions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sardonyx.errors import ExternalDataError, SardonyxError
from sardonyx.ir.graph import Graph, Node
from sardonyx.ir.tensors import Tensor
from sardonyx.ir.types import TensorType, Type
from sardonyx.ops.api import Kernel, Operator, RunLimits, RuntimeValue
from sardonyx.ops.inference import Inference, Known

MOST = 4096  # elements; what is larger computes no shape


@dataclass(slots=True)
class FoldingCall:
    """The `call` of a kernel that runs on constants alone."""

    version: int
    wanted: tuple[bool, ...]
    limits: RunLimits = field(default_factory=lambda: RunLimits(bytes=1 << 24, iterations=1 << 16))

    def run(self, graph: Graph, inputs: Sequence[RuntimeValue]) -> list[RuntimeValue]:
        raise AssertionError("nodes with subgraphs are not folded")

    def generator(self, seed: float | None) -> np.random.Generator:
        raise AssertionError("random operators are not folded")


def constant(tensor: object) -> Known | None:
    """The elements of a small dense tensor; None for others, and for external ones whose data are not at hand."""
    if not isinstance(tensor, Tensor) or tensor.size > MOST:
        return None
    try:
        return tensor.numpy()
    except ExternalDataError:
        return None


def known_outputs(
    op: Operator, inference: Inference, node: Node, types: Sequence[Type | None]
) -> Sequence[Known | None]:
    """What is known of the elements of the node's outputs."""
    if not any(k is not None for k in inference.known) and not is_source(op, inference):
        return ()
    kernel = op.kernels.get(inference.version)
    if kernel is not None and can_fold(op, inference, node, types):
        return folded(kernel, inference, node)
    facet = op.values.get(inference.version)
    found = facet(inference) if facet is not None else None
    if found is None:
        return ()
    if found.size > MOST:
        return ()
    return (numbers(found, types[0] if types else None),)


def is_source(op: Operator, inference: Inference) -> bool:
    """Whether elements may be known though none of the inputs' are: shapes, constants."""
    return inference.version in op.values or not inference.inputs


def can_fold(op: Operator, inference: Inference, node: Node, types: Sequence[Type | None]) -> bool:
    """Whether the kernel can simply be run: all numbers, nothing random, small results."""
    if op.is_random or node.subgraphs:
        return False
    for i, given in enumerate(inference.given):
        if given and inference.constant(i) is None:
            return False
    return bool(types) and all(is_small(t) for t in types)


def is_small(type: Type | None) -> bool:
    if not isinstance(type, TensorType) or type.shape is None:
        return False
    sizes = [d for d in type.shape if isinstance(d, int)]
    return len(sizes) == len(type.shape) and math.prod(sizes) <= MOST


def folded(kernel: Kernel, inference: Inference, node: Node) -> Sequence[Known | None]:
    attributes: Mapping[str, object] = {k: v for k, v in inference.attributes.items() if k in kernel.keywords}
    if kernel.wants_call:
        call = FoldingCall(inference.version, tuple(bool(v.name) for v in node.outputs))
        attributes = {**attributes, "call": call}
    inputs = [inference.constant(i) for i in range(len(inference.given))]
    with np.errstate(all="ignore"):
        try:
            result = kernel.function(*inputs, **attributes)
        except (SardonyxError, ValueError, IndexError, ZeroDivisionError):
            return ()  # the run itself will say what is wrong, if it ever comes here
    results = result if isinstance(result, tuple) else (result,)
    return [
        np.asarray(r) if isinstance(r, np.ndarray | np.generic) and np.size(r) <= MOST else None
        for r in results
    ]


def numbers(found: Known, type: Type | None) -> Known:
    """Known elements as an array of the element type when all of them are numbers."""
    if found.dtype != object or not isinstance(type, TensorType):
        return found
    plain = found.reshape(-1).tolist()
    if all(isinstance(e, int | float | bool) for e in plain):
        return found.astype(type.dtype.numpy)
    return found
