"""What kernels of attention are given, and where a unit of work finds its head in it."""

from __future__ import annotations

from sardonyx.compile.llvm.target import Target
from sardonyx.compile.products.dots import Dots
from sardonyx.compile.text import Kind, Value

QUERIES = 64  # of a unit of work: as many as one head has, up to this
KEYS = (
    128  # whose scores are in scratch at a time: they stay in the nearer caches, with their keys and values
)
ROUND = 16  # lanes of the widest target, by whose multiples scratch is measured
SIZES = (
    "heads", "group", "queries", "keys", "depth", "width", "past", "scale", "room",
    "q_batch", "q_head", "q_row", "k_batch", "k_head", "k_row", "k_step",
    "v_batch", "v_head", "v_row", "v_step", "y_batch", "y_head", "y_row",
)  # fmt: skip
MASK_SIZES = ("mask_batch", "mask_head", "mask_row", "mask_step")


class Heads(Dots):
    """The instructions of a kernel of attention: its arguments, and the addresses of the head in work.

    Arguments: addresses of q, k, v, y, and of the mask if there is one; then `SIZES`; then `MASK_SIZES`.  scale: the bits
    of a float.  group: heads of q that share one of k and v.  room: keys whose scores scratch has room for.
    """

    def __init__(self, target: Target, *, masked: bool, causal: bool) -> None:
        super().__init__(target)
        self.masked, self.causal = masked, causal
        tensors = ("q", "k", "v", "y", "mask")[: 5 if masked else 4]
        names = (*SIZES, *MASK_SIZES) if masked else SIZES
        self.tensors = {name: self.pointer(i) for i, name in enumerate(tensors)}
        self.sizes = {name: self.size(i) for i, name in enumerate(names, len(tensors))}
        bits = self.sizes["scale"].converted("trunc", "i32").bits()
        self.scale = self.spread(bits, self.lanes)
        self.places = self.areas()
        self.at: dict[str, str] = {}  # addresses of the head in work

    def areas(self) -> dict[str, str]:
        """Scratch: maxima, sums and factors of queries; queries, results and scores, each a row of queries for an item."""
        one, none = self.number(1), self.number(0)
        depth, width = self.rounded("depth"), self.rounded("width")
        rows = {"max": one, "sum": one, "factor": one, "q": depth, "o": width, "p": none}
        found, at = {}, none
        for name, count in rows.items():
            found[name] = self.address(self.scratch, at)
            at = at + count * QUERIES
        return found

    def rounded(self, name: str) -> Value:
        return self.sizes[name] + (ROUND - 1) & -ROUND

    def enter(self, unit: Value) -> tuple[Value, Value]:
        """Finds the head of a unit; answers its first query and how many there are."""
        size = self.sizes
        blocks = self.quotient(size["queries"] + (QUERIES - 1), self.number(QUERIES))
        item = self.quotient(unit, blocks)
        batch, head = self.quotient(item, size["heads"]), self.remainder(item, size["heads"])
        shared = self.quotient(head, size["group"])
        for name, address in self.tensors.items():
            own = shared if name in ("k", "v") else head
            self.at[name] = self.address(address, batch * size[f"{name}_batch"] + own * size[f"{name}_head"])
        first = self.remainder(unit, blocks) * QUERIES
        return first, self.least(size["queries"] - first, self.number(QUERIES))

    def row(self, name: str, index: Value) -> str:
        """The address of a row of the head in work: of a query, a key, a value, a result or a row of the mask."""
        return self.address(self.at[name], index * self.sizes[f"{name}_row"])

    def last_key(self, query: Value) -> Value:
        """Where the keys end that a query looks at."""
        keys = self.sizes["keys"]
        return self.least(keys, query + self.sizes["past"] + 1) if self.causal else keys

    def greater(self, a: Value, b: Value) -> Value:
        """The greater of both, a if b is NaN: sums of exponentials become NaN all the same."""
        return self.select(b > a, b, a)

    def finite(self, maximum: Value) -> Value:
        """What is subtracted from scores: their maximum, or 0 where there is nothing above -inf."""
        return self.select(maximum.equals(float("-inf")), 0.0, maximum)

    def inverse(self, total: Value) -> Value:
        """1 / a sum of exponentials; 1 without any keys, whose result is 0."""
        nothing = self.spread(self.sizes["keys"].equals(0), self.lanes)
        return self.select(nothing, self.constant(1.0, self.vector), 1.0 / total)

    @property
    def lowest(self) -> Value:
        return self.constant(float("-inf"), self.vector)

    @property
    def zeros(self) -> Value:
        return self.constant(0.0, Kind("float", self.lanes))
