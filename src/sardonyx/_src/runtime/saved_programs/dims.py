"""Dims as JSON: a number, or a list of terms, each a coefficient and its atoms.

An atom is the name of a symbol, or an operation on dims: `["//", a, b]`, `["max", a, b, c]`.
"""

from __future__ import annotations

from sardonyx._src.ir.dims import Expr, Known, symbol
from sardonyx._src.ir.dims.atoms import Atom, DimCall, Symbol
from sardonyx._src.ir.dims.substitution import DIM_OPERATIONS
from sardonyx._src.runtime.saved_programs.container import (
    Json,
    expect_integer,
    expect_list,
    expect_string,
    require,
)


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
