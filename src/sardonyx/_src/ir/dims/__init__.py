"""Dims of tensors: numbers, exact expressions over named sizes, or nothing known.

A `Dim` is an int, an `Expr`, or None (nothing is known).  An `Expr` is a polynomial with integer coefficients
over symbols and over what no polynomial says: `//`, `%`, `max` and `min`.  Symbols stand for integers >= 0;
every simplification is exact under that assumption and Python's floor semantics, wherever no divisor is zero.
Whatever turns out constant is an `int`, so an `Expr` never equals an int.

None is no operand of `+ - * // %`.  The functions of this package take it wherever they take a dim: arithmetic
answers None when any operand is None, and a question answers None when the answer is not known.

Expressions have a size that no sensible model comes near (`expr.MAX_TERMS` and its neighbours).  A result beyond
it becomes `opaque('...')`: a value that equals itself, with no bounds, no symbols and no evaluation.  The same sum
or product, grouped otherwise, may become another one; that they are equal is then not known.
"""

from sardonyx._src.ir.dims.bounds import bounds, known_equal, known_ge
from sardonyx._src.ir.dims.division import ceil_div, exact_div
from sardonyx._src.ir.dims.expr import Dim, Expr, Known, symbol
from sardonyx._src.ir.dims.extrema import dim_max, dim_min
from sardonyx._src.ir.dims.parsing import from_param, parse
from sardonyx._src.ir.dims.unknown import dim_add, dim_floordiv, dim_mod, dim_mul, dim_sub
from sardonyx._src.ir.dims.values import evaluate

__all__ = [
    "Dim",
    "Expr",
    "Known",
    "bounds",
    "ceil_div",
    "dim_add",
    "dim_floordiv",
    "dim_max",
    "dim_min",
    "dim_mod",
    "dim_mul",
    "dim_sub",
    "evaluate",
    "exact_div",
    "from_param",
    "known_equal",
    "known_ge",
    "parse",
    "symbol",
]
