"""Texts read as expressions, and the text of an expression by itself.

    sum:      product, then any number of + product or - product
    product:  factor, then any number of * factor, // factor or % factor
    factor:   any number of -, then an int, a name, (sum), max(sum,...), min(sum,...) or opaque('digest')
    name:     an ASCII identifier, or any text in single quotes with \\ before each ' and \\ of the name

There is no white space.
"""

from __future__ import annotations

import re

from sardonyx._src.ir.dims.expr import Expr, Known, Opaque, Symbol, lone_atom, symbol
from sardonyx._src.ir.dims.extrema import dim_max, dim_min
from sardonyx._src.ir.dims.printing import IDENTIFIER

MAX_TEXT = 1 << 14  # characters
MAX_NESTING = 40  # brackets inside brackets: two for each call inside a call that `MAX_DEPTH` allows

TOKEN = re.compile(r"[0-9]+|[A-Za-z_][A-Za-z0-9_]*|'(?:[^'\\]|\\['\\])*'|//|[-+*%(),]")
DIGEST = re.compile(r"'[0-9a-f]{32}'")


def parse(text: str) -> Known:
    """The dim that a text in canonical syntax means; the text need not be in canonical form.

    Raises ValueError for any other text, for a division by the number 0, and beyond `MAX_TEXT` and `MAX_NESTING`.
    """
    if len(text) > MAX_TEXT:
        raise ValueError(f"the dim expression has {len(text)} characters; at most {MAX_TEXT} are read")
    return Parser(text).whole()


def from_param(text: str) -> Expr:
    """What a `dim_param` means: the expression of which it is the canonical text, or else a symbol of that name.

    A number is a name as well: a file says numbers in `dim_value`.  The text of the result is always `text`.
    """
    if IDENTIFIER.fullmatch(text):
        return symbol(text)
    try:
        dim = parse(text)
    except ValueError:
        return symbol(text)
    return dim if isinstance(dim, Expr) and str(dim) == text else symbol(text)


def outer_text(expr: Expr) -> str:
    """The text by itself: a lone symbol is its bare name, unless that would say another expression."""
    atom = lone_atom(expr)
    if not isinstance(atom, Symbol) or IDENTIFIER.fullmatch(atom.name):
        return expr.text
    return atom.name if from_param(atom.name) == expr else expr.text


class Parser:
    """One reading of a text, token by token."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0  # where the next token starts
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
            at, op = self.at, self.take()
            operand = self.factor()
            if op == "*":
                result = result * operand
            elif operand == 0:
                raise ValueError(f"dim expression, character {at}: division by zero")
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
            return self.bracketed()[0]
        if token in ("max", "min", "opaque") and self.token == "(":
            self.take()
            return self.call(token)
        if token.isdecimal():
            return int(token)
        if token[:1] == "'":
            return symbol(re.sub(r"\\(.)", r"\1", token[1:-1]))
        if IDENTIFIER.fullmatch(token):
            return symbol(token)
        self.at -= len(token)
        raise self.error("a number, a name or (")

    def call(self, function: str) -> Known:
        if function != "opaque":
            dims = self.bracketed(many=True)
            return dim_max(*dims) if function == "max" else dim_min(*dims)
        if not DIGEST.fullmatch(self.token):
            raise self.error("a digest of 32 hexadecimal digits in quotes")
        digest = self.take()[1:-1]
        self.close()
        return Expr({(Opaque(digest),): 1})

    def bracketed(self, *, many: bool = False) -> list[Known]:
        """One dim, or many with commas between them, up to and including the closing bracket."""
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            raise ValueError(f"the dim expression nests more than {MAX_NESTING} brackets")
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
        token = self.token
        self.advance(self.at + len(token))
        return token

    def advance(self, at: int) -> None:
        self.at = at
        found = TOKEN.match(self.text, at)
        if found is None and at < len(self.text):
            raise self.error("a number, a name, an operator or a bracket")
        self.token = found[0] if found else ""

    def error(self, wanted: str) -> ValueError:
        found = repr(self.text[self.at : self.at + 20]) if self.at < len(self.text) else "the end"
        return ValueError(f"dim expression, character {self.at}: found {found}, wanted {wanted}")
