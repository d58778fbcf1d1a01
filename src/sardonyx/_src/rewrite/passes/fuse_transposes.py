"""fuse-transposes: fuse two successive Transposes.

Spec:    Transpose-1 -13 -21 -23 -24 -25
Before:  a = Transpose<perm = @p>(x)  y = Transpose<perm = @q>(a)
After:   y = Transpose<perm = @r>(x)
Keeps:   intermediate values with other uses; results exactly.
"""

from __future__ import annotations

from sardonyx._src.rewrite.api import Bindings, pattern
from sardonyx._src.rewrite.engine.match import Match


@pattern(phase="simplify")
def fuse_transposes(match: Match) -> Bindings | None:
    first, second = match.integers("p"), match.integers("q")
    known = first or second
    if not known:
        return None  # both reverse all axes: the result is the identity, which cannot be written for an unknown rank or rank 0
    backwards = tuple(reversed(range(len(known))))
    first, second = first or backwards, second or backwards
    return {"r": tuple(first[axis] for axis in second)} if len(first) == len(second) else None
