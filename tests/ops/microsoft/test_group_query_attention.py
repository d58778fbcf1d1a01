"""GroupQueryAttention: prompts, decoding, shared buffers, rotary embedding, windows, sinks."""

import numpy as np
import pytest

from ops.microsoft.judge import VendorCase, assert_agrees, assert_native_agrees, run, vendor_model
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_model

RNG = np.random.default_rng(6)
N, KV, H = 4, 2, 16  # heads of queries, of keys and values, head size
HEADS = {"num_heads": N, "kv_num_heads": KV}


def draw(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


COS, SIN = np.cos(draw(16, H // 2)), np.sin(draw(16, H // 2))


def step(batch: int, new: int, lengths: list[int], room: int, **more: object) -> list[np.ndarray | None]:
    """The first nine inputs; lengths: the tokens of each batch entry with the new ones; room: entries of the past."""
    is_packed = bool(more.get("packed"))
    query = draw(batch, new, (N + 2 * KV) * H if is_packed else N * H)
    states = [None if is_packed else draw(batch, new, KV * H) for _ in range(2)]
    past = [np.zeros((batch, KV, room, H), np.float32) for _ in range(2)]
    for i, length in enumerate(lengths):
        before = 0 if max(lengths) == new else length - new
        for cache in past:
            cache[i, :, :before] = draw(KV, before, H)
    places, total = np.array(lengths, np.int32) - 1, np.array(max(lengths), np.int32)
    return [
        query,
        *states,
        *past,
        places.astype(np.int32),
        total,
        *((COS, SIN) if more.get("rotary") else (None, None)),
    ]


PROMPT, DECODE, SHARED = step(2, 3, [3, 3], 0), step(2, 1, [6, 6], 5), step(1, 1, [6], 12)
RAGGED = step(2, 1, [4, 6], 12)
GQA = "GroupQueryAttention"
CASES = [
    VendorCase(GQA, PROMPT, HEADS, 3),
    VendorCase(GQA, DECODE, HEADS, 3, label="decode"),
    VendorCase(GQA, SHARED, HEADS, 3, label="shared buffer"),
    VendorCase(GQA, RAGGED, HEADS, 3, label="ragged"),
    VendorCase(GQA, step(1, 3, [7], 12), HEADS, 3, label="several tokens"),
    VendorCase(GQA, step(2, 3, [3, 3], 0, packed=True), HEADS, 3, label="packed"),
    VendorCase(GQA, step(1, 4, [4], 8, rotary=True), {**HEADS, "do_rotary": 1}, 3, label="rotary prompt"),
    VendorCase(
        GQA,
        step(2, 1, [4, 6], 8, rotary=True, packed=True),
        {**HEADS, "do_rotary": 1},
        3,
        label="rotary decode",
    ),
    VendorCase(
        GQA,
        step(1, 1, [6], 8, rotary=True),
        {**HEADS, "do_rotary": 1, "rotary_interleaved": 1},
        3,
        label="interleaved",
    ),
    VendorCase(
        GQA,
        [*step(2, 1, [4, 6], 8, rotary=True), np.array([[3], [5]])],
        {**HEADS, "do_rotary": 1},
        3,
        label="positions",
    ),
    VendorCase(GQA, step(1, 6, [6], 8), {**HEADS, "local_window_size": 3}, 3, label="window prompt"),
    VendorCase(GQA, SHARED, {**HEADS, "local_window_size": 3}, 3, label="window decode"),
    VendorCase(GQA, step(1, 6, [6], 8), {**HEADS, "softcap": 2.0, "scale": 0.5}, 3, label="softcap"),
    VendorCase(GQA, [*PROMPT, None, draw(2, N, 3, 3)], HEADS, 3, label="bias"),
    VendorCase(GQA, [*SHARED, None, draw(1, 1, 1, 6)], {**HEADS, "softcap": 2.0}, 3, label="bias of buffer"),
    VendorCase(GQA, step(1, 6, [6], 8), {**HEADS, "smooth_softmax": 1}, 3, label="smooth"),
    VendorCase(GQA, [*SHARED, None, None, draw(N)], {**HEADS, "softcap": 2.0}, 3, label="sink"),
    VendorCase(GQA, PROMPT, {**HEADS, "causal": 0}, 3, label="not causal"),
    VendorCase(GQA, PROMPT, {**HEADS, "qk_output": 2}, 4, label="shares"),
    VendorCase(
        GQA, [*PROMPT, None, draw(2, N, 3, 3)], {**HEADS, "qk_output": 1, "softcap": 2.0}, 4, label="scores"
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_agrees(case: VendorCase) -> None:
    assert_agrees(case)


@pytest.mark.parametrize("case", CASES[1::4], ids=str)
def test_native(case: VendorCase) -> None:
    assert_native_agrees(case)


def test_padding_of_a_prompt_changes_no_word() -> None:
    """The rows of padding have unspecified results."""
    inputs = step(2, 4, [4, 3], 8)
    inputs[5] = np.array([3, 2], np.int32)
    padded = run(VendorCase(GQA, inputs, HEADS, 3))
    alone = [None if x is None else x[1:, :3] if x.ndim == 3 else x[1:] if x.ndim == 4 else x for x in inputs]
    alone[5:7] = np.array([2], np.int32), np.array(3, np.int32)
    np.testing.assert_allclose(padded[1:, :3], run(VendorCase(GQA, alone, HEADS, 3)), 1e-5, 1e-6)


@pytest.mark.parametrize(
    ("attributes", "kernel"),
    [({}, "attention_f32_lengths"), ({"local_window_size": 3}, "attention_f32_float")],
)
def test_a_mask_is_computed_for_windows_alone(attributes: dict[str, int], kernel: str) -> None:
    model = vendor_model(VendorCase(GQA, DECODE, {**HEADS, **attributes}, 3))
    keys = [step.kernel.key for step in compile_model(model, host_target()).program.steps]
    assert any(key.startswith(kernel) for key in keys)
