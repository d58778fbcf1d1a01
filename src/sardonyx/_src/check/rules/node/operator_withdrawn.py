"""SX225 operator-withdrawn: the imported version of ai.onnx no longer has this experimental operator.

Clause: IR.md, "Operators"; ManagingExperimentalOps.md
Catalogue: NOD-02
Why:    the specification defines the operator up to an earlier version of the set; other readers refuse it.
Bad:    <opset_import: ["": 23]> g (float[1, 3, 2, 2] x) => (float[1, 3, 2, 2] y) { y = ImageScaler <scale = 2.0> (x) }
Good:   <opset_import: ["": 23]> g (float[1, 3, 2, 2] x) => (float[1, 3, 2, 2] y) <float s = {2}> { y = Mul (x, s) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.engine.body import is_known_version
from sardonyx._src.proto.messages import NodeProto
from sardonyx._src.schema import canonical, last_version


@rule("SX225", visits=NodeProto, cached_by_fingerprint=True, suppressed_by="SX002")
def check_operator_withdrawn(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    last = last_version(canonical(node.domain), node.op_type)
    if last is None or context.body is None or context.callee is not None:
        return
    version = context.body.imports.get("")
    if version is not None and version > last and is_known_version("", version):
        message = f"{node.op_type} was an experiment, which existed up to version {last} of ai.onnx; got version {version}"
        has_substitute = (
            context.schema is not None
        )  # a withdrawn operator has a signature if `convert` can replace it
        remedy = (
            "replace it with `sardonyx convert`" if has_substitute else "replace it with standard operators"
        )
        yield Finding("", message, f"{remedy}, or import version {last}")
