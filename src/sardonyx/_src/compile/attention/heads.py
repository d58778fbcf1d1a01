"""What kernels of attention are given, and where a unit of work finds its heads in it."""

from __future__ import annotations

from sardonyx._src.compile.attention.form import Form
from sardonyx._src.compile.blocks import I64, Slot
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.products.dots import Dots
from sardonyx._src.compile.text import Element, Kind, Value

QUERIES = 64  # of a unit of work: as many as one head has, up to this
KEYS = (
    128  # whose scores are in scratch at a time: they stay in the nearer caches, with their keys and values
)
CHUNK = 512  # keys of a unit that has few queries, if it has not all of them
TOGETHER = 16  # queries of a unit that share keys, if there are few
ROUND = 16  # lanes of the widest target, by whose multiples scratch is measured
AHEAD = 3 * ROUND  # floats of a part ahead of its results
SIZES = (
    "groups", "group", "queries", "keys", "depth", "width", "ahead", "back", "most", "scale", "cap",
    "few", "together", "beside", "chunks",
    "q_batch", "q_head", "q_row", "k_batch", "k_head", "k_row", "k_step",
    "v_batch", "v_head", "v_row", "v_step", "y_batch", "y_head", "y_row",
)  # fmt: skip
MASK_SIZES = ("mask_batch", "mask_head", "mask_row", "mask_step")


class Heads(Dots):
    """The instructions of a kernel of attention: its arguments, and the addresses of the heads in work.

    Arguments: addresses of q, k, v, y, of the mask if there is one, of parts, of lengths and status if there are such;
    then `SIZES`; then `MASK_SIZES`.  groups: heads of k and v.  group: heads of q that share one of them.  ahead, back:
    query s looks at keys from s + back up to s + ahead, each counted from the length if there are lengths.  most: what a
    length may be.  scale, cap: the bits of a float.

    few: whether there are few queries, whose units have `beside` heads of k and v, `together` heads of q for each, and
    one of `chunks` runs of `CHUNK` keys, of which results are put into parts if there are several.
    """

    def __init__(self, target: Target, form: Form) -> None:
        super().__init__(target)
        self.form = form
        tensors = ("q", "k", "v", "y", *(["mask"] if form.masked else []))
        further = ("parts", *(("lengths", "status") if form.lengths else ()))
        names = (*SIZES, *MASK_SIZES) if form.masked else SIZES
        self.tensors = {name: self.pointer(i) for i, name in enumerate(tensors)}
        self.lists = {name: self.pointer(i) for i, name in enumerate(further, len(tensors))}
        self.sizes = {name: self.size(i) for i, name in enumerate(names, len(tensors) + len(further))}
        self.scale, self.cap = (self.real(name) for name in ("scale", "cap"))
        self.at: dict[str, str] = {}  # addresses of the head in work
        self.begin = self.end = self.shift = self.number(
            0
        )  # of the keys in work, and how far places are moved

    def real(self, name: str) -> Value:
        """A float among the sizes, in every lane."""
        return self.spread(self.sizes[name].converted("trunc", "i32").bits(), self.lanes)

    def rounded(self, name: str) -> Value:
        return self.sizes[name] + (ROUND - 1) & -ROUND

    def enter(self, batch: Value, shared: Value, head: Value) -> None:
        """Finds a head of keys and values, and one of those of queries that share it."""
        size = self.sizes
        for name, address in self.tensors.items():
            own = shared if name in ("k", "v") else shared * size["group"] + head
            place = batch * size[f"{name}_batch"] + own * size[f"{name}_head"]
            self.at[name] = self.address(address, place, self.element(name))
        self.end, self.shift = self.size_of(batch) if self.form.lengths else (size["keys"], self.number(0))

    def size_of(self, batch: Value) -> tuple[Value, Value]:
        """How many keys of a batch there are, and its length; `status` is told of one that cannot be."""
        length = self.read(Slot(self.address(self.lists["lengths"], batch, "i64"), I64))
        none, most = self.number(0), self.sizes["most"]

        def note() -> None:
            self.lines.append(f" atomicrmw max ptr {self.lists['status']}, {batch + 1} monotonic, align 8")

        self.when((length < 0) | (length > most), note)
        length = self.select(length < 0, none, self.least(length, most))
        return self.least(length, self.sizes["keys"]), length

    def element(self, name: str) -> Element:
        return "i8" if name == "mask" and self.form.masked == "bool" else "float"

    def row(self, name: str, index: Value) -> str:
        """The address of a row of the head in work: of a query, a key, a value, a result or a row of the mask."""
        return self.address(self.at[name], index * self.sizes[f"{name}_row"], self.element(name))

    def last_key(self, query: Value) -> Value:
        """Where the keys end that a query looks at."""
        if not self.form.ahead:
            return self.end
        found = query + (self.sizes["ahead"] + self.shift)
        return self.select(found < 0, self.number(0), self.least(self.end, found))

    def first_key(self, query: Value) -> Value:
        """Where they begin."""
        if not self.form.behind:
            return self.begin
        found, last = query + (self.sizes["back"] + self.shift), self.last_key(query)
        return self.select(found < self.begin, self.begin, self.least(last, found))

    # --- scores ------------------------------------------------------------------------------

    def within_cap(self, score: Value) -> Value:
        return self.cap * self.applied("tanh", score / self.cap)

    def biases(self, row: str, index: Value, inside: Value | None) -> Value:
        """A vector of what a row of the mask adds to scores, from an element on."""
        place = self.address(row, index, self.element("mask"))
        if self.form.masked == "float":
            return self.taken(place, inside)
        return self.select(self.truths(place, inside).differs(0), 0.0, self.lowest)

    def bias(self, row: str, index: Value) -> Value:
        """What one element of a row of the mask adds, in every lane."""
        place = self.address(row, index, self.element("mask"))
        if self.form.masked == "float":
            return self.scalar(place)
        found = self.read(Slot(place, Kind("i8")))
        lowest = self.constant(float("-inf"), Kind("float"))
        return self.spread(self.select(found.differs(0), 0.0, lowest), self.lanes)

    def truths(self, place: str, inside: Value | None) -> Value:
        slot = Slot(place, Kind("i8", self.lanes))
        if inside is None:
            return self.read(slot)
        if self.lanes > 1:
            return self.read_where(inside, slot)
        found = self.new_slot("truth", slot.kind)
        self.write(found, self.constant(0, slot.kind))
        self.when(inside, lambda: self.write(found, self.read(slot)))
        return self.read(found)

    def is_blind(self, query: Value, mask: str) -> Value:
        """Whether a row of the mask, of the head in work, lets a query look at none of its keys."""
        first, last = self.first_key(query), self.last_key(query)
        if not self.form.masked:
            return last <= first
        seen = self.new_slot("seen", I64)
        self.write(seen, self.number(0))

        def look(key: Value) -> None:
            bias = self.bias(mask, key * self.sizes["mask_step"])
            if self.lanes > 1:
                bias = self.emit(Kind("float"), f"extractelement {bias}, i32 0")
            counts = bias.differs(float("-inf")).converted("zext", "i64")
            self.write(seen, self.read(seen) | counts)

        self.counted(first, last, 1, look, "look")
        return self.read(seen).equals(0)

    # --- arithmetic --------------------------------------------------------------------------

    def greater(self, a: Value, b: Value) -> Value:
        """The greater of both, a if b is NaN: sums of exponentials become NaN all the same."""
        return self.select(b > a, b, a)

    def greatest(self, value: Value) -> Value:
        """The greatest lane, none of which is NaN, in every lane."""
        distance = self.lanes // 2
        while distance:
            other = self.shuffled(value, value, [i ^ distance for i in range(self.lanes)])
            value, distance = self.greater(value, other), distance // 2
        return value

    def finite(self, maximum: Value) -> Value:
        """What is subtracted from scores: their maximum, or 0 where there is nothing above -inf."""
        return self.select(maximum.equals(float("-inf")), 0.0, maximum)

    def inverse(self, total: Value) -> Value:
        """1 / a sum of exponentials; 1 without any keys, whose result is 0."""
        nothing = self.spread(self.sizes["keys"].equals(0), self.lanes)
        return self.select(nothing, self.constant(1.0, self.vector), 1.0 / total)

    def nothing(self, total: Value) -> Value:
        """Whether a sum of weights, the same in every lane, is not above 0."""
        if self.lanes > 1:
            total = self.emit(Kind("float"), f"extractelement {total}, i32 0")
        return (total > 0).equals(0)

    @property
    def lowest(self) -> Value:
        return self.constant(float("-inf"), self.vector)

    @property
    def zeros(self) -> Value:
        return self.constant(0.0, Kind("float", self.lanes))
