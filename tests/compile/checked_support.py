"""The runtime of checked builds: LLVM functions that look an access up in the table of `checked.py`."""

from __future__ import annotations

TABLE = "checked_table"  # the symbol of a pointer to the table
FAULTS, PLACE, BYTES, WRITES, LINE, COUNT, FIRST = range(7)  # slots of the table
RANGE = 3  # slots of a range
SPARE = 512  # bytes of the largest access: 64 lanes of 8 bytes

SUPPORT = f"""
@{TABLE} = global ptr null
@checked_spare = internal global [{SPARE} x i8] zeroinitializer
declare i64 @llvm.cttz.i64(i64, i1 immarg)
declare i64 @llvm.ctlz.i64(i64, i1 immarg)

define internal ptr @checked_fault(ptr %address, i64 %size, i64 %writes, i64 %line) noinline nounwind {{
entry:
 %table = load ptr, ptr @{TABLE}
 %faults = load i64, ptr %table
 %more = add i64 %faults, 1
 store i64 %more, ptr %table
 %is_first = icmp eq i64 %faults, 0
 br i1 %is_first, label %record, label %done
record:
 %p1 = getelementptr i64, ptr %table, i64 {PLACE}
 store ptr %address, ptr %p1
 %p2 = getelementptr i64, ptr %table, i64 {BYTES}
 store i64 %size, ptr %p2
 %p3 = getelementptr i64, ptr %table, i64 {WRITES}
 store i64 %writes, ptr %p3
 %p4 = getelementptr i64, ptr %table, i64 {LINE}
 store i64 %line, ptr %p4
 br label %done
done:
 ret ptr @checked_spare
}}

define internal ptr @checked_range(ptr %address, i64 %size, i64 %writes, i64 %line) noinline nounwind {{
entry:
 %table = load ptr, ptr @{TABLE}
 %begin = ptrtoint ptr %address to i64
 %p = getelementptr i64, ptr %table, i64 {COUNT}
 %count = load i64, ptr %p
 br label %head
head:
 %i = phi i64 [0, %entry], [%next, %again]
 %is_over = icmp sge i64 %i, %count
 br i1 %is_over, label %fault, label %look
look:
 %w = mul i64 %i, {RANGE}
 %p0 = getelementptr i64, ptr %table, i64 %w
 %p1 = getelementptr i64, ptr %p0, i64 {FIRST}
 %p2 = getelementptr i64, ptr %p0, i64 {FIRST + 1}
 %p3 = getelementptr i64, ptr %p0, i64 {FIRST + 2}
 %low = load i64, ptr %p1
 %high = load i64, ptr %p2
 %may_write = load i64, ptr %p3
 %is_above_low = icmp uge i64 %begin, %low
 %is_below_high = icmp ule i64 %begin, %high
 %left = sub i64 %high, %begin
 %has_room = icmp ule i64 %size, %left
 %is_allowed = icmp ule i64 %writes, %may_write
 %a = and i1 %is_above_low, %is_below_high
 %b = and i1 %has_room, %is_allowed
 %ok = and i1 %a, %b
 br i1 %ok, label %done, label %again
again:
 %next = add i64 %i, 1
 br label %head
fault:
 %spare = call ptr @checked_fault(ptr %address, i64 %size, i64 %writes, i64 %line)
 ret ptr %spare
done:
 ret ptr %address
}}

define internal ptr @checked_object(ptr %address, i64 %size, i64 %writes, i64 %line, ptr %root, i64 %bytes) noinline nounwind {{
entry:
 %begin = ptrtoint ptr %address to i64
 %low = ptrtoint ptr %root to i64
 %distance = sub i64 %begin, %low
 %last = sub i64 %bytes, %size
 %starts = icmp ule i64 %distance, %last
 %fits = icmp ule i64 %size, %bytes
 %ok = and i1 %starts, %fits
 br i1 %ok, label %done, label %fault
fault:
 %spare = call ptr @checked_fault(ptr %address, i64 %size, i64 %writes, i64 %line)
 ret ptr %spare
done:
 ret ptr %address
}}

define internal ptr @checked_lanes(ptr %address, i64 %width, i64 %writes, i64 %line, i64 %mask) noinline nounwind {{
entry:
 %none = icmp eq i64 %mask, 0
 br i1 %none, label %done, label %some
some:
 %first = call i64 @llvm.cttz.i64(i64 %mask, i1 true)
 %zeros = call i64 @llvm.ctlz.i64(i64 %mask, i1 true)
 %end = sub i64 64, %zeros
 %count = sub i64 %end, %first
 %size = mul i64 %count, %width
 %distance = mul i64 %first, %width
 %from = getelementptr i8, ptr %address, i64 %distance
 %pointer = call ptr @checked_range(ptr %from, i64 %size, i64 %writes, i64 %line)
 %ok = icmp eq ptr %pointer, %from
 br i1 %ok, label %done, label %fault
fault:
 ret ptr %pointer
done:
 ret ptr %address
}}

define internal void @checked_push(ptr %address, i64 %size) noinline nounwind {{
entry:
 %table = load ptr, ptr @{TABLE}
 %p = getelementptr i64, ptr %table, i64 {COUNT}
 %count = load i64, ptr %p
 %more = add i64 %count, 1
 store i64 %more, ptr %p
 %w = mul i64 %count, {RANGE}
 %p0 = getelementptr i64, ptr %table, i64 %w
 %p1 = getelementptr i64, ptr %p0, i64 {FIRST}
 %p2 = getelementptr i64, ptr %p0, i64 {FIRST + 1}
 %p3 = getelementptr i64, ptr %p0, i64 {FIRST + 2}
 %begin = ptrtoint ptr %address to i64
 %end = add i64 %begin, %size
 store i64 %begin, ptr %p1
 store i64 %end, ptr %p2
 store i64 1, ptr %p3
 ret void
}}

define internal void @checked_pop(i64 %pushed) noinline nounwind {{
entry:
 %table = load ptr, ptr @{TABLE}
 %p = getelementptr i64, ptr %table, i64 {COUNT}
 %count = load i64, ptr %p
 %remaining = sub i64 %count, %pushed
 store i64 %remaining, ptr %p
 ret void
}}
"""
