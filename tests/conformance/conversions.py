"""Official cases under other versions of their operator sets."""

from __future__ import annotations

from collections.abc import Collection

from sardonyx._src.convert.conversion import convert
from sardonyx._src.ir import Model
from sardonyx._src.ir.verify import verify
from sardonyx._src.schema import newest

Target = tuple[str, int]  # domain, version


def targets_of(model: Model, versions: Collection[int] = ()) -> list[Target]:
    """Every other version of the operator sets that the model uses."""
    used = {"ai.onnx.ml"} & set(model.opset_imports) or {""} & set(model.opset_imports)
    return [
        (domain, version)
        for domain in sorted(used)
        for version in range(1, newest(domain) + 1)
        if version != model.opset_imports[domain] and (not versions or version in versions)
    ]


def convert_to(model: Model, target: Target) -> Model:
    """Converts the model to another version of one operator set, and verifies that the result is well formed."""
    domain, version = target
    result = convert(model, sets={domain: version})
    verify(result)
    return result
