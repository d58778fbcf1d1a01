"""Worker threads of the pool: their main loop, how they rest and wake, and the affinity that keeps them off the caller's CPU."""

from __future__ import annotations

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, MemoryLocation
from sardonyx._src.compile.codegen.atomics import DEFAULT_FLOAT_MODE
from sardonyx._src.compile.executor.pool_builder import PoolFunctionBuilder
from sardonyx._src.compile.executor.pool_layout import (
    AVOIDED_CPU,
    CALLER_CPU,
    CONDITION,
    CONDITION_SIGNAL,
    CONDITION_WAIT,
    CURRENT_RUN,
    GET_AFFINITY,
    GET_CPU,
    GET_TIME,
    HAS_CPU,
    INDEX,
    IS_EAGER,
    MUTEX,
    MUTEX_LOCK,
    MUTEX_UNLOCK,
    PAUSES_PER_LOOK,
    POOL,
    SET_AFFINITY,
    SPIN_INTERVAL,
    STOP_REQUESTED,
    THREAD,
    WORKER_SLOTS,
    WORKERS_BEGIN,
)

MAX_CPUS = 1024  # bits of an affinity mask
MONOTONIC_CLOCK = 1  # CLOCK_MONOTONIC on Linux


def emit_wake_children(builder: PoolFunctionBuilder, pool: str, index: LLVMValue, threads: LLVMValue) -> None:
    """Wakes the two children of a thread in the binary tree of wakeups, if they take part in the run."""
    for child in (index * 2 + 1, index * 2 + 2):
        with builder.if_then(child < threads):
            worker = builder.slot_address(pool, child * WORKER_SLOTS + WORKERS_BEGIN)
            builder.lines.append(f" call void @wake(ptr {pool}, ptr {worker})")


def emit_wake(builder: PoolFunctionBuilder) -> str:
    """Emits `@wake`: wakes a worker if it sleeps; the caller has published the run before."""
    mutex, condition = builder.slot_address("%worker", MUTEX), builder.slot_address("%worker", CONDITION)
    has_affinity = builder.load_slot("%pool", GET_CPU).ne(0) & builder.load_slot("%worker", THREAD).ne(0)
    is_caller_moved = builder.load_slot("%worker", AVOIDED_CPU).ne(builder.load_slot("%pool", CALLER_CPU) + 1)
    with builder.if_then(has_affinity & is_caller_moved):
        builder.lines.append(" call void @apart(ptr %pool, ptr %worker)")
    builder.call_system("%pool", MUTEX_LOCK, mutex)
    builder.call_system("%pool", MUTEX_UNLOCK, mutex)
    builder.call_system("%pool", CONDITION_SIGNAL, condition)
    builder.emit_return("void")
    return builder.build_function("internal void @wake(ptr %pool, ptr %worker)")


def emit_apart(builder: PoolFunctionBuilder) -> str:
    """Emits `@apart`: excludes the caller's CPU from a worker's affinity, if it may use another one.

    Schedulers put a woken thread on its last CPU, or near the CPU of the waking thread, unless they look for an idle
    CPU.  Linux does not look while CPUs seem busy, and they do for a while after threads have been spinning.  On the
    caller's CPU the worker would wait for the caller, which waits for the worker.
    """
    mask_bytes, mask_slots = MAX_CPUS // 8, MAX_CPUS // 64
    mask = "%mask"
    builder.allocas.append(f" {mask} = alloca [{mask_slots} x i64], align 8")
    for i in range(mask_slots):
        builder.store_slot(mask, i, 0)
    get_affinity, set_affinity = (
        builder.load_slot_pointer("%pool", GET_AFFINITY),
        builder.load_slot_pointer("%pool", SET_AFFINITY),
    )
    failed = builder.emit(
        I64.with_element("i32"), f"call i32 {get_affinity}(i32 0, i64 {mask_bytes}, ptr {mask})"
    )
    caller = builder.load_slot("%pool", CALLER_CPU)
    builder.store_slot("%worker", AVOIDED_CPU, caller + 1)
    is_out_of_range = (caller < 0) | (caller >= MAX_CPUS)
    with builder.if_then(failed.ne(0) | is_out_of_range):
        builder.emit_return("void")
    bit = builder.constant(1, I64) << (caller & 63)
    mask_slot = MemoryLocation(builder.slot_address(mask, caller >> 6), I64)
    builder.store(mask_slot, builder.load(mask_slot) & (bit ^ -1))
    remaining = builder.load_slot(mask, 0)
    for i in range(1, mask_slots):
        remaining = remaining | builder.load_slot(mask, i)
    thread = builder.load_slot("%worker", THREAD)
    with builder.if_then(remaining.ne(0)):
        builder.lines.append(f" call i32 {set_affinity}({thread}, i64 {mask_bytes}, ptr {mask})")
    builder.emit_return("void")
    return builder.build_function("internal void @apart(ptr %pool, ptr %worker)")


def is_participant(builder: PoolFunctionBuilder, pool: str, index: LLVMValue) -> LLVMValue:
    """Whether a thread takes part in the current run."""
    return (builder.load_acquire(pool, CURRENT_RUN) & 0xFFFF) > index


def emit_rest(builder: PoolFunctionBuilder) -> str:
    """Emits `@rest`: waits until a run includes the worker, or the pool is stopped.

    A worker is eager if its last rest was shorter than `SPIN_INTERVAL`, as between runs that follow each other
    closely.  An eager worker waits awake for that long, since waking a thread needs about 50 us, as much as a small
    run.  If runs are rare, or if the worker would take its CPU from another thread of the run, it sleeps at once.
    """
    index = builder.load_slot("%worker", INDEX)
    has_clock = builder.load_slot("%pool", GET_TIME).ne(0)
    with builder.if_then(has_clock.eq(0)):
        builder.lines.append(" call void @sleep(ptr %pool, ptr %worker)")
        builder.emit_return("void")
    begin = emit_time(builder)
    with builder.if_then(builder.load_slot("%worker", IS_EAGER).ne(0)):

        def waits() -> LLVMValue:
            return is_idle(builder, index) & ((emit_time(builder) - begin) < SPIN_INTERVAL)

        with builder.loop_while(waits):
            for _ in range(PAUSES_PER_LOOK):
                builder.pause()
    with builder.if_then(is_idle(builder, index)):
        builder.lines.append(" call void @sleep(ptr %pool, ptr %worker)")
    is_short = (emit_time(builder) - begin) < SPIN_INTERVAL
    is_eager = is_short & builder.load_slot("%worker", HAS_CPU).ne(0)
    builder.store_slot("%worker", IS_EAGER, is_eager.convert("zext", "i64"))
    builder.emit_return("void")
    return builder.build_function("internal void @rest(ptr %pool, ptr %worker)")


def emit_time(builder: PoolFunctionBuilder) -> LLVMValue:
    """The nanoseconds of a monotonic clock."""
    seconds = builder.new_slot("seconds", LLVMType("i64", 2))
    clock = builder.load_slot_pointer("%pool", GET_TIME)
    builder.emit(I64.with_element("i32"), f"call i32 {clock}(i32 {MONOTONIC_CLOCK}, ptr {seconds.name})")
    return builder.load_slot(seconds.name, 0) * 1_000_000_000 + builder.load_slot(seconds.name, 1)


def is_idle(builder: PoolFunctionBuilder, index: LLVMValue) -> LLVMValue:
    """Whether no run includes a worker, and the pool is not stopped."""
    is_stopped = builder.load_acquire("%pool", STOP_REQUESTED).ne(0)
    return (is_participant(builder, "%pool", index) | is_stopped).eq(0)


def emit_sleep(builder: PoolFunctionBuilder) -> str:
    """Emits `@sleep`: waits until a run includes the worker, or the pool is stopped."""
    mutex, condition = builder.slot_address("%worker", MUTEX), builder.slot_address("%worker", CONDITION)
    index = builder.load_slot("%worker", INDEX)
    builder.call_system("%pool", MUTEX_LOCK, mutex)
    with builder.loop_while(lambda: is_idle(builder, index)):
        builder.call_system("%pool", CONDITION_WAIT, condition, mutex)
    builder.call_system("%pool", MUTEX_UNLOCK, mutex)
    builder.emit_return("void")
    return builder.build_function("internal void @sleep(ptr %pool, ptr %worker)")


def emit_work(builder: PoolFunctionBuilder) -> str:
    """Emits `@work`, the main function of a worker: executes chunks while a run includes it, and rests otherwise."""
    builder.store_float_mode(builder.constant(DEFAULT_FLOAT_MODE[builder.architecture], I64))
    pool, index = builder.load_slot_pointer("%worker", POOL), builder.load_slot("%worker", INDEX)
    seen, tries = builder.new_slot("seen", I64), builder.new_slot("tries", I64)
    for slot in (seen, tries):
        builder.store(slot, builder.constant(0, I64))
    with builder.loop_forever():
        with builder.if_then(builder.load_acquire(pool, STOP_REQUESTED).ne(0)):
            builder.emit_return("ptr null")
        run = builder.load_acquire(pool, CURRENT_RUN)
        is_included = (run & 0xFFFF) > index
        with builder.if_then(is_included):
            with builder.if_then(run.ne(builder.load(seen))):
                builder.store(seen, run)
                emit_wake_children(builder, pool, index, run & 0xFFFF)
            is_done = builder.emit(I64, f"call i64 @work_off(ptr {pool}, {index})") > 0
            with builder.if_then(is_done):
                builder.store(tries, builder.constant(0, I64))
            with builder.if_then(is_done.eq(0)):
                builder.spin_wait(pool, tries)
        with builder.if_then(is_included.eq(0)):
            builder.lines.append(f" call void @rest(ptr {pool}, ptr %worker)")
    return builder.build_function("ptr @work(ptr %worker)")
