"""The kernel of attention: units of queries, by panels or one by one."""

from __future__ import annotations

from sardonyx.compile.attention.few import Few
from sardonyx.compile.attention.form import Form
from sardonyx.compile.attention.product import Product, widths
from sardonyx.compile.attention.several import Several
from sardonyx.compile.blocks import I64
from sardonyx.compile.llvm.target import Target
from sardonyx.compile.text import Value


def source(name: str, target: Target, *, form: Form) -> str:
    """The module of a kernel, for `Heads`' arguments."""
    code = Attention(name, target, form)
    code.counted(code.first, code.last, 1, code.unit, "unit")
    products = []
    for vectors in code.widths:
        product = Product(vectors, target)
        products.append(product.text(f"{name}_product{vectors}"))
        code.definitions.declare(*product.declarations)
    return "\n".join((code.module(name), *products))


class Attention(Several, Few):
    """The instructions of the kernel."""

    def __init__(self, name: str, target: Target, form: Form) -> None:
        super().__init__(target, form)
        self.name, self.widths = name, widths(target)
        self.few = self.number(target.lanes // 4)  # queries that are sooner done one by one
        steps = [self.sizes[one] for one in ("k_step", "v_step", *(["mask_step"] if form.masked else []))]
        for step in steps:
            self.few = self.select(step.equals(1), self.few, self.number(0))
        self.spare = self.quotient(self.few, self.number(2))

    def unit(self, unit: Value) -> None:
        first, left = self.enter(unit)
        slot = self.new_slot("queries", I64)
        self.write(slot, self.number(0))
        head, done = self.label("head"), self.label("done")
        self.jump(head)
        at = self.read(slot)
        count = self.share(left - at)
        self.some_queries(first + at, count)
        self.write(slot, at + count)
        self.lines.append(f" br {at + count < left}, label %{head}, label %{done}")
        self._open(done)

    def share(self, left: Value) -> Value:
        """How many queries are done together: as many as a panel has, but not for one or two a wider one."""
        widest, *narrower = (vectors * self.lanes for vectors in self.widths)
        count = self.least(left, self.number(widest))
        for width in narrower:
            is_beyond = (count > width) & (count - width <= self.spare)
            count = self.select(is_beyond, self.number(width), count)
        return count

    def some_queries(self, query: Value, count: Value) -> None:
        """The results of at most as many queries as the widest panel has, all of them."""
        is_few = count <= self.few
        self.when(is_few, lambda: self.one_by_one(query, count))
        self.when(is_few.equals(0), lambda: self.in_a_panel(query, count))

    def in_a_panel(self, query: Value, count: Value) -> None:
        """The narrowest panel that holds them."""
        widest, *narrower = self.widths
        self.pitch, self.product = self.number(widest * self.lanes), f"@{self.name}_product{widest}"
        for vectors in narrower:
            fits = count <= vectors * self.lanes
            self.pitch = self.select(fits, self.number(vectors * self.lanes), self.pitch)
            self.product = self.one_of(fits, f"@{self.name}_product{vectors}", self.product)
        self.panel(query, count)
