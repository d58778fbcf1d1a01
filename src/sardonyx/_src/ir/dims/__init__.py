"""Dims of tensors: numbers, exact expressions over named sizes, or unknown.

A `Dim` is an int, an `Expr`, or None (unknown); `Known` is a `Dim` that is not None.  An `Expr` is a polynomial with
integer coefficients over symbols and over calls of `//`, `%`, `max` and `min` that cannot be simplified.  A symbol is an
integer of at least 0, or of at least its own lower bound (`symbol("N", low=1)`).  Every simplification is exact under
that assumption and Python's floor semantics, wherever no divisor is zero.  A constant result is an `int`, so an `Expr`
never equals an int.

None is not an operand of `+ - * // %`.  The functions of this package accept it wherever they accept a dim:
arithmetic returns None if an operand is None, and queries return None if the answer is not known.

The size of expressions is limited, far above what models need (`polynomials.MAX_TERMS` and the other limits
there).  A larger result becomes `opaque('...')`: a value that equals itself, without bounds, symbols or
evaluation.  The same sum or product, grouped differently, may become a different opaque value; their equality
is then not known.
"""

from sardonyx._src.ir.dims.arithmetic import dim_add, dim_floordiv, dim_mod, dim_mul, dim_product, dim_sub
from sardonyx._src.ir.dims.atoms import has_opaque_part
from sardonyx._src.ir.dims.bounds import bounds, known_equal, known_ge
from sardonyx._src.ir.dims.division import ceil_div, exact_div
from sardonyx._src.ir.dims.expr import Dim, Expr, Known, from_param, is_placeholder, parse, symbol
from sardonyx._src.ir.dims.extrema import dim_max, dim_min
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
    "dim_product",
    "dim_sub",
    "evaluate",
    "exact_div",
    "from_param",
    "has_opaque_part",
    "is_placeholder",
    "known_equal",
    "known_ge",
    "parse",
    "symbol",
]
