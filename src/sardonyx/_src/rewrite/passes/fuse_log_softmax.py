"""fuse-log-softmax: the logarithm of Softmax is LogSoftmax.

Spec:    Softmax-1 -11 -13, Log-6 -13, LogSoftmax-1 -11 -13
Before:  s = Softmax<axis = @axis>(x)  y = Log(s)
After:   y = LogSoftmax<axis = @axis>(x)
Keeps:   Softmax read elsewhere; results up to rounding, but where Softmax is too small for a float, and its logarithm was
         -inf, the logarithm itself comes out.
"""

from __future__ import annotations

from sardonyx._src.rewrite.api import Bindings, pattern
from sardonyx._src.rewrite.match import Match


@pattern(phase="fuse")
def fuse_log_softmax(m: Match) -> Bindings | None:
    return {}
