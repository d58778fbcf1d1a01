"""Constants that may hold the size in question, tried where the model contradicts itself without."""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.ir.graph import Node
from sardonyx._src.rewrite.tools.set_dims.answers import Sizes
from sardonyx._src.rewrite.tools.set_dims.constants import entries
from sardonyx._src.rewrite.tools.set_dims.probe import Probe

SLOTS = {"ConstantOfShape": 0, "Expand": 1, "Tile": 1, "Reshape": 1, "Slice": 2, "Split": 1}
MOST_TRIALS = 64


def guesses(node: Node, probe: Probe) -> Iterator[Sizes]:
    """The node with one entry of its sizes put in question, for each that is the old size or a multiple of it."""
    slot = SLOTS.get(node.op_type)
    if slot is None or node.domain or slot >= len(node.inputs) or not probe.old:
        return
    found = entries(node.inputs[slot], probe.model)
    for at, entry in enumerate(found or ()):
        if (
            found is not None
            and entry > 0
            and entry % probe.old == 0
            and (entry == probe.old or probe.old > 1)
        ):
            yield Sizes(node, slot, (*found[:at], probe.multiple(entry), *found[at + 1 :]))
