"""The LLVM text of the probes of a class: the probes, a function that runs them, one that calls kernels, and one that calls
either in a child process.

    run_probes(data, results, finished)
    run_calls(calls, results, finished)
    run_in_child(data, results, finished, function, seconds, flags, system) -> i64

`finished` counts the probes, or the calls, that have ended.  Calls are records of four i64: the address of a kernel, which is 0
after the last one, the address of its arguments, the number of its units of work, and the address of its scratch memory.

The child exists so that an instruction which the processor refuses ends it and not the caller.  It is a copy of the process
that executes nothing but probes: it takes no lock, which another thread may have held, and handlers of forks and of signals
do not run.  It writes to memory that the two share, and after some seconds of processor time SIGXCPU ends it.  `system` is the C
library's function `syscall`, `flags` those of clone; the result is the status of the child as wait4 has it, or -1 if there is
none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from probes.probe import Column, Probe
from sardonyx._src.compile.llvm.target_classes import AARCH64, RISCV64, X86_64, TargetClass

GENERIC_CALLS = {"clone": 220, "wait4": 260, "exit": 94, "sigprocmask": 135, "prctl": 167, "prlimit": 261}
CALLS = {  # numbers of system calls
    X86_64: {"clone": 56, "wait4": 61, "exit": 231, "sigprocmask": 14, "prctl": 157, "prlimit": 302},
    AARCH64: GENERIC_CALLS,
    RISCV64: GENERIC_CALLS,
}
MODES = {  # of rounding and of subnormal numbers: sets the standard ones after saving the caller's; restores those
    X86_64: (
        """ %mode = alloca i32
 %standard = alloca i32
 store i32 8064, ptr %standard
 call void @llvm.x86.sse.stmxcsr(ptr %mode)
 call void @llvm.x86.sse.ldmxcsr(ptr %standard)""",
        " call void @llvm.x86.sse.ldmxcsr(ptr %mode)",
        "declare void @llvm.x86.sse.stmxcsr(ptr)\ndeclare void @llvm.x86.sse.ldmxcsr(ptr)",
    ),
    AARCH64: (
        " %mode = call i64 @llvm.aarch64.get.fpcr()\n call void @llvm.aarch64.set.fpcr(i64 0)",
        " call void @llvm.aarch64.set.fpcr(i64 %mode)",
        "declare i64 @llvm.aarch64.get.fpcr()\ndeclare void @llvm.aarch64.set.fpcr(i64)",
    ),
    RISCV64: ("", "", ""),  # it always computes with subnormal numbers
}
# Signals are blocked, so that none interrupts the wait, and so that the system ends the child at a refused instruction, without
# a handler; only SIGXCPU, of number 24, is not.  4: PR_SET_DUMPABLE; 2: SIG_SETMASK, of 8 bytes; 0: RLIMIT_CPU, whose second
# limit ends a process that handles the signal; 1073741824: __WALL.
CHILD = """define i64 @run_in_child(ptr %data, ptr %out, ptr %finished, ptr %function, i64 %seconds, i64 %flags, ptr %system) nounwind {
 %status = alloca i64
 %all_signals = alloca i64
 %own_signals = alloca i64
 %limits = alloca [2 x i64]
 store i64 -8388609, ptr %all_signals
 store i64 0, ptr %status
 %block = ptrtoint ptr %all_signals to i64
 %restore = ptrtoint ptr %own_signals to i64
 %blocked = call i64 (i64, ...) %system(i64 {sigprocmask}, i64 2, i64 %block, i64 %restore, i64 8)
 %child = call i64 (i64, ...) %system(i64 {clone}, i64 %flags, i64 0, i64 0, i64 0, i64 0)
 %is_child = icmp eq i64 %child, 0
 br i1 %is_child, label %in_child, label %in_parent
in_child:
 %undumped = call i64 (i64, ...) %system(i64 {prctl}, i64 4, i64 0, i64 0, i64 0, i64 0)
 store i64 %seconds, ptr %limits
 %last = add i64 %seconds, 1
 %last_limit = getelementptr i64, ptr %limits, i64 1
 store i64 %last, ptr %last_limit
 %limit = ptrtoint ptr %limits to i64
 %limited = call i64 (i64, ...) %system(i64 {prlimit}, i64 0, i64 0, i64 %limit, i64 0, i64 0)
 call void %function(ptr %data, ptr %out, ptr %finished)
 %ended = call i64 (i64, ...) %system(i64 {exit}, i64 0)
 unreachable
in_parent:
 %where = ptrtoint ptr %status to i64
 %is_refused = icmp slt i64 %child, 0
 br i1 %is_refused, label %over, label %wait
wait:
 %waited = call i64 (i64, ...) %system(i64 {wait4}, i64 %child, i64 %where, i64 1073741824, i64 0)
 br label %over
over:
 %restored = call i64 (i64, ...) %system(i64 {sigprocmask}, i64 2, i64 %restore, i64 0, i64 8)
 %known = load i64, ptr %status
 %result = select i1 %is_refused, i64 -1, i64 %known
 ret i64 %result
}"""

CALL_LOOP = """ br label %next
next:
 %number = phi i64 [ 0, %entry ], [ %done, %call ]
 %record = getelementptr [4 x i64], ptr %calls, i64 %number
 %kernel = load ptr, ptr %record
 %is_end = icmp eq ptr %kernel, null
 br i1 %is_end, label %over, label %call
call:
 %args_slot = getelementptr i64, ptr %record, i64 1
 %units_slot = getelementptr i64, ptr %record, i64 2
 %scratch_slot = getelementptr i64, ptr %record, i64 3
 %args = load ptr, ptr %args_slot
 %units = load i64, ptr %units_slot
 %scratch = load ptr, ptr %scratch_slot
 call void %kernel(ptr %args, i64 0, i64 %units, ptr %scratch)
 %done = add i64 %number, 1
 store volatile i64 %done, ptr %finished
 br label %next
over:"""


def module_text(target_class: TargetClass, probes: Sequence[Probe], places: Mapping[Column, int]) -> str:
    """places: of the columns of inputs in the data."""
    machine = target_class.machine
    declarations = dict.fromkeys(line for probe in probes for line in probe.declares())
    functions = (
        probe.function(f"probe{i}", [places[column] for column in probe.inputs])
        for i, probe in enumerate(probes)
    )
    child = CHILD
    for name, number in CALLS[machine].items():
        child = child.replace(f"{{{name}}}", str(number))
    return "\n".join(
        (*declarations, MODES[machine][2], *functions, run_text(machine, probes), calls_text(machine), child)
    )


def run_text(machine: str, probes: Sequence[Probe]) -> str:
    """The text of `run_probes`: results are one after the other."""
    lines, end = [], 0
    for i, probe in enumerate(probes):
        lines.append(f" %out{i} = getelementptr i8, ptr %out, i64 {end}")
        lines.append(f" call void @probe{i}(ptr %data, ptr %out{i})")
        lines.append(f" store volatile i64 {i + 1}, ptr %finished")
        end += len(probe.expected.content())
    begin, restore, _ = MODES[machine]
    body = "\n".join((begin, *lines, restore))
    return f"define void @run_probes(ptr %data, ptr %out, ptr %finished) nounwind {{\n{body}\n ret void\n}}"


def calls_text(machine: str) -> str:
    """The text of `run_calls`."""
    begin, restore, _ = MODES[machine]
    body = "\n".join((begin, CALL_LOOP, restore))
    head = "define void @run_calls(ptr %calls, ptr %out, ptr %finished) nounwind {\nentry:"
    return f"{head}\n{body}\n ret void\n}}"
