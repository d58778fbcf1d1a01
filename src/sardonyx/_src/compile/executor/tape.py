"""The run loop of the executor: native functions that execute a program's tape, alone or with the workers of a pool.

A tape is an array of records, each of `RECORD_SLOTS` i64 slots: address of the kernel (0: an action that Python
executes), address of its arguments, units of work, weight (estimated ns), jump, flag address, row groups (0: none),
and the most row groups of a block (`scheduling.py`).  If the jump of a record is not 0 and the i64 at its flag
address is nonzero, the next record is that many records away.  Branches and loops are encoded so.

    i64 run(ptr tape, i64 from, i64 to, ptr pool, i64 threads, ptr scratch, i64 stride, ptr status)

executes records from `from` on while they are in [from, to).  It returns the index of the record that it reached: one
that Python executes, or, after `SIGNAL_INTERVAL`, an earlier one, so that Python can handle signals, deadlines and
cancellation.

A record that weighs more than the interval is executed in slices of its units of work, and the run returns after each
slice.  The next call, from this record on, continues at the unit in `RESUME_UNIT` of the status block.  A unit is
never interrupted.  So if a unit weighs more than `MAX_UNIT_WEIGHT`, the run returns before it and sets `LONG_UNITS`
of the status block to `REFUSED`, unless the caller has set it to `ALLOWED`.

Thread i uses the scratch memory at scratch + i*stride; the caller is thread 0.  With 1 thread the pool may be null.
`void* work(ptr worker)` is the main function of a worker thread.

A record of enough weight is a *job*, divided into chunks that the caller and the workers claim (`scheduling.py`).
One run at a time holds the pool (`POOL_LOCK`); others meanwhile run on their own thread.  A run publishes its number
of threads (`CURRENT_RUN`) and wakes the workers, which rest again when it has ended: awake for a while if runs follow
each other closely, and then asleep.  A run waits only for chunks that are claimed, never for a worker that has not
woken up.

A worker checks `CURRENT_RUN` with its mutex held before it waits on its condition variable; the waking thread writes
`CURRENT_RUN` first and then locks that mutex.  So no wakeup is lost.  Worker i wakes workers 2i+1 and 2i+2.

All threads compute in the default floating-point mode (round to nearest, subnormals kept), so that results do not depend
on which thread computes them; the caller's own mode is restored at the end.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen import I64, LLVMValue, MemoryLocation, Target
from sardonyx._src.compile.codegen.atomics import (
    DEFAULT_FLOAT_MODE,
    INTRINSIC_DECLARATIONS,
    architecture_family,
)
from sardonyx._src.compile.executor import status
from sardonyx._src.compile.executor.pool_builder import PoolFunctionBuilder
from sardonyx._src.compile.executor.pool_layout import (
    ARGS,
    ASSUMED_ITERATIONS,
    CALLER_CPU,
    CURRENT_RUN,
    FLAG,
    GET_CPU,
    JOB_THRESHOLD,
    JUMP,
    KERNEL,
    MAX_INTERVAL_THREADS,
    MAX_UNIT_WEIGHT,
    NEVER_PARALLEL,
    POOL_LOCK,
    RECORD_OVERHEAD,
    RECORD_SLOTS,
    ROW_GROUPS,
    SIGNAL_INTERVAL,
    UNITS,
    UNKNOWN_WEIGHT,
    UNKNOWN_WEIGHT_SLICES,
    WAKE_THRESHOLD,
    WEIGHT,
)
from sardonyx._src.compile.executor.scheduling import emit_share, emit_work_off
from sardonyx._src.compile.executor.workers import (
    emit_apart,
    emit_rest,
    emit_sleep,
    emit_wake,
    emit_wake_children,
    emit_work,
)


def tape_module(target: Target) -> str:
    """The LLVM module that defines `@run`, `@work` and the functions that they call."""
    functions = (
        emit_run,
        emit_enter,
        emit_leave,
        emit_slice,
        emit_share,
        emit_work_off,
        emit_wake,
        emit_apart,
        emit_sleep,
        emit_rest,
        emit_work,
    )
    return "\n".join(
        (
            *INTRINSIC_DECLARATIONS[architecture_family(target)],
            *(emit(PoolFunctionBuilder(target)) for emit in functions),
        )
    )


def emit_run(builder: PoolFunctionBuilder) -> str:
    """Emits `@run`, the run loop.  Without workers, or once waking them does not pay, no record reaches the job threshold."""
    i, threshold, entered, budget, is_done = (
        builder.new_slot(name, I64) for name in ("i", "limit", "entered", "left", "done")
    )
    caller_mode = builder.load_float_mode()
    is_mode_changed = caller_mode.ne(DEFAULT_FLOAT_MODE[builder.architecture])
    with builder.if_then(is_mode_changed):
        builder.store_float_mode(builder.constant(DEFAULT_FLOAT_MODE[builder.architecture], I64))
    builder.store(i, builder.parameter("from"))
    builder.store(threshold, builder.constant(NEVER_PARALLEL, I64))
    builder.store(entered, builder.constant(0, I64))
    builder.store(budget, builder.min(builder.parameter("threads"), MAX_INTERVAL_THREADS) * SIGNAL_INTERVAL)
    with builder.if_then(builder.parameter("threads") > 1):
        builder.store(threshold, builder.load_slot("%pool", JOB_THRESHOLD))

    def finish() -> None:
        with builder.if_then(builder.load(entered) > 0):
            builder.lines.append(" call void @leave(ptr %pool)")
        with builder.if_then(is_mode_changed):
            builder.store_float_mode(caller_mode)
        builder.emit_return(str(builder.load(i)))

    with builder.loop_forever():
        is_past_end = builder.load(i) >= builder.parameter("to")
        is_outside = is_past_end | (builder.load(i) < builder.parameter("from"))
        with builder.if_then(is_outside | (builder.load(budget) < 0)):
            finish()
        record = builder.slot_address("%tape", builder.load(i) * RECORD_SLOTS)
        kernel = builder.load_slot_pointer(record, KERNEL)
        with builder.if_then(builder.load_slot(record, KERNEL).eq(0)):
            finish()
        units, weight = builder.load_slot(record, UNITS), builder.load_slot(record, WEIGHT)
        is_long = (weight > SIGNAL_INTERVAL) & (units > 0)
        with builder.if_then(is_long), builder.if_then(emit_refusal(builder, weight, units)):
            finish()
        is_job = (weight >= builder.load(threshold)) & (units > 1)
        with builder.if_then(is_job):
            emit_enter_once(builder, record, builder.load(i), threshold, entered)
        is_shared = is_job & (builder.load(entered) > 0)
        builder.store(is_done, builder.constant(1, I64))
        with builder.if_then(is_long):
            shared = is_shared.convert("zext", "i64")
            call = f"call i64 @slice(ptr {record}, ptr %pool, i64 %threads, ptr %scratch, i64 %stride, ptr %status, {shared})"
            builder.store(is_done, builder.emit(I64, call))
        share = f"call void @share(ptr %pool, ptr {record}, i64 0, {units}, i64 %threads, ptr %scratch, i64 %stride)"
        with builder.if_then(is_shared & is_long.eq(0)):
            builder.lines.append(f" {share}")
        with builder.if_then((is_shared | is_long).eq(0) & (units > 0)):
            builder.call_kernel(kernel, builder.load_slot_pointer(record, ARGS), 0, units, "%scratch")
        with builder.if_then(builder.load(is_done).eq(0)):
            finish()
        builder.store(budget, builder.load(budget) - weight - RECORD_OVERHEAD)
        emit_advance(builder, record, i)
    return builder.build_function(
        "i64 @run(ptr %tape, i64 %from, i64 %to, ptr %pool, i64 %threads, ptr %scratch, i64 %stride, ptr %status)"
    )


def emit_refusal(builder: PoolFunctionBuilder, weight: LLVMValue, units: LLVMValue) -> LLVMValue:
    """Whether the units of a record (one or more) last too long; then records in the status block that they are refused."""
    is_estimate = weight < UNKNOWN_WEIGHT
    is_too_long = is_estimate & (builder.udiv(weight, units) > MAX_UNIT_WEIGHT)
    is_refused = is_too_long & builder.load_slot("%status", status.LONG_UNITS).ne(status.ALLOWED)
    with builder.if_then(is_refused):
        builder.store_slot("%status", status.LONG_UNITS, status.REFUSED)
    return is_refused


def emit_slice(builder: PoolFunctionBuilder) -> str:
    """Emits `@slice`: executes the next slice of a long record, and returns whether it is the last one.

    `RESUME_UNIT` is then the first unit after the slice, or 0 after the last slice.
    """
    units, weight = builder.load_slot("%record", UNITS), builder.load_slot("%record", WEIGHT)
    is_shared = builder.parameter("shared").ne(0)
    single, unknown = (builder.constant(number, I64) for number in (1, UNKNOWN_WEIGHT_SLICES))
    threads = builder.select(
        is_shared, builder.min(builder.parameter("threads"), MAX_INTERVAL_THREADS), single
    )
    count = builder.udiv(weight, threads * SIGNAL_INTERVAL) + 1
    count = builder.select(weight < UNKNOWN_WEIGHT, count, unknown)
    size = builder.udiv(units + count - 1, count)
    # A multiple of the threads, so that no thread waits while others execute the last units.
    size = builder.udiv(size + threads - 1, threads) * threads
    groups = builder.load_slot("%record", ROW_GROUPS)
    divisor = builder.select(groups > 0, groups, single)
    is_grid = groups.ne(0) & (size > groups)
    size = builder.select(is_grid, builder.udiv(size + groups - 1, divisor) * groups, size)  # whole panels
    first = builder.load_slot("%status", status.RESUME_UNIT)
    last = builder.min(first + size, units)
    with builder.if_then(is_shared):
        builder.lines.append(
            f" call void @share(ptr %pool, ptr %record, {first}, {last}, i64 %threads, ptr %scratch, i64 %stride)"
        )
    with builder.if_then(is_shared.eq(0)):
        kernel, args = (builder.load_slot_pointer("%record", slot) for slot in (KERNEL, ARGS))
        builder.call_kernel(kernel, args, first, last, "%scratch")
    is_last = last >= units
    builder.store_slot("%status", status.RESUME_UNIT, builder.select(is_last, 0, last))
    builder.emit_return(str(is_last.convert("zext", "i64")))
    return builder.build_function(
        "internal i64 @slice(ptr %record, ptr %pool, i64 %threads, ptr %scratch, i64 %stride, ptr %status, i64 %shared)"
    )


def emit_advance(builder: PoolFunctionBuilder, record: str, i: MemoryLocation) -> None:
    """Moves on to the next record, or to the target of the record's jump if its flag is set."""
    distance = builder.load_slot(record, JUMP)
    builder.store(i, builder.load(i) + 1)
    with builder.if_then(distance.ne(0)):
        is_set = builder.load_slot(builder.load_slot_pointer(record, FLAG), 0).ne(0)
        with builder.if_then(is_set):
            builder.store(i, builder.load(i) + (distance - 1))


def emit_enter_once(
    builder: PoolFunctionBuilder,
    record: str,
    i: LLVMValue,
    threshold: MemoryLocation,
    entered: MemoryLocation,
) -> None:
    """Acquires the pool unless this run holds it; does not try again if the remaining work is too little to wake workers."""
    with builder.if_then(builder.load(entered) <= 0):
        count = builder.parameter("to") - i
        result = builder.emit(I64, f"call i64 @enter(ptr %pool, ptr {record}, {count}, i64 %threads)")
        with builder.if_then(result < 0):
            builder.store(threshold, builder.constant(NEVER_PARALLEL, I64))
        builder.store(entered, result)


def emit_enter(builder: PoolFunctionBuilder) -> str:
    """Emits `@enter`: acquires the pool and wakes workers.

    `@enter` returns 1; 0 if another run holds the pool; -1 if the jobs among the records weigh too little.  The
    weight of a loop is the weight of `ASSUMED_ITERATIONS` iterations.
    """
    i, total = builder.new_slot("i", I64), builder.new_slot("total", I64)
    for slot in (i, total):
        builder.store(slot, builder.constant(0, I64))
    wake_threshold, threshold = (
        builder.load_slot("%pool", WAKE_THRESHOLD),
        builder.load_slot("%pool", JOB_THRESHOLD),
    )
    with builder.loop_while(lambda: builder.load(total) < wake_threshold):
        with builder.if_then(builder.load(i) >= builder.parameter("count")):
            builder.emit_return("i64 -1")
        record = builder.slot_address("%records", builder.load(i) * RECORD_SLOTS)
        weight = builder.load_slot(record, WEIGHT)
        builder.store(i, builder.load(i) + 1)
        with builder.if_then(weight >= threshold):
            builder.store(total, builder.load(total) + weight)
        is_back_edge = builder.load_slot(record, JUMP) < 0
        with builder.if_then(is_back_edge):
            builder.store(total, builder.load(total) * ASSUMED_ITERATIONS)
    _, is_acquired = builder.compare_exchange("%pool", POOL_LOCK, 0, 1)
    with builder.if_then(is_acquired.eq(0)):
        builder.emit_return("i64 0")
    has_get_cpu = builder.load_slot("%pool", GET_CPU).ne(0)
    with builder.if_then(has_get_cpu):
        builder.store_slot("%pool", CALLER_CPU, builder.current_processor("%pool"))
    threads = builder.parameter("threads")
    serial = (builder.load_slot("%pool", CURRENT_RUN) >> 16) + 1
    builder.store_release("%pool", CURRENT_RUN, (serial << 16) | threads)
    emit_wake_children(builder, "%pool", builder.constant(0, I64), threads)
    builder.emit_return("i64 1")
    return builder.build_function("internal i64 @enter(ptr %pool, ptr %records, i64 %count, i64 %threads)")


def emit_leave(builder: PoolFunctionBuilder) -> str:
    """Emits `@leave`: releases the pool; workers see a run of 0 threads and sleep."""
    serial = (builder.load_slot("%pool", CURRENT_RUN) >> 16) << 16
    builder.store_release("%pool", CURRENT_RUN, serial)
    builder.store_release("%pool", POOL_LOCK, 0)
    builder.emit_return("void")
    return builder.build_function("internal void @leave(ptr %pool)")
