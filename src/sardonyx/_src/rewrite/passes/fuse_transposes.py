"""fuse-transposes: two Transpose nodes in a row become one.

Spec:    Transpose-1 -13 -21 -23 -24 -25
Before:  a = Transpose<perm = @p>(x)  y = Transpose<perm = @q>(a)
After:   y = Transpose<perm = @r>(x)
Keeps:   values still read elsewhere; every bit.
"""

from __future__ import annotations

from sardonyx._src.rewrite.api import Bindings, pattern
from sardonyx._src.rewrite.match import Match


@pattern(phase="simplify")
def fuse_transposes(m: Match) -> Bindings | None:
    first, second = m.integers("p"), m.integers("q")
    known = first or second
    if known is None:
        return None  # both reverse all axes; without a rank there is no perm that says nothing
    backwards = tuple(reversed(range(len(known))))
    first, second = first or backwards, second or backwards
    return {"r": tuple(first[axis] for axis in second)} if len(first) == len(second) else None
