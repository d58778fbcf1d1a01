"""Parser of the canonical text of expressions.

    sum:      product, then any number of + product or - product
    product:  factor, then any number of * factor, // factor or % factor
    factor:   any number of -, then an int, a name, (sum), max(sum,...), min(sum,...) or opaque('digest')
    name:     an ASCII identifier, or any text in single quotes with \\ before each ' and \\ of the name

There is no white space.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from sardonyx._src.ir.dims.atoms import Atom, Opaque, Symbol
from sardonyx._src.ir.dims.extrema import dim_max, dim_min
from sardonyx._src.ir.dims.printing import IDENTIFIER

if TYPE_CHECKING:  # expr imports this module
    from sardonyx._src.ir.dims.expr import Expr, Known

MAX_TEXT = 1 << 14  # longest text, in characters
# Nested parentheses: at least two for each of the nested calls that `polynomials.MAX_DEPTH` allows.
MAX_NESTING = 40

DIM_TOKEN = re.compile(r"[0-9]+|[A-Za-z_][A-Za-z0-9_]*|'(?:[^'\\]|\\['\\])*'|//|[-+*%(),]")
OPAQUE_DIGEST = re.compile(r"'[0-9a-f]{32}'")


class DimParser:
    """Recursive-descent parser of one text; each rule of the grammar is a method, and `whole` parses the text."""

    def __init__(self, text: str, new_atom: Callable[[Atom], Expr]) -> None:
        """new_atom: returns an atom as an expression.  Raises ValueError for more than MAX_TEXT characters."""
        if len(text) > MAX_TEXT:
            raise ValueError(f"the dim expression must have at most {MAX_TEXT} characters; got {len(text)}")
        self.text = text
        self.new_atom = new_atom
        self.position = 0  # where the next token starts
        self.token = ""  # the next token, empty at the end
        self.nesting = 0
        self.advance(0)

    def whole(self) -> Known:
        dim = self.sum()
        if self.token:
            raise self.error("an operator or the end")
        return dim

    def sum(self) -> Known:
        total = self.product()
        while self.token in ("+", "-"):
            sign = self.take()
            addend = self.product()
            total = total + addend if sign == "+" else total - addend
        return total

    def product(self) -> Known:
        result = self.factor()
        while self.token in ("*", "//", "%"):
            position, op = self.position, self.take()
            operand = self.factor()
            if op == "*":
                result = result * operand
            elif operand == 0:
                raise ValueError(f"dim expression, character {position}: division by zero")
            else:
                result = result // operand if op == "//" else result % operand
        return result

    def factor(self) -> Known:
        sign = 1
        while self.token == "-":
            self.take()
            sign = -sign
        return sign * self.primary()

    def primary(self) -> Known:
        token = self.take()
        if token == "(":
            return self.arguments()[0]
        if token in ("max", "min", "opaque") and self.token == "(":
            self.take()
            return self.call(token)
        if token.isdecimal():
            return int(token)
        if token[:1] == "'":
            return self.new_atom(Symbol(re.sub(r"\\(.)", r"\1", token[1:-1])))
        if IDENTIFIER.fullmatch(token):
            return self.new_atom(Symbol(token))
        self.position -= len(token)
        raise self.error("a number, a name or (")

    def call(self, function: str) -> Known:
        if function != "opaque":
            dims = self.arguments(many=True)
            return dim_max(*dims) if function == "max" else dim_min(*dims)
        if not OPAQUE_DIGEST.fullmatch(self.token):
            raise self.error("a digest of 32 hexadecimal digits in quotes")
        digest = self.take()[1:-1]
        self.close()
        return self.new_atom(Opaque(digest))

    def arguments(self, *, many: bool = False) -> list[Known]:
        """One dim, or several separated by commas, up to and including the closing parenthesis."""
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            raise ValueError(f"the dim expression must nest at most {MAX_NESTING} parentheses")
        dims = [self.sum()]
        while many and self.token == ",":
            self.take()
            dims.append(self.sum())
        self.close()
        self.nesting -= 1
        return dims

    def close(self) -> None:
        if self.token != ")":
            raise self.error(")")
        self.take()

    def take(self) -> str:
        """Consumes the current token, which is returned."""
        token = self.token
        self.advance(self.position + len(token))
        return token

    def advance(self, position: int) -> None:
        self.position = position
        match = DIM_TOKEN.match(self.text, position)
        if match is None and position < len(self.text):
            raise self.error("a number, a name, an operator or a parenthesis")
        self.token = match[0] if match else ""

    def error(self, expected: str) -> ValueError:
        rest = self.text[self.position : self.position + 20]
        got = repr(rest) if rest else "the end"
        return ValueError(f"dim expression, character {self.position}: expected {expected}; got {got}")
