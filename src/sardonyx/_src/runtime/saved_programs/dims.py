"""Dims as JSON: a number, or a list of terms, each a coefficient and its atoms.

An atom is the name of a symbol, or an operation on two dims: `["//", a, b]`.
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
    op, a, b = expect_list(value, 3)
    require(expect_string(op) in DIM_OPERATIONS, f"unknown operation {op} of dims")
    divisor = decode_dim(b)
    require(op in ("max", "min") or divisor != 0, "a dim is divided by zero")
    return DIM_OPERATIONS[expect_string(op)](decode_dim(a), divisor)


def encode_dims(dims: tuple[Known, ...]) -> Json:
    return [encode_dim(dim) for dim in dims]


def decode_dims(value: Json) -> tuple[Known, ...]:
    return tuple(decode_dim(dim) for dim in expect_list(value))
