"""Scores of attention as a result of their own, in one of the stages on their way to weights."""

from __future__ import annotations

from dataclasses import replace

from sardonyx._src.compile.attention.decay import decay
from sardonyx._src.compile.attention.form import Form
from sardonyx._src.compile.attention.heads import Heads
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.text import Value

PRODUCTS, CAPPED, BIASED, WEIGHTS = range(
    4
)  # products times the scale, within the cap, with the mask, after the softmax


def source(name: str, target: Target, *, form: Form, stage: int) -> str:
    """The module of a kernel, for `Heads`' arguments; y: [B, H, S, most], a unit is a row of it."""
    code = Scores(target, form if stage >= BIASED else without_places(form), stage)
    code.counted(code.first, code.last, 1, code.unit, "unit")
    return code.module(name)


def without_places(form: Form) -> Form:
    """The same arguments, of which scores of all keys make no use."""
    return replace(form, ahead=False, behind=False)


class Scores(Heads):
    """The instructions of the kernel: a row of scores, from products on.

    Keys from `keys` up to `most` have no mask and are not looked at.  Scratch: a query times the scale.
    """

    def __init__(self, target: Target, form: Form, stage: int) -> None:
        super().__init__(target, form)
        self.stage = stage

    def unit(self, unit: Value) -> None:
        size = self.sizes
        item, query = self.divided(unit, size["queries"])
        item, head = self.divided(item, size["group"])
        batch, shared = self.divided(item, size["groups"])
        self.enter(batch, shared, head)
        q, y, total = self.row("q", query), self.row("y", query), size["most"]
        self.each(
            size["depth"],
            lambda d, mask: self.put(
                self.taken(self.address(q, d), mask) * self.scale, self.address(self.scratch, d)
            ),
        )
        greatest = self.new_slot("max", self.vector)
        self.write(greatest, self.lowest)

        def some(key: Value, mask: Value | None) -> None:
            found = self.staged(query, key)
            self.write(greatest, self.greater(self.read(greatest), found))
            self.put(found, self.address(y, key), mask)

        self.each(total, some)
        if self.stage == WEIGHTS:
            self.soften(query, y, self.finite(self.greatest(self.read(greatest))))

    def staged(self, query: Value, key: Value) -> Value:
        """A vector of scores; behind the last key stand those of the last key, or -inf."""
        last = self.sizes["most"] - 1
        rows = [self.row("k", self.least(key + i, last)) for i in range(self.lanes)]
        found = self.dots(self.scratch, rows, self.sizes["depth"])
        if self.form.capped and self.stage >= CAPPED:
            found = self.within_cap(found)
        if self.stage < BIASED:
            return found
        inside = self.inside(self.last_key(query) - key)
        if self.form.masked:
            found = found + self.biases(self.row("mask", query), key, inside)
        found = self.select(inside, found, self.lowest)
        if self.form.behind:
            found = self.select(self.inside(self.first_key(query) - key), self.lowest, found)
        return found

    def soften(self, query: Value, y: str, base: Value) -> None:
        """A row of scores to weights; zeros for a query that may look at no key."""
        total, factor = (self.new_slot(name, self.vector) for name in ("total", "factor"))
        self.write(total, self.zeros)

        def weigh(key: Value, mask: Value | None) -> None:
            place = self.address(y, key)
            found = self.called(decay, self.taken(place, mask) - base)
            self.put(found, place, mask)
            counted = found if mask is None else self.select(mask, found, self.zeros)
            self.write(total, self.read(total) + counted)

        def scale(key: Value, mask: Value | None) -> None:
            place = self.address(y, key)
            self.put(self.taken(place, mask) * self.read(factor), place, mask)

        def clear(key: Value, mask: Value | None) -> None:
            self.put(self.zeros, self.address(y, key), mask)

        self.each(self.sizes["most"], weigh)
        found = self.across("add", self.read(total))
        self.write(factor, 1.0 / found)
        self.each(self.sizes["most"], scale)
        if self.form.hides:
            mask = self.row("mask", query) if self.form.masked else ""

            def look() -> None:
                self.when(self.is_blind(query, mask), lambda: self.each(self.sizes["most"], clear))

            self.when(self.nothing(found), look)
