"""SX906 initializers-equal: initializers of one graph have the same type, shape and data.

Clause: none: the specification allows it
Catalogue: -
Why:    one of them suffices.  From 1 MiB on, this is a warning; small and external ones are not compared, and large ones
        only within a budget of 8 MiB read per graph.
Bad:    g (float[4, 4] x) => (float[4, 4] y)
          <float[4, 4] v = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7},
           float[4, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7}> { a = Add(x, v) y = Add(a, w) }
Good:   g (float[4, 4] x) => (float[4, 4] y)
          <float[4, 4] v = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7}> { a = Add(x, v) y = Add(a, v) }
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator

from sardonyx._src.check.engine import Finding, RuleContext, Severity, rule
from sardonyx._src.check.records.equality import DataHash, hash_data, sample
from sardonyx._src.check.records.tensors import bytes_of
from sardonyx._src.proto.messages import GraphProto
from sardonyx._src.proto.record import brief

MIN_COMPARED_BYTES, WARNING_BYTES = 64, 1 << 20  # bytes
MAX_READ_BYTES = 1 << 23  # per graph
SAMPLE_COST_BYTES = 1 << 19  # a sample maps more of the file than it reads


@rule(
    "SX906",
    "info",
    visits=GraphProto,
    needs="initializer",
    suppressed_by="SX103 SX300 SX301 SX302 SX305 SX306",
)
def check_initializers_equal(graph: GraphProto, context: RuleContext) -> Iterator[Finding]:
    budget = MAX_READ_BYTES
    for group in same_type_groups(graph, context.document.bound_names):
        size = bytes_of(graph.initializer[group[0]]) or 0
        cost = len(group) * min(size, SAMPLE_COST_BYTES)
        if cost > budget:
            continue
        budget -= cost
        samples = {i: sample(graph.initializer[i]) for i in group}
        common = Counter(samples.values())
        first: dict[DataHash, int] = {}
        for i in group:
            if not samples[i] or common[samples[i]] == 1 or budget < size:
                continue
            budget -= size
            j = first.setdefault(hash_data(graph.initializer[i]), i)
            if j != i:
                severity: Severity = "warning" if size >= WARNING_BYTES else "info"
                name, other = (brief(graph.initializer[k].name) for k in (i, j))
                yield Finding(f"initializer[{i}]", f"{name} equals {other}", "keep one", severity)


def same_type_groups(graph: GraphProto, state: Container[str]) -> list[list[int]]:
    """The groups of several initializers with the same type and shape that are no state, smallest groups first."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for i, tensor in enumerate(graph.initializer):
        if (bytes_of(tensor) or 0) >= MIN_COMPARED_BYTES and tensor.name not in state:
            groups.setdefault((tensor.data_type, *tensor.dims), []).append(i)
    return sorted((group for group in groups.values() if len(group) > 1), key=len)
