"""LinearAttention runs natively as a kernel; other types of it, of Attention, and FlexAttention as the bodies that define them."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from compile.native_agreement import assert_engines_agree
from compile.stages import stages_of
from models import parse_model
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.ir import Array

RULES = ("linear", "gated", "delta", "gated_delta")
DRAW = np.random.default_rng(11)


def draw(*shape: int, scale: float = 0.5) -> Array:
    return (DRAW.standard_normal(shape) * scale).astype(np.float32)


def linear_attention(rule: str, sizes: str, *, past: bool, decay: str, options: str = "") -> str:
    """sizes: of queries, keys and values; decay: the size of its rows."""
    q, k, v = sizes.split()
    gate = f", float[N,T,{decay}] decay" if rule.startswith("gated") else ""
    rate = ", float[N,T,2] beta" if rule.endswith("delta") else ""
    state = ", float[N,2,4,D] past" if past else ""
    operands = ["q", "k", "v", "past" if past else "", "decay" if gate else "", "beta" if rate else ""]
    return (
        f"g (float[N,T,{q}] q, float[N,T,{k}] k, float[N,T,{v}] v{state}{gate}{rate}) => (float[N,T,M] y, float[N,2,4,E] s) "
        f'{{ y, s = LinearAttention <q_num_heads = 4, kv_num_heads = 2, update_rule = "{rule}"{options}> '
        f"({', '.join(operands).rstrip(', ')}) }}"
    )


def linear_feeds(rule: str, batch: int, length: int, *, past: bool, decay: int) -> dict[str, Array]:
    feeds = {"q": draw(batch, length, 16), "k": draw(batch, length, 8), "v": draw(batch, length, 6)}
    if past:
        feeds["past"] = draw(batch, 2, 4, 3)
    if rule.startswith("gated"):
        feeds["decay"] = -abs(draw(batch, length, decay))
    if rule.endswith("delta"):
        feeds["beta"] = abs(draw(batch, length, 2))
    return feeds


@pytest.mark.parametrize("past", [False, True])
@pytest.mark.parametrize("decay", [2, 8])
@pytest.mark.parametrize("rule", RULES)
def test_linear_attention(rule: str, decay: int, *, past: bool) -> None:
    text = linear_attention(rule, "16 8 6", past=past, decay=str(decay))
    sizes = ((1, 1), (2, 7), (1, 33), (3, 16))
    assert_engines_agree(text, *(linear_feeds(rule, *size, past=past, decay=decay) for size in sizes))


def test_linear_attention_with_a_scale_and_infinities() -> None:
    text = linear_attention("gated_delta", "16 8 6", past=True, decay="8", options=", scale = 0.3")
    feeds = linear_feeds("gated_delta", 2, 5, past=True, decay=8)
    feeds["v"][0, 2, 1], feeds["decay"][1, 3] = np.inf, -np.inf
    assert_engines_agree(text, feeds)


@pytest.mark.parametrize("rule", ["linear", "gated_delta"])
def test_linear_attention_in_half_precision(rule: str) -> None:
    text = linear_attention(rule, "16 8 6", past=True, decay="2").replace("float[", "float16[")
    feeds = linear_feeds(rule, 2, 5, past=True, decay=2)
    assert_engines_agree(text, {name: array.astype(np.float16) for name, array in feeds.items()})


def test_linear_attention_is_one_step() -> None:
    """Without the state as a result, too; columns of one projection are read where they are."""
    text = """
    g (float[N,T,30] x) => (float[N,T,M] y) {
      sizes = Constant <value = int64[3] {16, 8, 6}> ()
      q, k, v = Split <axis = 2> (x, sizes)
      y = LinearAttention <q_num_heads = 4, kv_num_heads = 2, update_rule = "linear"> (q, k, v)
    }
    """
    steps = stages_of(text, host_target()).program.steps
    assert [step.kernel.key for step in steps] == ["linear_attention_constant"]
    assert_engines_agree(text, {"x": draw(2, 9, 30)})


def test_rows_of_open_size_are_left_to_the_reference_kernel() -> None:
    text = linear_attention("gated", "16 8 6", past=False, decay="K")
    assert_engines_agree(text, linear_feeds("gated", 2, 3, past=False, decay=2), fallbacks=1)


@pytest.mark.parametrize(
    ("heads", "options", "mask"),
    [
        (4, "", ""),
        (2, "is_causal = 1, scale = 0.3", ""),
        (1, "softcap = 2.0", ", double[L,S] m"),
        (2, "is_causal = 1", ", bool[N,4,L,S] m"),
    ],
)
def test_attention_in_float64(heads: int, options: str, mask: str) -> None:
    text = (
        f"g (double[N,4,L,8] q, double[N,{heads},S,8] k, double[N,{heads},S,5] v{mask}) => (double[N,4,L,5] y) "
        f"{{ y = Attention <{options}> (q, k, v{', m' if mask else ''}) }}"
    ).replace("<>", "")
    for n, length, keys in ((1, 1, 1), (2, 7, 17)):
        feeds = {"q": draw(n, 4, length, 8), "k": draw(n, heads, keys, 8), "v": draw(n, heads, keys, 5)}
        feeds = {name: array.astype(np.float64) * 1.1 for name, array in feeds.items()}
        if "double" in mask:
            feeds["m"] = draw(length, keys).astype(np.float64)
        elif mask:
            feeds["m"] = draw(n, 4, length, keys) > -0.3
            feeds["m"][..., 0] = True
        assert_engines_agree(text, feeds)


def flex_attention(dtype: str, heads: int, kv_heads: int, attributes: str) -> str:
    return (
        f"g ({dtype}[N,{heads},L,8] q, {dtype}[N,{kv_heads},S,8] k, {dtype}[N,{kv_heads},S,5] v) => ({dtype}[N,{heads},L,5] y) "
        f"{{ y = ai.onnx.preview.FlexAttention {attributes} (q, k, v) }}"
    )


CAP = "score_mod = cap (float[A,B,C,D] s) => (float[A,B,C,D] t) { c = Constant <value = float {3}> () a = Div(s, c) b = Tanh(a) t = Mul(b, c) }"
HALVE = "prob_mod = halve (float[A,B,C,D] p) => (float[A,B,C,D] h) { c = Constant <value = float {0.5}> () h = Mul(p, c) }"
CAUSAL = """score_mod = causal (float[A,B,C,D] s) => (float[A,B,C,D] t) {
  zero = Constant <value = int64 {0}> () one = Constant <value = int64 {1}> () low = Constant <value = float raw_data: {-inf}> ()
  axis = Constant <value = int64[1] {1}> () empty = Constant <value = int64[0] {}> ()
  l1 = Shape <start = 2, end = 3> (s) l = Reshape(l1, empty) k1 = Shape <start = 3, end = 4> (s) k = Reshape(k1, empty)
  rows = Range(zero, l, one) columns = Range(zero, k, one) column = Unsqueeze(rows, axis) seen = LessOrEqual(columns, column)
  t = Where(seen, s, low) }"""


@pytest.mark.parametrize(
    "attributes", ["", "<scale = 0.25>", f"<{CAP}>", f"<{HALVE}>", f"<{CAP}, {HALVE}>", f"<{CAUSAL}>"]
)
@pytest.mark.parametrize("kv_heads", [2, 4])
def test_flex_attention(attributes: str, kv_heads: int) -> None:
    text = flex_attention("float", 4, kv_heads, attributes)
    feeds = [
        {"q": draw(n, 4, length, 8), "k": draw(n, kv_heads, keys, 8), "v": draw(n, kv_heads, keys, 5)}
        for n, length, keys in ((1, 1, 1), (2, 7, 17), (1, 16, 16))
    ]
    model = parse_model(text, more='"ai.onnx.preview": 1')
    reference = sx.Session(model, engine="reference")
    for threads in (1, 2):
        session = sx.Session(model, engine="native", threads=threads)
        assert session.stats.fallback_nodes == 0
        for feed in feeds:
            np.testing.assert_allclose(session.run(feed)["y"], reference.run(feed)["y"], 1e-5, 1e-6)
        assert not session.stats.bailouts
