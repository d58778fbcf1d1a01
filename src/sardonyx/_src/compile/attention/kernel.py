"""The kernel of attention: units of queries, by panels or beside one another."""

from __future__ import annotations

from sardonyx._src.compile.attention.few import Few
from sardonyx._src.compile.attention.form import Form
from sardonyx._src.compile.attention.heads import CHUNK, QUERIES
from sardonyx._src.compile.attention.product import Product, widths
from sardonyx._src.compile.attention.several import Several
from sardonyx._src.compile.blocks import I64
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.text import Value


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
        self.spare = self.number(target.lanes // 8)  # queries too many for a panel that are sooner done apart

    def unit(self, unit: Value) -> None:
        size = self.sizes
        blocks = self.quotient(size["queries"] + (QUERIES - 1), self.number(QUERIES))
        parts, sets = (
            self.quotient(size[whole] + (size[one] - 1), size[one])
            for whole, one in (("group", "together"), ("groups", "beside"))
        )
        item, block = self.divided(unit, blocks)
        item, chunk = self.divided(item, size["chunks"])
        item, part = self.divided(item, parts)
        batch, heads = self.divided(item, sets)
        shared, head = heads * size["beside"], part * size["together"]
        self.enter(batch, shared, head)
        self.begin = chunk * CHUNK
        self.end = self.select(size["chunks"] > 1, self.least(self.end, self.begin + CHUNK), self.end)
        is_few = size["few"].differs(0)
        self.when(is_few, lambda: self.beside(batch, shared, head, chunk))
        self.when(is_few.equals(0), lambda: self.panels(block * QUERIES))

    def panels(self, first: Value) -> None:
        """The results of a block of the queries of a head."""
        left = self.least(self.sizes["queries"] - first, self.number(QUERIES))
        slot = self.new_slot("queries", I64)
        self.write(slot, self.number(0))
        head, done = self.label("head"), self.label("done")
        self.jump(head)
        at = self.read(slot)
        count = self.share(left - at)
        self.in_a_panel(first + at, count)
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

    def in_a_panel(self, query: Value, count: Value) -> None:
        """The results of at most as many queries as the widest panel has, in the narrowest one that holds them."""
        widest, *narrower = self.widths
        self.pitch, self.product = self.number(widest * self.lanes), f"@{self.name}_product{widest}"
        for vectors in narrower:
            fits = count <= vectors * self.lanes
            self.pitch = self.select(fits, self.number(vectors * self.lanes), self.pitch)
            self.product = self.one_of(fits, f"@{self.name}_product{vectors}", self.product)
        self.panel(query, count)
