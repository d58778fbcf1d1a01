"""rename-inner-value: a value of a nested graph that has the name of one around it gets a name of its own.

Keeps: who reads which of the two: the inner one is meant behind the node that makes it, or throughout if it is an input
or initializer.
Leaves: graphs of training steps, whose names bindings go by.
"""

from __future__ import annotations

from sardonyx._src.check.mends import Fault, fix
from sardonyx._src.check.renaming import is_plain, rename_values


@fix("SX120 SX121")
def rename_inner_value(fault: Fault) -> str:
    """Renames all such values of the body at once."""
    body, outer = fault.body, fault.body.outer
    if body.kind != "nested" or outer is None or not is_plain(body):
        return ""
    if not fault.round.is_new("rename", body.record):
        return ""
    own = dict.fromkeys((*body.inputs, *body.initializers, *body.writers))
    taken = [name for name in own if name and outer.sees(name, body.holder)]
    rename_values(body, {name: fault.round.fresh(name) for name in taken}, taken)
    return f"renamed the inner {', '.join(map(repr, taken[:8]))}{' ...' * (len(taken) > 8)}"
