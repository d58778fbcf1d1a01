"""Matrix products and convolutions as one family of kernels.

C[m, n] = f(sum over taps t and k of A[t][m, k] * B[t, k, n] + bias[n] + more[m, n]).  Rows of A are told by pointers, so
that one kernel serves plain products (one tap, rows a stride apart) and convolutions (a tap for each place of the
window, rows wherever the pixels are, a row of zeros for padding).  B is packed by `packing.packed`.  A tile of C stays
in registers while all of k runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sardonyx.compile.blocks import I64, Blocks, Slot
from sardonyx.compile.text import Kind, Value

Activation = Callable[[Blocks, Value], Value]


@dataclass(frozen=True, slots=True)
class Tile:
    """How much of C a kernel holds in registers: `rows` times `vectors` vectors of `lanes` floats."""

    rows: int
    vectors: int
    lanes: int

    @property
    def width(self) -> int:
        """Columns of C, which a panel of packed B has too."""
        return self.vectors * self.lanes


@dataclass(frozen=True, slots=True)
class Epilogue:
    """What becomes of a sum before it is written."""

    bias: bool = False  # one number for each column
    more: bool = False  # another matrix of C's layout
    activation: Activation | None = None


def tile_for(lanes: int, registers: int) -> Tile:
    """The tile that fills the registers: with 32 of them 6 rows of 4 vectors, with 16 of them 6 of 2."""
    return Tile(6, 4 if registers >= 32 else 2, lanes)


def product(name: str, tile: Tile, epilogue: Epilogue, *, fused: bool) -> str:
    """The module of a kernel.

    void name(ptr rows, ptr b, ptr c, i64 ldc, i64 m, i64 n, i64 taps, i64 k, ptr bias, ptr more)

    rows: [blocks, taps, tile.rows] addresses of rows of A; those behind the last row of C are any that may be read.
    b, bias: padded to whole panels.  c, more: [m, n] with rows `ldc` floats apart; nothing outside of it is written.
    """
    code = Product(tile, epilogue, fused)
    code.panels()
    parameters = (
        "ptr noalias %rows, ptr noalias %b, ptr noalias %c, i64 %ldc, i64 %m, i64 %n, i64 %taps, i64 %k"
    )
    head = f"define void @{name}({parameters}, ptr %bias, ptr %more) {{"
    return "\n".join((*code.declarations, head, "entry:", *code.slots, *code.lines, " ret void", "}"))


class Product(Blocks):
    """The instructions of a product."""

    def __init__(self, tile: Tile, epilogue: Epilogue, fused: bool) -> None:
        super().__init__(fused)
        self.tile, self.epilogue = tile, epilogue
        self.vector = Kind("float", tile.lanes)
        self.m, self.n, self.k, self.taps, self.ldc = (
            Value(self, I64, f"%{name}") for name in ("m", "n", "k", "taps", "ldc")
        )
        self.sums = [
            [self.new_slot("sum", self.vector) for _ in range(tile.vectors)] for _ in range(tile.rows)
        ]

    def panels(self) -> None:
        """Panels of B one after the other, and blocks of rows along each: a panel stays in the cache meanwhile."""
        zero = self.constant(0, I64)
        self.counted(zero, self.n + (self.tile.width - 1), self.tile.width, self.blocks, "panel")

    def blocks(self, column: Value) -> None:
        panel = self.address("%b", column * self.taps * self.k)
        zero = self.constant(0, I64)
        rows = self.tile.rows
        self.counted(zero, self.m + (rows - 1), rows, lambda row: self.block(row, column, panel), "block")

    def block(self, row: Value, column: Value, panel: str) -> None:
        """One tile of C: whole inside, held to the bounds of C at its edges."""
        self.start(column)
        zero = self.constant(0, I64)
        pointers = self.address("%rows", row * self.taps, "ptr")
        self.counted(zero, self.taps, 1, lambda tap: self.tap(tap, pointers, panel), "tap")
        inside_rows = self.m >= row + self.tile.rows
        inside_columns = self.n >= column + self.tile.width
        is_inside = inside_rows & inside_columns
        self.when(is_inside, lambda: self.finish(row, column, edge=False))
        self.when(is_inside.equals(0), lambda: self.finish(row, column, edge=True))

    def start(self, column: Value) -> None:
        """Sums begin with the bias, or with 0."""
        for v in range(self.tile.vectors):
            first = self.constant(0.0, self.vector)
            if self.epilogue.bias:
                first = self.read(Slot(self.address("%bias", column + v * self.tile.lanes), self.vector))
            for sums in self.sums:
                self.write(sums[v], first)

    def tap(self, tap: Value, pointers: str, panel: str) -> None:
        """Adds the products of one tap."""
        first = tap * self.tile.rows
        rows = [self.pointer_at(self.address(pointers, first + r, "ptr")) for r in range(self.tile.rows)]
        columns = self.address(panel, tap * self.k * self.tile.width)
        zero = self.constant(0, I64)
        self.counted(zero, self.k, 1, lambda k: self.step(k, rows, columns), "k")

    def step(self, k: Value, rows: list[str], columns: str) -> None:
        """Adds one column of A times one row of B."""
        base = k * self.tile.width
        b = [
            self.read(Slot(self.address(columns, base + v * self.tile.lanes), self.vector))
            for v in range(self.tile.vectors)
        ]
        for r, sums in enumerate(self.sums):
            a = self.spread(self.read(Slot(self.address(rows[r], k), Kind("float"))), self.tile.lanes)
            for v, slot in enumerate(sums):
                self.write(slot, self.fma(a, b[v], self.read(slot)))

    def finish(self, row: Value, column: Value, *, edge: bool) -> None:
        """Writes the tile, of which only what lies inside of C at an edge."""
        for r, sums in enumerate(self.sums):

            def write(r: int = r, sums: list[Slot] = sums) -> None:
                start = (row + r) * self.ldc + column
                for v, slot in enumerate(sums):
                    self.put(slot, start + v * self.tile.lanes, column + v * self.tile.lanes, edge=edge)

            if edge:
                self.when(row + r < self.m, write)
            else:
                write()

    def put(self, slot: Slot, at: Value, column: Value, *, edge: bool) -> None:
        if not edge:
            self.put_where(slot, at, None)
        elif self.tile.lanes == 1:
            self.when(column < self.n, lambda: self.put_where(slot, at, None))
        else:
            self.put_where(slot, at, self.mask(column))

    def put_where(self, slot: Slot, at: Value, mask: Value | None) -> None:
        """Writes a vector of sums, after the epilogue, in the lanes of the mask."""
        value = self.read(slot)
        if self.epilogue.more:
            value = value + self.taken(self.address("%more", at), mask)
        if self.epilogue.activation is not None:
            value = self.epilogue.activation(self, value)
        address = self.address("%c", at)
        if mask is None:
            self.write(Slot(address, self.vector), value)
        else:
            self.masked_store(value, address, mask)

    def mask(self, column: Value) -> Value:
        """Which lanes of a vector that begins at a column lie inside of C."""
        lanes = self.tile.lanes
        numbers = ", ".join(f"i64 {i}" for i in range(lanes))
        places = Value(self, Kind("i64", lanes), f"<{numbers}>")
        return (places + self.spread(column, lanes)) < self.spread(self.n, lanes)

    def taken(self, address: str, mask: Value | None) -> Value:
        if mask is None:
            return self.read(Slot(address, self.vector))
        name = f"@llvm.masked.load.{self.vector.suffix}.p0"
        self.declarations[f"declare {self.vector} {name}(ptr, i32 immarg, {mask.kind}, {self.vector})"] = None
        return self.emit(
            self.vector,
            f"call {self.vector} {name}(ptr {address}, i32 4, {mask}, {self.vector} zeroinitializer)",
        )

    def masked_store(self, value: Value, address: str, mask: Value) -> None:
        name = f"@llvm.masked.store.{self.vector.suffix}.p0"
        self.declarations[f"declare void {name}({self.vector}, ptr, i32 immarg, {mask.kind})"] = None
        self.lines.append(f" call void {name}({value}, ptr {address}, i32 4, {mask})")
