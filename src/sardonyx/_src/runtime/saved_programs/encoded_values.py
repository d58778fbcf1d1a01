"""Values of a document as JSON: dims, assumptions, declarations, and the interface of a model.

A dim is a number, or a list of terms, each a coefficient and its atoms.  An atom is the name of a symbol, or an operation on
dims: `["//", a, b]`, `["max", a, b, c]`.

Assumptions are a list of rounds (`specialization/compilation.py`), each a list of pairs.  A pair is one of
- the output of an If, and whether it takes its then_branch;
- a value, and its rank;
- an input, and its elements: their type, their shape, and their bytes in hexadecimal.
"""

from __future__ import annotations

import math
from typing import cast

import numpy as np

from sardonyx._src.compile.program.encoding.size_limits import MAX_INT64
from sardonyx._src.compile.program.steps.assumptions import (
    MAX_PARAMETER_ELEMENTS,
    Assumption,
    Assumptions,
    BranchTaken,
    ElementsObserved,
    RankObserved,
)
from sardonyx._src.compile.program.steps.cached_count import CachedCount, CacheName
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Graph, Model, TensorType, Type, Value
from sardonyx._src.ir.dims import Dim, Expr, Known, has_opaque_part, symbol
from sardonyx._src.ir.dims.atoms import Atom, DimCall, Symbol
from sardonyx._src.ir.dims.substitution import DIM_OPERATIONS
from sardonyx._src.runtime.declarations.inner_declarations import OpenDim, StaticDeclarations
from sardonyx._src.runtime.saved_programs.container import (
    Json,
    expect_integer,
    expect_list,
    expect_object,
    expect_string,
    require,
)

MAX_RANK = 64
MAX_COUNT = 1 << 20  # of blocks in a cache

# --- counts ------------------------------------------------------------------------------------


def encode_count(count: CachedCount) -> Json:
    """The fields of a count, in order."""
    return [count.cache, count.block_bytes, count.resident_bytes, count.least, count.most, count.otherwise]


def decode_count(entry: Json) -> CachedCount:
    name, *numbers = expect_list(entry, 6)
    require(name in ("own", "last"), f"unknown cache {name!r}")
    block, resident, least, most, otherwise = (expect_integer(number, MAX_INT64) for number in numbers)
    require(block > 0, "a block must have bytes")
    require(0 < otherwise <= most <= MAX_COUNT and least > 0, f"a count of {otherwise} to {most} blocks")
    return CachedCount(cast(CacheName, name), block, resident, least, most, otherwise)


# --- dims --------------------------------------------------------------------------------------


def encode_dim(dim: Known) -> Json:
    if not isinstance(dim, Expr):
        return dim
    return [[factor, [encode_atom(atom) for atom in monomial]] for monomial, factor in dim.terms.items()]


def encode_atom(atom: Atom) -> Json:
    if isinstance(atom, Symbol):
        return atom.name
    assert isinstance(atom, DimCall), f"{atom} cannot be computed"
    return [atom.op, *(encode_dim(arg) for arg in atom.args)]


def decode_dim(value: Json) -> Known:
    """The dim; raises DecodeError if the value does not encode one."""
    if isinstance(value, int):
        return expect_integer(value)
    total: Known = 0
    for term in expect_list(value):
        factor, atoms = expect_list(term, 2)
        product: Known = expect_integer(factor)
        for atom in expect_list(atoms):
            product = product * decode_atom(atom)
        total = total + product
    return total


def decode_atom(value: Json) -> Known:
    if isinstance(value, str):
        return symbol(value)
    op, *args = expect_list(value)
    name, dims = expect_string(op), [decode_dim(arg) for arg in args]
    require(name in DIM_OPERATIONS, f"unknown operation {name} of dims")
    if name in ("max", "min"):
        require(len(dims) >= 2, f"{name} expects at least 2 dims; got {len(dims)}")
    else:
        require(len(dims) == 2, f"{name} expects 2 dims; got {len(dims)}")
        require(dims[1] != 0, "a dim is divided by zero")
    return DIM_OPERATIONS[name](*dims)


def encode_dims(dims: tuple[Known, ...]) -> Json:
    return [encode_dim(dim) for dim in dims]


def decode_dims(value: Json) -> tuple[Known, ...]:
    return tuple(decode_dim(dim) for dim in expect_list(value))


# --- assumptions -------------------------------------------------------------------------------


def encode_assumptions(assumptions: Assumptions) -> Json:
    return [[encode_assumption(a) for a in sorted(round_, key=str)] for round_ in assumptions]


def encode_assumption(assumption: Assumption) -> Json:
    match assumption:
        case BranchTaken(output, is_then):
            return [output, is_then]
        case RankObserved(value, rank):
            return [value, rank]
        case ElementsObserved(input, dtype, shape, data):
            return [input, [dtype, list(shape), data.hex()]]


def decode_assumptions(entry: Json) -> Assumptions:
    """The assumptions; raises DecodeError for JSON that `encode_assumptions` cannot have returned."""
    return tuple(frozenset(map(decode_assumption, expect_list(round_))) for round_ in expect_list(entry))


def decode_elements(name: str, entry: Json) -> ElementsObserved:
    dtype, shape, data = expect_list(entry, 3)
    element_type = np.dtype(expect_string(dtype))
    dims = tuple(expect_integer(dim, MAX_PARAMETER_ELEMENTS) for dim in expect_list(shape))
    elements = bytes.fromhex(expect_string(data))
    count = math.prod(dims)
    require(
        element_type.kind in "biuf" and len(elements) == count * element_type.itemsize, "elements are damaged"
    )
    return ElementsObserved(name, element_type.name, dims, elements)


def decode_assumption(entry: Json) -> Assumption:
    name, assumed = expect_list(entry, 2)
    if isinstance(assumed, bool):
        return BranchTaken(expect_string(name), is_then=assumed)
    if isinstance(assumed, list):
        return decode_elements(expect_string(name), assumed)
    return RankObserved(expect_string(name), expect_integer(assumed, MAX_RANK))


# --- declarations ------------------------------------------------------------------------------


def encode_declarations(declarations: StaticDeclarations) -> Json:
    """A list of the fields of `StaticDeclarations`, in their order."""
    contradictions: Json = [[*pair] for pair in declarations.contradictions]
    dims: list[Json] = [
        list(map(encode_open_dim, dims)) for dims in (declarations.open_dims, declarations.conditional_dims)
    ]
    return [declarations.hold, contradictions, *dims]


def encode_open_dim(dim: OpenDim) -> Json:
    return [dim.location, dim.type, encode_dim(dim.declared), encode_dim(dim.actual)]


def decode_declarations(entry: Json) -> StaticDeclarations:
    """The declarations; raises DecodeError for JSON that `encode_declarations` cannot have returned."""
    hold, contradictions, *dims = expect_list(entry, 4)
    pairs = [expect_list(pair, 2) for pair in expect_list(contradictions)]
    return StaticDeclarations(
        hold is True,
        tuple((expect_string(where), expect_string(why)) for where, why in pairs),
        *(tuple(map(decode_open_dim, expect_list(group))) for group in dims),
    )


def decode_open_dim(entry: Json) -> OpenDim:
    location, type, declared, actual = expect_list(entry, 4)
    return OpenDim(expect_string(location), expect_string(type), decode_dim(declared), decode_dim(actual))


# --- interfaces --------------------------------------------------------------------------------


def encode_interface(model: Model) -> Json:
    """The inputs without defaults, and the outputs, each as a name and the encoded type."""
    inputs = [v for v in model.graph.inputs if v.initializer is None]
    return {
        "ir_version": model.ir_version,
        "inputs": [encode_port(v) for v in inputs],
        "outputs": [encode_port(v) for v in model.graph.outputs],
        "has_defaults": len(inputs) < len(model.graph.inputs),
    }


def encode_port(value: Value) -> Json:
    return [value.name, None if value.type is None else encode_type(value.type)]


def decode_interface(entry: Json) -> Model:
    """A model with only these inputs and outputs."""
    interface = expect_object(entry)
    version = expect_integer(interface["ir_version"])
    graph = Graph("saved", [decode_port(port, version) for port in expect_list(interface["inputs"])])
    graph.outputs = [decode_port(port, version) for port in expect_list(interface["outputs"])]
    return Model(graph, ir_version=version, opset_imports={})


def decode_port(entry: Json, ir_version: int) -> Value:
    name, type = expect_list(entry, 2)
    decoded = None if type is None else decode_type(type, expect_string(name), ir_version)
    return Value(expect_string(name), decoded)


def encode_type(type: Type) -> Json:
    """The element type and the dims of a tensor, if it has nothing else; any other type as in a model, in hexadecimal."""
    if isinstance(type, TensorType) and type == TensorType(type.dtype, type.shape):
        dims = () if type.shape is None else type.shape
        if not any(isinstance(dim, Expr) and has_opaque_part(dim) for dim in dims):
            return [
                int(type.dtype),
                None if type.shape is None else [encode_open_length(dim) for dim in dims],
            ]
    # Lazy: most ports are plain tensors.
    from sardonyx._src.io.serde.types import type_to
    from sardonyx._src.proto.binary import encode

    return encode(type_to(type)).hex()


def encode_open_length(dim: Dim) -> Json:
    return None if dim is None else encode_dim(dim)


def decode_type(entry: Json, name: str, ir_version: int) -> Type | None:
    if isinstance(entry, list):
        dtype, shape = expect_list(entry, 2)
        dims = (
            () if shape is None else tuple(None if d is None else decode_dim(d) for d in expect_list(shape))
        )
        return TensorType(DataType.from_number(expect_integer(dtype)), None if shape is None else dims)
    # Lazy: most ports are plain tensors.
    from sardonyx._src.io.serde.types import type_from
    from sardonyx._src.proto.binary import decode
    from sardonyx._src.proto.messages import TypeProto

    return type_from(decode(bytes.fromhex(expect_string(entry)), TypeProto), name, ir_version)
