"""fuse-log-softmax: fuse Softmax and Log into LogSoftmax.

Spec:    Softmax-1 -11 -13, Log-6 -13, LogSoftmax-1 -11 -13
Before:  s = Softmax<axis = @axis>(x)  y = Log(s)
After:   y = LogSoftmax<axis = @axis>(x)
Keeps:   a Softmax with other uses; results up to rounding.  Where Softmax underflows, the result is the logarithm instead
         of -inf.
"""

from __future__ import annotations

from sardonyx._src.rewrite.api import Bindings, pattern
from sardonyx._src.rewrite.engine.match import Match


@pattern(phase="fuse")
def fuse_log_softmax(match: Match) -> Bindings | None:
    return {}
