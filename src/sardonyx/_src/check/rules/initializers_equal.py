"""SX906 initializers-equal: initializers of one graph have the same type, shape and data.

Clause: none: the specification allows it
Catalogue: -
Why:    one of them would do.  From 1 MiB on that is a warning; small ones and external ones are not compared,
        and of large ones only as many as 8 MiB of reading allow.
Bad:    g (float[4, 4] x) => (float[4, 4] y)
          <float[4, 4] v = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7},
           float[4, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7}> { a = Add(x, v) y = Add(a, w) }
Good:   g (float[4, 4] x) => (float[4, 4] y)
          <float[4, 4] v = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7}> { a = Add(x, v) y = Add(a, v) }
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from sardonyx._src.check.api import Finding, Severity, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.equality import Fingerprint, fingerprint, sample
from sardonyx._src.check.tensors import bytes_of
from sardonyx._src.proto.messages import GraphProto
from sardonyx._src.proto.record import brief

SMALL, LARGE = 64, 1 << 20  # bytes
MOST = 1 << 23  # bytes of one graph that are read in all: a look at a tensor brings PAGE of them into memory
PAGE = 1 << 19


@rule("SX906", "info", visits=GraphProto, needs="initializer", unless="SX103 SX300 SX301 SX302 SX305 SX306")
def initializers_equal(graph: GraphProto, context: Context) -> Iterator[Finding]:
    budget = MOST
    for group in alike(graph):
        size = bytes_of(graph.initializer[group[0]]) or 0
        cost = len(group) * min(size, PAGE)
        if cost > budget:
            continue
        budget -= cost
        samples = {i: sample(graph.initializer[i]) for i in group}
        common = Counter(samples.values())
        first: dict[Fingerprint, int] = {}
        for i in group:
            if not samples[i] or common[samples[i]] == 1 or budget < size:
                continue
            budget -= size
            j = first.setdefault(fingerprint(graph.initializer[i]), i)
            if j != i:
                severity: Severity = "warning" if size >= LARGE else "info"
                name, other = (brief(graph.initializer[k].name) for k in (i, j))
                yield Finding(f"initializer[{i}]", f"{name} holds the same as {other}", "keep one", severity)


def alike(graph: GraphProto) -> list[list[int]]:
    """The initializers of the same type and shape, where there are several, the fewest first."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for i, tensor in enumerate(graph.initializer):
        if (bytes_of(tensor) or 0) >= SMALL:
            groups.setdefault((tensor.data_type, *tensor.dims), []).append(i)
    return sorted((group for group in groups.values() if len(group) > 1), key=len)
