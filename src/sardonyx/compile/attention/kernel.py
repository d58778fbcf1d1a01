"""The kernel of attention: units of queries, by panels or one by one."""

from __future__ import annotations

from sardonyx.compile.attention.few import Few
from sardonyx.compile.attention.product import Product, widths
from sardonyx.compile.attention.several import Several
from sardonyx.compile.llvm.target import Target
from sardonyx.compile.text import Value


def source(name: str, target: Target, *, masked: bool, causal: bool) -> str:
    """The module of a kernel, for `Heads`' arguments."""
    code = Attention(name, target, masked=masked, causal=causal)
    code.counted(code.first, code.last, 1, code.unit, "unit")
    products = []
    for vectors in code.widths:
        product = Product(vectors, target)
        products.append(product.text(f"{name}_product{vectors}"))
        code.definitions.declare(*product.declarations)
    return "\n".join((code.module(name), *products))


class Attention(Several, Few):
    """The instructions of the kernel."""

    def __init__(self, name: str, target: Target, *, masked: bool, causal: bool) -> None:
        super().__init__(target, masked=masked, causal=causal)
        self.name, self.widths = name, widths(target)
        self.few = self.number(target.lanes // 4)  # queries that are sooner done one by one
        steps = [self.sizes[one] for one in ("k_step", "v_step", *(["mask_step"] if masked else []))]
        for step in steps:
            self.few = self.select(step.equals(1), self.few, self.number(0))

    def unit(self, unit: Value) -> None:
        first, left = self.enter(unit)
        widest = self.widths[0] * self.lanes
        self.counted(
            self.number(0),
            left + (widest - 1),
            widest,
            lambda at: self.some_queries(first + at, self.least(left - at, self.number(widest))),
            "queries",
        )

    def some_queries(self, query: Value, count: Value) -> None:
        """The results of at most as many queries as the widest panel has."""
        is_few = count <= self.few
        self.when(is_few, lambda: self.one_by_one(query, count))
        self.when(is_few.equals(0), lambda: self.in_a_panel(query, count))

    def one_by_one(self, query: Value, count: Value) -> None:
        self.counted(self.number(0), count, 1, lambda i: self.query(query + i), "query")

    def in_a_panel(self, query: Value, count: Value) -> None:
        """The narrowest panel that holds them."""
        widest, *narrower = self.widths
        self.pitch, self.product = self.number(widest * self.lanes), f"@{self.name}_product{widest}"
        for vectors in narrower:
            fits = count <= vectors * self.lanes
            self.pitch = self.select(fits, self.number(vectors * self.lanes), self.pitch)
            self.product = self.chosen(fits, f"@{self.name}_product{vectors}", self.product)
        self.panel(query, count)

    def chosen(self, condition: Value, then: str, otherwise: str) -> str:
        """The name of one of two addresses."""
        name = f"%{self.label('chosen')}"
        self.lines.append(f" {name} = select {condition}, ptr {then}, ptr {otherwise}")
        return name
