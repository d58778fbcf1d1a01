"""Which pixels make up those of a resized image, worked out when sizes are known, by the reference's rules."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Literal

from sardonyx._src.compile.blocks import I64, Slot
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.compile.text import Kind, Value
from sardonyx._src.compile.values import KernelText
from sardonyx._src.ir.dims import Known, ceil_div

Coordinates = Literal["asymmetric", "half_pixel", "pytorch_half_pixel", "align_corners"]
COORDINATES: tuple[Coordinates, ...] = ("asymmetric", "half_pixel", "pytorch_half_pixel", "align_corners")
ROUNDING = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
DOUBLE, BLOCK = Kind("double"), 256  # elements of a unit of work


@dataclass(frozen=True, slots=True)
class LateAxis:
    """One axis of `size` elements that becomes one of `out`; scale: as a node gives it, None where it gives sizes."""

    size: Known
    out: Known
    scale: float | None


@dataclass(frozen=True, slots=True)
class Form:
    """coordinates: where elements lie.  rounding: which one is the nearest, or "" where two are mixed.  scaled: whether
    there is a scale of float32, with which coordinates are computed."""

    coordinates: Coordinates
    rounding: str
    scaled: bool

    @property
    def key(self) -> str:
        return f"taps_{self.coordinates}_{self.rounding or 'linear'}{'_scaled' * self.scaled}"


def late_taps(
    axis: LateAxis, coordinates: Coordinates, rounding: str, places: Tensor, weights: Tensor | None
) -> Step:
    """places: int64 [out, taps], weights: float32 [out, taps], dense: 1 tap without weights, or 2; size > 0."""
    form = Form(coordinates, rounding, axis.scale is not None)
    kernel = Kernel(form.key, lambda name, target: TapsText(target, form).module(name))
    scale: int = struct.unpack("<i", struct.pack("<f", axis.scale or 1.0))[0]
    made = (places,) if weights is None else (places, weights)
    args = (*made, axis.size, axis.out, scale)
    return Step(kernel, args, ceil_div(axis.out, BLOCK), (), made, flops=axis.out * 30)


class TapsText(KernelText):
    """The text of a table; args: places, weights where two are mixed, size, out, bits of the scale."""

    def __init__(self, target: Target, form: Form) -> None:
        super().__init__(target.fused)
        self.form = form
        count = 1 if form.rounding else 2
        self.made = [self.pointer(i) for i in range(count)]
        self.size_in, self.out, bits = (self.size(count + i) for i in range(3))
        self.scale = bits.converted("trunc", "i32").bits()
        self.mixes = self.constant(0, I64) if form.rounding else self.mixing()
        self.counted(self.first, self.last, 1, self.unit, "unit")

    def mixing(self) -> Value:
        """Whether any element of the axis is mixed of two, as a number."""
        found = self.new_slot("mixes", I64)
        self.write(found, self.constant(0, I64))

        def look(i: Value) -> None:
            at = self.place(i)
            mixes = self.weight(at, self.intrinsic("floor", at) + 1.0).differs(0)
            self.write(found, self.read(found) | mixes.converted("zext", "i64"))

        self.counted(self.constant(0, I64), self.out, 1, look, "look")
        return self.read(found)

    def unit(self, unit: Value) -> None:
        first = unit * BLOCK
        end = self.select(first + BLOCK < self.out, first + BLOCK, self.out)
        self.counted(first, end, 1, self.one, "out")

    def one(self, i: Value) -> None:
        at = self.place(i)
        if self.form.rounding:
            self.write(Slot(self.address(self.made[0], i, "i64"), I64), self.nearest(at))
            return
        low = self.intrinsic("floor", at)
        weights = [self.weight(at, low), self.weight(at, low + 1.0)]
        is_single = self.mixes.equals(0)  # then half and half is taken of one: infinity times 0 would be NaN
        half = self.constant(0.5, weights[0].kind)
        whole = low.converted("fptosi", "i64")
        places = [self.inside(whole), self.select(is_single, self.inside(whole), self.inside(whole + 1))]
        for tap, (place, weight) in enumerate(zip(places, weights, strict=True)):
            self.write(Slot(self.address(self.made[0], i * 2 + tap, "i64"), I64), place)
            found = self.select(is_single, half, weight)
            self.write(Slot(self.address(self.made[1], i * 2 + tap), Kind("float")), found)

    def real(self, value: Value) -> Value:
        return value.converted("sitofp", "double")

    def place(self, i: Value) -> Value:
        """Where an element of the output lies in the input."""
        at = self.real(i)
        match self.form.coordinates:
            case "asymmetric":
                return self.unscaled(at)
            case "half_pixel":
                return self.unscaled(at + 0.5) - 0.5
            case "pytorch_half_pixel":
                return self.select(self.out > 1, self.unscaled(at + 0.5) - 0.5, self.constant(0.0, DOUBLE))
            case "align_corners":
                steps = at * (self.real(self.size_in) - 1.0)
                return self.select(self.out > 1, steps / (self.length() - 1.0), steps)

    def length(self) -> Value:
        """The size of the output before it is rounded."""
        if not self.form.scaled:
            return self.real(self.out)
        return self.scale.converted("fpext", "double") * self.real(self.size_in)

    def unscaled(self, place: Value) -> Value:
        """place / scale, in the accuracy of the scale."""
        if self.form.scaled:
            return (place.converted("fptrunc", "float") / self.scale).converted("fpext", "double")
        return place * self.real(self.size_in) / self.real(self.out)

    def weight(self, at: Value, place: Value) -> Value:
        return (1.0 - self.absolute(place - at)).at_least(0.0).converted("fptrunc", "float")

    def nearest(self, at: Value) -> Value:
        match self.form.rounding:
            case "round_prefer_floor":
                found = self.intrinsic("ceil", at - 0.5)
            case "round_prefer_ceil":
                found = self.intrinsic("floor", at + 0.5)
            case word:
                found = self.intrinsic(word, at)
        return self.inside(found.converted("fptosi", "i64"))

    def inside(self, place: Value) -> Value:
        last = self.size_in - 1
        place = self.select(place < last, place, last)
        return self.select(place < 0, self.constant(0, I64), place)
