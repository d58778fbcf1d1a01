"""The functions of a library that C calls, as LLVM text: `PREFIX_run` and `PREFIX_error_text`."""

from __future__ import annotations

from sardonyx._src.export import layout, outcomes


def entry_module(prefix: str, *, passes_weights: bool) -> str:
    """The LLVM module of the entry points of a model.

    passes_weights: whether the caller passes the weights.
    """
    texts = [text for _, text in outcomes.OUTCOMES] + [outcomes.UNKNOWN_TEXT]
    rows = ", ".join(f'[{outcomes.TEXT_BYTES} x i8] c"{padded(text)}"' for text in texts)
    unknown = len(outcomes.OUTCOMES)
    weights = ", ptr %weights" if passes_weights else ""
    return f"""\
@{layout.CODE_SYMBOL} = external hidden constant i64, align {layout.ALIGNMENT}
@texts = private constant [{len(texts)} x [{outcomes.TEXT_BYTES} x i8]] [{rows}]
declare hidden i32 @{layout.RUN_SYMBOL}(ptr, ptr, ptr, i64, ptr, ptr)
define i32 @{prefix}_run(ptr %inputs, ptr %outputs, ptr %arena, i64 %bytes{weights}) nounwind {{
 %distance = load i64, ptr @{layout.CODE_SYMBOL}, align 8
 %data = getelementptr i8, ptr @{layout.CODE_SYMBOL}, i64 %distance
 %no_ports = icmp eq ptr %inputs, null
 %no_results = icmp eq ptr %outputs, null
 %is_null = or i1 %no_ports, %no_results
 br i1 %is_null, label %refuse, label %run
refuse:
 ret i32 {outcomes.NULL_POINTER}
run:
 %outcome = call i32 @{layout.RUN_SYMBOL}(ptr %inputs, ptr %outputs, ptr %arena, i64 %bytes, \
ptr {"%weights" if passes_weights else "null"}, ptr %data)
 ret i32 %outcome
}}
define ptr @{prefix}_error_text(i32 %outcome) nounwind {{
 %is_known = icmp ult i32 %outcome, {unknown}
 %row = select i1 %is_known, i32 %outcome, i32 {unknown}
 %text = getelementptr [{outcomes.TEXT_BYTES} x i8], ptr @texts, i32 %row
 ret ptr %text
}}
"""


def padded(text: str) -> str:
    """A text as the content of an LLVM constant of `TEXT_BYTES` bytes."""
    assert text.isascii() and len(text) < outcomes.TEXT_BYTES, f"{text!r} must leave room for a zero"
    return text + "\\00" * (outcomes.TEXT_BYTES - len(text))
