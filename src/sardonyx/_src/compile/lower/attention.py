"""Attention: heads as views of what projections made, caches in front of them, masks and limits of what a query sees."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sardonyx._src.compile.asked import MOST_ELEMENTS
from sardonyx._src.compile.attention.step import ELEMENTS, attention
from sardonyx._src.compile.lower.views import cut
from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.moves.copy import copied
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.registry import lowers
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.compile.views import viewed
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known, dim_min, known_equal, known_ge
from sardonyx._src.ir.graph import Value

HEADS_INSIDE = (0, 2, 1, 3)  # from [B, H, S, D] to [B, S, H, D]
Q, K, V, MASK, PAST_K, PAST_V, LENGTHS = range(7)
SCORES = 3  # among the outputs


@lowers("Attention", 25)
def attention_(call: Call, at: Lowering) -> bool:
    """Whatever is of float."""
    if not is_there(call, at):
        return False
    inputs = [(Q, "q_num_heads"), (K, "kv_num_heads"), (V, "kv_num_heads"), (PAST_K, ""), (PAST_V, "")]
    q, k, v, past_k, past_v = (heads(call, at, call.input(i), name) for i, name in inputs)
    if q is None or k is None or v is None or (past_k is None) != (past_v is None) or not fit(at, q, k, v):
        return False
    past: Known = 0
    if past_k is not None and past_v is not None:
        past = past_k.shape[2]
        if not (
            goes_before(at, past_k, k) and goes_before(at, past_v, v) and at.agree(past, past_v.shape[2])
        ):
            return False
    total = past + k.shape[2]
    lengths = call.input(LENGTHS)
    if lengths is not None and not at.agree(at.known_shape(lengths)[0], q.shape[0]):
        return False
    mask = masked(at, call.input(MASK), (*q.shape[:3], total))
    if mask is None or not gives_scores(call, at, mask, (*q.shape[:3], total)):
        return False
    k, v = (joined(call, at, i, before, new) for i, before, new in ((1, past_k, k), (2, past_v, v)))
    reach = reached(call, past, q.shape[2], mask.keys, has_lengths=lengths is not None)
    at.emit(
        *attention(
            q,
            cut(k, 2, 0, reach.keys),
            cut(v, 2, 0, reach.keys),
            result(call, at, q, v),
            scale=scale_of(call, q),
            mask=None
            if mask.tensor is None
            else cut(mask.tensor, 3, 0, dim_min(mask.tensor.shape[3], reach.keys)),
            ahead=reach.ahead,
            back=reach.back,
            lengths=None if lengths is None else at.dense(lengths),
            most=total,
            status=at.status,
            softcap=call.attribute("softcap", float),
            zeros=True,
            scores=at.result(call.node.outputs[SCORES]) if call.wanted(SCORES) else None,
            stage=call.attribute("qk_matmul_output_mode", int),
        )
    )
    return True


def gives_scores(call: Call, at: Lowering, mask: Mask, shape: tuple[Known, ...]) -> bool:
    """Whether the scores, if somebody reads them, are of a shape and under a mask that there is a kernel for."""
    if not call.wanted(SCORES):
        return True
    made = at.shape(call.node.outputs[SCORES])
    if made is None or len(made) != 4 or not all(map(at.agree, made, shape)):
        return False
    return mask.tensor is None or mask.tensor.strides[3] == 1


def is_there(call: Call, at: Lowering) -> bool:
    """Whether kernels know the types of all inputs, and have their elements."""
    if at.shape(call.output) is None or call.attributes.get("softmax_precision") not in (
        None,
        DataType.FLOAT,
    ):
        return False
    given = [(i, value) for i, value in enumerate(call.node.inputs) if value is not None]
    if not all(at.is_native(value) for _, value in given):
        return False
    return all(at.dtype_of(value) in allowed(i) for i, value in given)


def allowed(index: int) -> tuple[DataType, ...]:
    """The element types of an input that there are kernels for."""
    if index == MASK:
        return tuple(ELEMENTS)
    return (DataType.INT64,) if index == LENGTHS else (DataType.FLOAT,)


def scale_of(call: Call, q: Tensor) -> float:
    scale, depth = call.optional("scale"), q.shape[3]
    assert isinstance(depth, int), "sizes of heads are numbers"
    return float(scale) if isinstance(scale, float) else 1 / math.sqrt(max(depth, 1))


# --- what queries see --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reach:
    """The keys that any query sees, and where those of query s end and begin: `ahead` and `back` from s, if they do."""

    keys: Known
    ahead: Known | None
    back: Known | None


def reached(call: Call, past: Known, queries: Known, keys: Known, *, has_lengths: bool) -> Reach:
    """What places decide; counted from the length of a batch where there are lengths."""
    left, right = (
        min(int(window), MOST_ELEMENTS) if isinstance(window := call.optional(name), int) else -1
        for name in ("left_window_size", "right_window_size")
    )
    if call.attribute("is_causal", int):
        right = 0
    first = -queries if has_lengths else past  # the place of the first query
    ahead = first + (right + 1) if right >= 0 else None
    back = first - left if left >= 0 else None
    if ahead is not None and queries == 1:
        return Reach(keys if has_lengths else dim_min(keys, ahead), None, back)
    return Reach(keys, ahead, back)


@dataclass(frozen=True, slots=True)
class Mask:
    """A mask of [B, H, S, T], broadcast by strides of 0, or none; and how many keys it has anything for."""

    tensor: Tensor | None
    keys: Known


def masked(at: Lowering, value: Value | None, scores: tuple[Known, ...]) -> Mask | None:
    """What a mask says of scores [B, H, S, T]; keys behind its last one are not seen.  None if it may not fit."""
    total = scores[3]
    if value is None:
        return Mask(None, total)
    shape = at.known_shape(value)
    if len(shape) > 4:
        return None
    outer = zip(reversed(shape[:-1]), reversed(scores[:3]), strict=False)
    if not all(at.stretches(size, whole) for size, whole in outer):
        return None
    keys = seen(at, shape[-1], total) if shape else total
    if keys is None:
        return None
    source = at.strided(value)
    forms = [one for one in at.forms[value] if not one.shape or one.strides[-1] == 1]
    return Mask(
        broadcast(forms[0] if forms else at.dense(value) if source.rank else source, scores, keys), keys
    )


def seen(at: Lowering, size: Known, total: Known) -> Known | None:
    """How many of all keys a mask is for; None if it is known to have too many."""
    if known_equal(size, total) or known_ge(total, size):
        return size
    if size == 1:
        return dim_min(size, total)
    if isinstance(size, int) and isinstance(total, int):
        return None
    at.demands[dim_min(size, total), size] = None
    return size


def broadcast(mask: Tensor, scores: tuple[Known, ...], keys: Known) -> Tensor:
    """A mask under all four dims of the scores; a dim that may turn out to be 1 stands still where it is."""
    lead = 4 - mask.rank
    strides: list[Known] = [0] * lead
    for size, stride, whole in zip(mask.shape[:-1], mask.strides, scores[lead:], strict=False):
        strides.append(0 if size == 1 else stride if size == whole else stride * dim_min(1, size - 1))
    if mask.rank:
        strides.append(1)
    shape = tuple(1 if s == 0 else whole for s, whole in zip(strides, (*scores[:3], keys), strict=True))
    return Tensor(mask.dtype, shape, tuple(strides), mask.storage, mask.offset)


# --- heads -------------------------------------------------------------------------------------


def heads(call: Call, at: Lowering, value: Value | None, name: str) -> Tensor | None:
    """A value [B, H, S, D], or [B, S, H * D], as [B, H, S, D] with elements of a row 1 apart; None if it is neither."""
    shape = () if value is None else at.known_shape(value)
    if value is not None and len(shape) == 4:
        at.strided(value)
        return next((form for form in at.forms[value] if form.strides[3] == 1), None) or at.dense(value)
    count = call.attributes.get(name)
    if value is None or len(shape) != 3 or not isinstance(count, int) or count < 1:
        return None
    size = shape[2] // count
    if not known_equal(size * count, shape[2]):
        return None
    found = viewed(at.rows(value), (shape[0], shape[1], count, size))
    return None if found is None else found.permuted(HEADS_INSIDE)


def fit(at: Lowering, q: Tensor, k: Tensor, v: Tensor) -> bool:
    """Whether the heads are known to go together, and their numbers and sizes are numbers."""
    (batch, queries_heads, _, depth), group = q.shape, k.shape[1]
    same: list[tuple[Known, Known]] = [(batch, k.shape[0]), (batch, v.shape[0]), (depth, k.shape[3])]
    same += [(group, v.shape[1]), (k.shape[2], v.shape[2])]
    if not all(at.agree(a, b) for a, b in same):
        return False
    if not (isinstance(depth, int) and isinstance(group, int) and isinstance(queries_heads, int)):
        return False
    return group > 0 and queries_heads % group == 0


def goes_before(at: Lowering, past: Tensor, new: Tensor) -> bool:
    """Whether keys or values of the past are known to be like the new ones, but for their number."""
    return all(at.agree(past.shape[d], new.shape[d]) for d in (0, 1, 3))


def joined(call: Call, at: Lowering, index: int, past: Tensor | None, new: Tensor) -> Tensor:
    """All keys or values, in an output where somebody wants them there."""
    output = call.node.outputs[index] if call.wanted(index) else None
    if past is None:
        if output is not None:
            at.bind(output, new)
        return new
    before = past.shape[2]
    shape = (*new.shape[:2], before + new.shape[2], new.shape[3])
    name = call.output.name
    made = at.temporary(new.dtype, shape, name) if output is None else at.result(output)
    at.emit(copied(past, cut(made, 2, 0, before)), copied(new, cut(made, 2, before, new.shape[2])))
    return made


def result(call: Call, at: Lowering, q: Tensor, v: Tensor) -> Tensor:
    """Memory for the result, heads inside where that saves a copy behind it."""
    shape = (q.shape[0], q.shape[1], q.shape[2], v.shape[3])
    if len(at.known_shape(call.output)) == 3:
        made = at.result(call.output)
        found = viewed(made, (shape[0], shape[2], shape[1], shape[3]))
        assert found is not None, "a dense tensor has views"
        return found.permuted(HEADS_INSIDE)
    reader = at.only_reader(call.output)
    if reader is None or reader.op_type != "Transpose":
        return at.result(call.output)
    placed = tuple(shape[i] for i in HEADS_INSIDE)
    made = at.temporary(DataType.FLOAT, placed, call.output.name).permuted(HEADS_INSIDE)
    at.bind(call.output, made)
    return made
