"""SX031 default-import-missing: the model imports other operator sets, but not that of ONNX itself.

Clause: onnx.proto, ModelProto.opset_import
Catalogue: OPS-02
Why:    onnx.proto requires an entry for the ONNX set in every model; some readers refuse a model without one.
Bad:    <opset_import: ["ai.onnx.ml": 3]> g (float[2] x) => (float[2] y) { y = ai.onnx.ml.Binarizer(x) }
Good:   <opset_import: ["ai.onnx.ml": 3, "": 15]> g (float[2] x) => (float[2] y) { y = ai.onnx.ml.Binarizer(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.analysis.reads import graphs_of
from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import ModelProto
from sardonyx._src.proto.record import brief
from sardonyx._src.schema import canonical


@rule("SX031", "warning", visits=ModelProto, since=3, group="strict")
def check_default_import_missing(model: ModelProto, context: RuleContext) -> Iterator[Finding]:
    """Not reported if a node uses the set, which SX032 reports."""
    if model.opset_import and "" not in context.document.imports and not uses_default_set(model):
        message = f"the only imported sets are {', '.join(map(brief, sorted(context.document.imports)))}"
        yield Finding("opset_import", message, "import the version of ai.onnx that the model was written for")


def uses_default_set(model: ModelProto) -> bool:
    """Whether a node outside of functions, which have imports of their own, is of the ONNX set."""
    return any(
        not canonical(node.domain)
        for path, graph in graphs_of(model)
        if not path.startswith("functions")
        for node in graph.node
    )
