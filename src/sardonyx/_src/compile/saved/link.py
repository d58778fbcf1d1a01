"""Objects put together: one stretch of code that runs wherever it lies, at the beginning of a page.

Functions of the system are called through slots of 8 bytes in it, into which their addresses are put before it runs.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sardonyx._src.compile.saved.elf import AARCH64, RESERVED, X86_64, Object, Relocation, Symbol
from sardonyx._src.compile.saved.system import SYSTEM

PAGE = 4096
ALIGN = 64  # bytes, of what comes from one object


@dataclass(slots=True)
class Image:
    """Code, the offsets of functions in it, and those of the slots of the system's functions."""

    code: bytearray = field(default_factory=bytearray)
    functions: dict[str, int] = field(default_factory=dict)
    slots: dict[str, int] = field(default_factory=dict)
    stubs: dict[str, int] = field(default_factory=dict)

    def align(self, to: int) -> int:
        self.code += bytes(-len(self.code) % max(to, 1))
        return len(self.code)


def is_closed(object: Object) -> bool:
    """Whether an object can be linked: nothing of it is written to, and it calls nobody but the system's `SYSTEM`."""
    calls = (one.name for one in object.symbols if one.name and one.section == 0)
    return not object.has_variables and all(name in SYSTEM for name in calls)


def linked(objects: Sequence[bytes], names: Sequence[str]) -> Image:
    """The image of some objects, in which functions of these names are found."""
    image = Image()
    for data in objects:
        add(image, Object(data))
    missing = [name for name in names if name not in image.functions]
    assert not missing, f"no object has {missing}"
    image.functions = {name: image.functions[name] for name in names}
    return image


def add(image: Image, object: Object) -> None:
    """Appends what an object has for the memory, and makes it fit its place."""
    places: dict[int, int] = {}
    image.align(ALIGN)
    for index, section in object.loaded():
        places[index] = image.align(section.align)
        image.code += object.content(section)
    for symbol in object.symbols:
        if symbol.name and symbol.section in places and not symbol.is_local:
            image.functions.setdefault(symbol.name, places[symbol.section] + symbol.value)
    for one in object.relocations():
        place = places[one.section] + one.offset
        target = where(image, object, object.symbols[one.symbol], places)
        relocate(image.code, object.machine, place, one, target)


def where(image: Image, object: Object, symbol: Symbol, places: Mapping[int, int]) -> int:
    """The offset of what a symbol stands for."""
    if symbol.section != 0:
        assert symbol.section < RESERVED, f"{symbol} is in no section"
        return places[symbol.section] + symbol.value
    assert symbol.name in SYSTEM, f"nobody has {symbol.name}"
    if symbol.name not in image.stubs:
        slot = image.slots[symbol.name] = image.align(8)
        image.code += bytes(8)
        image.stubs[symbol.name] = image.align(16)
        image.code += STUBS[object.machine](len(image.code), slot)
    return image.stubs[symbol.name]


def relocate(code: bytearray, machine: int, place: int, one: Relocation, target: int) -> None:
    """Writes down where the target is, as the relocation wants it."""
    if machine == X86_64:
        assert one.type in (2, 4), f"a relocation {one} of code that lies anywhere"
        struct.pack_into("<i", code, place, target + one.addend - place)
        return
    assert machine == AARCH64, f"code for machine {machine}"
    word = struct.unpack_from("<I", code, place)[0]
    struct.pack_into("<I", code, place, arm(word, one.type, place, target + one.addend))


# --- AArch64 ---------------------------------------------------------------------------------

PAGES, LOW = 275, 277  # distance in pages; the rest, added
ACCESS = {278: 0, 284: 1, 285: 2, 286: 3, 299: 4}  # the rest, of an access to 2^n bytes
BRANCH = (282, 283)


def arm(word: int, type: int, place: int, target: int) -> int:
    """An instruction with what a relocation puts into it."""
    if type == PAGES:
        distance = target // PAGE - place // PAGE
        return word | (distance & 3) << 29 | (distance >> 2 & 0x7FFFF) << 5
    if type == LOW:
        return word | (target % PAGE) << 10
    if type in ACCESS:
        assert target % (1 << ACCESS[type]) == 0, f"{target} is not aligned"
        return word | (target % PAGE >> ACCESS[type]) << 10
    assert type in BRANCH, f"a relocation of type {type} of code that lies anywhere"
    distance = target - place
    assert -(1 << 27) <= distance < 1 << 27, f"{distance} is too far"
    return word | distance >> 2 & 0x3FFFFFF


def stub_x86(place: int, slot: int) -> bytes:
    """A jump to the address that stands in a slot."""
    return b"\xff\x25" + struct.pack("<i", slot - place - 6)


def stub_arm(place: int, slot: int) -> bytes:
    """The same: its page, its content, and the jump, by a register that calls may change."""
    page, low = arm(0x90000010, PAGES, place, slot), arm(0xF9400210, 286, place + 4, slot)
    return struct.pack("<III", page, low, 0xD61F0200)


STUBS: Mapping[int, Callable[[int, int], bytes]] = {X86_64: stub_x86, AARCH64: stub_arm}
