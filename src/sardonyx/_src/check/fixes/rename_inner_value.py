"""rename-inner-value: renames a value of a nested graph that has the name of an outer one.

Keeps: the meaning of each read: the inner value after the node that defines it, or everywhere if it is an input or
initializer.
Leaves: graphs of training steps, to whose names bindings refer.
"""

from __future__ import annotations

from sardonyx._src.check.fixing.api import Violation, fix
from sardonyx._src.check.fixing.renaming import has_unique_names, rename_values


@fix("SX120 SX121")
def rename_inner_value(violation: Violation) -> str:
    """Renames all such values of the body at once."""
    body, outer = violation.body, violation.body.outer
    if body.kind != "nested" or outer is None or not has_unique_names(body):
        return ""
    if not violation.fix_pass.is_new("rename", body.record):
        return ""
    defined = dict.fromkeys((*body.inputs, *body.initializers, *body.producers))
    shadowing = [name for name in defined if name and outer.is_visible(name, body.outer_node)]
    rename_values(body, {name: violation.fix_pass.fresh(name) for name in shadowing}, shadowing)
    return f"renamed the inner {', '.join(map(repr, shadowing[:8]))}{' ...' * (len(shadowing) > 8)}"
