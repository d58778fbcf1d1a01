"""Calls of infer facets on types that contain symbols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import TensorType, Type
from sardonyx._src.ir.dims import Dim, Expr, symbol
from sardonyx._src.ops.bind import plain
from sardonyx._src.ops.inference import Infer, Inference, Known
from sardonyx._src.ops.registry import find
from sardonyx._src.schema import exact


def floats(*dims: Dim | str) -> TensorType:
    """float[dims]; a dim given as text is a symbol."""
    return TensorType(DataType.FLOAT, tuple(symbol(d) if isinstance(d, str) else d for d in dims))


def infer_node(
    op_type: str,
    version: int,
    inputs: Sequence[Type | None],
    attributes: Mapping[str, object] | None = None,
    *,
    outputs: int = 1,
    known: Sequence[Known | None] = (),
    absent: Sequence[int] = (),
    bodies: Infer | None = None,
    domain: str = "",
) -> list[Type | None]:
    """The result of the infer facet; `absent` inputs are omitted, fresh symbols are `new0`, `new1`, …

    `bodies` replaces the inference of subgraphs.
    """
    op, schema, numbers = find(domain, op_type), exact(domain, op_type, version), count()
    assert op is not None and schema is not None
    defaults = {n: plain(a.default) for n, a in schema.attributes.items() if a.default is not None}

    def fresh() -> Expr:
        return symbol(f"new{next(numbers)}")

    inference = Inference(
        op_type=op_type,
        version=version,
        inputs=inputs,
        given=[i not in absent for i in range(len(inputs))],
        attributes={**defaults, **(attributes or {})},
        outputs=outputs,
        known=known,
        infer_graph=bodies,
        fresh=fresh,
    )
    answer = op.infers[version](inference)
    return list(answer) if isinstance(answer, Sequence) else [answer]
