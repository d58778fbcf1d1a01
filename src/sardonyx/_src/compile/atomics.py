"""Words of memory that threads share, in LLVM's text: atomic loads and stores, waiting, and the mode of arithmetic."""

from __future__ import annotations

from collections.abc import Callable

from sardonyx._src.compile.blocks import I64, Blocks, Slot
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.text import Kind, Value

FLAGS = 0x3F  # of x86's control word: what has happened so far, which is no mode
USUAL = {"x86": 0x1F80, "arm": 0}  # nearest, denormal numbers kept, no traps
DECLARATIONS = {
    "x86": (
        "declare void @llvm.x86.sse2.pause()",
        "declare void @llvm.x86.sse.stmxcsr(ptr)",
        "declare void @llvm.x86.sse.ldmxcsr(ptr)",
    ),
    "arm": (
        "declare void @llvm.aarch64.hint(i32 immarg)",
        "declare i64 @llvm.aarch64.get.fpcr()",
        "declare void @llvm.aarch64.set.fpcr(i64)",
    ),
}


class Native(Blocks):
    """The instructions of a function that shares words of memory with other threads."""

    def __init__(self, target: Target) -> None:
        super().__init__(target.fused)
        self.family = family(target)

    def parameter(self, name: str) -> Value:
        return Value(self, I64, f"%{name}")

    def place(self, base: str, word: Value | int) -> str:
        """The name of the address of a word."""
        return self.address(base, self.operand(word, I64), "i64")

    def word(self, base: str, word: Value | int) -> Value:
        return self.read(Slot(self.place(base, word), I64))

    def pointer(self, base: str, word: Value | int) -> str:
        return self.pointer_at(self.place(base, word))

    def put(self, base: str, word: int, value: Value | int) -> None:
        self.write(Slot(self.place(base, word), I64), self.operand(value, I64))

    def put_pointer(self, base: str, word: int, pointer: str) -> None:
        self.lines.append(f" store ptr {pointer}, ptr {self.place(base, word)}, align 8")

    def acquired(self, base: str, word: int) -> Value:
        return self.emit(I64, f"load atomic i64, ptr {self.place(base, word)} acquire, align 8")

    def release(self, base: str, word: int, value: Value | int) -> None:
        value = self.operand(value, I64)
        self.lines.append(f" store atomic {value}, ptr {self.place(base, word)} release, align 8")

    def count_up(self, base: str, word: int) -> None:
        self.emit(I64, f"atomicrmw add ptr {self.place(base, word)}, i64 1 release, align 8")

    def swapped(self, base: str, word: int, old: Value | int, new: Value | int) -> tuple[Value, Value]:
        """Puts `new` (acquire) where `old` stands; answers what stood there, and whether it was `old`."""
        old, new = self.operand(old, I64), self.operand(new, I64)
        found = self.label("%pair")
        self.lines.append(
            f" {found} = cmpxchg ptr {self.place(base, word)}, {old}, {new} acquire acquire, align 8"
        )
        stood = self.emit(I64, f"extractvalue {{ i64, i1 }} {found}, 0")
        return stood, self.emit(I64.of("i1"), f"extractvalue {{ i64, i1 }} {found}, 1")

    def forever(self, body: Callable[[], None]) -> None:
        """A loop that only `answer` leaves."""
        head = self.label("head")
        self.jump(head)
        body()
        self.lines.append(f" br label %{head}")
        self._open(self.label("never"))

    def loop_while(self, condition: Callable[[], Value], body: Callable[[], None]) -> None:
        head, inside, done = (self.label(word) for word in ("head", "body", "done"))
        self.jump(head)
        self.lines.append(f" br {condition()}, label %{inside}, label %{done}")
        self._open(inside)
        body()
        self.lines.append(f" br label %{head}")
        self._open(done)

    def either(self, condition: Value, then: Callable[[], None], otherwise: Callable[[], None]) -> None:
        self.when(condition, then)
        self.when(condition.equals(0), otherwise)

    def answer(self, value: str) -> None:
        """Returns from the function: `i64 1`, `void`."""
        self.lines.append(f" ret {value}")
        self._open(self.label("behind"))

    def pause(self) -> None:
        """Tells the processor that this is a loop that waits."""
        call = {"x86": "@llvm.x86.sse2.pause()", "arm": "@llvm.aarch64.hint(i32 1)"}[self.family]
        self.lines.append(f" call void {call}")

    def mode(self) -> Value:
        """How this thread rounds and what it does with denormal numbers, as the processor's control word."""
        if self.family == "arm":
            return self.emit(I64, "call i64 @llvm.aarch64.get.fpcr()")
        slot = self.new_slot("mode", Kind("i32"))
        self.lines.append(f" call void @llvm.x86.sse.stmxcsr(ptr {slot.name})")
        return (self.read(slot) & ~FLAGS).converted("zext", "i64")

    def set_mode(self, mode: Value) -> None:
        if self.family == "arm":
            self.lines.append(f" call void @llvm.aarch64.set.fpcr({mode})")
            return
        slot = self.new_slot("mode", Kind("i32"))
        self.write(slot, mode.converted("trunc", "i32"))
        self.lines.append(f" call void @llvm.x86.sse.ldmxcsr(ptr {slot.name})")

    def function(self, head: str) -> str:
        """The text of the function; what stands behind the last instruction is never reached."""
        return "\n".join(
            (f"define {head} nounwind {{", "entry:", *self.slots, *self.lines, " unreachable", "}")
        )


def family(target: Target) -> str:
    """Which words of the processor to use."""
    is_arm = target.triple.startswith(("aarch64", "arm64"))
    assert is_arm or target.triple.startswith(("x86_64", "amd64")), f"nothing is known of {target.triple}"
    return "arm" if is_arm else "x86"
