"""SX031 default-import-missing: the model imports other operator sets, but not that of ONNX itself.

Clause: onnx.proto, ModelProto.opset_import
Catalogue: OPS-02
Why:    onnx.proto wants an entry for the ONNX set in every model; some readers refuse a model without.
Bad:    <opset_import: ["ai.onnx.ml": 3]> g (float[2] x) => (float[2] y) { y = ai.onnx.ml.Binarizer(x) }
Good:   <opset_import: ["ai.onnx.ml": 3, "": 15]> g (float[2] x) => (float[2] y) { y = ai.onnx.ml.Binarizer(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx.check.api import Finding, rule
from sardonyx.check.context import Context
from sardonyx.proto.messages import ModelProto
from sardonyx.proto.record import brief


@rule("SX031", "warning", visits=ModelProto, since=3, unless="SX032")
def default_import_missing(model: ModelProto, context: Context) -> Iterator[Finding]:
    if model.opset_import and "" not in context.document.imports:
        says = f"imported are only {', '.join(map(brief, sorted(context.document.imports)))}"
        yield Finding("opset_import", says, "import the version of ai.onnx that the model was written for")
