"""Candidate repairs: changes of constants that may hold the old size, tried if the model is inconsistent without them."""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.ir import Node
from sardonyx._src.ops.registry import find
from sardonyx._src.tools.set_dims.constants import constant_sizes
from sardonyx._src.tools.set_dims.probe import Probe
from sardonyx._src.tools.set_dims.repairs import InputRepair

MAX_TRIALS = 64


def candidate_repairs(node: Node, probe: Probe) -> Iterator[InputRepair]:
    """One candidate per entry of the node's sizes that is a multiple of the old size."""
    op = find(node.domain, node.op_type)
    slot = None if op is None else op.sizes_input
    if slot is None or slot >= len(node.inputs) or not probe.old:
        return
    sizes = constant_sizes(node.inputs[slot], probe.model)
    for index, entry in enumerate(sizes or ()):
        if (
            sizes is not None
            and entry > 0
            and entry % probe.old == 0
            and (entry == probe.old or probe.old > 1)
        ):
            yield InputRepair(node, slot, (*sizes[:index], probe.multiple(entry), *sizes[index + 1 :]))
