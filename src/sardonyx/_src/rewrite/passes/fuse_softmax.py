"""fuse-softmax: fuse exponentials, with the maximum subtracted, over their sum into Softmax.

Spec:    ReduceMax-1 -11 -12 -13 -18 -20, Sub-7 -13 -14, Exp-6 -13, ReduceSum-1 -11 -13, Div-7 -13 -14, Softmax-1 -11 -13
Before:  m = ReduceMax<axes = @axes, keepdims = 1>(x)  d = Sub(x, m)  e = Exp(d)
         s = ReduceSum<noop_with_empty_axes = @n, keepdims = 1>(e, k)  y = Div(e, s)
or
         m = ReduceMax<noop_with_empty_axes = @o, keepdims = 1>(x, j)  d = Sub(x, m)  e = Exp(d)
         s = ReduceSum<noop_with_empty_axes = @n, keepdims = 1>(e, k)  y = Div(e, s)
or
         m = ReduceMax<axes = @axes, keepdims = 1>(x)  d = Sub(x, m)  e = Exp(d)
         s = ReduceSum<axes = @k, keepdims = 1>(e)  y = Div(e, s)
After:   y = Softmax<axis = @axis>(x)
Keeps:   exponentials without a subtracted maximum, which overflow earlier; results up to rounding.
"""

from __future__ import annotations

from sardonyx._src.rewrite.api import Bindings, pattern
from sardonyx._src.rewrite.engine.match import Match


@pattern(phase="fuse")
def fuse_softmax(match: Match) -> Bindings | None:
    rank = match.rank("x")
    top, total = one_axis(match, "axes", "j", rank), one_axis(match, "k", "k", rank)
    if rank is None or top is None or top != total:
        return None
    assert match.root.graph is not None, "the match is in a graph"
    operator = match.edit.operator("", "Softmax", match.edit.imports(match.root.graph)[""])
    whole_rows = operator is not None and operator.version < 13
    return None if whole_rows and top != rank - 1 else {"axis": top}


def one_axis(match: Match, attribute: str, name: str, rank: int | None) -> int | None:
    """The single axis in an attribute or a constant, nonnegative; None if there are more."""
    axes = match.integers(attribute) if attribute in match.attributes else None
    if name in match.values:
        known = match.constant(name)
        axes = None if known is None else tuple(int(axis) for axis in known.reshape(-1))
    if axes is None or len(axes) != 1 or rank is None or not -rank <= axes[0] < rank:
        return None
    return axes[0] % rank
