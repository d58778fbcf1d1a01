"""Attention and other operators of decoders: native programs match the reference engine."""

from __future__ import annotations

import numpy as np
import pytest

from compile.reference_comparison import assert_matches_reference, normal
from models import parse_model
from sardonyx._src.compile.program.steps.program import FallbackOp
from sardonyx._src.ir import Array
from sardonyx._src.runtime.limits.run_limits import Bailout
from sardonyx._src.runtime.runs.native_program import compile_for_host


def kernels(text: str) -> list[str]:
    """The keys of the kernels that a graph is compiled to."""
    program = compile_for_host(parse_model(text, opset=28)).program
    assert not any(isinstance(action, FallbackOp) for action in program.actions), (
        "unexpected fallback operation"
    )
    return [step.kernel.key for step in program.steps]


HEADS = "float[b,6,s,8] q, float[b,2,t,8] k, float[b,2,t,5] v"


def attention_feeds(b: int, s: int, t: int, past: int | None = None) -> dict[str, Array]:
    feeds = {
        "q": normal(b, 6, s, 8, seed=1),
        "k": normal(b, 2, t, 8, seed=2),
        "v": normal(b, 2, t, 5, seed=3),
    }
    if past is not None:
        feeds |= {"pk": normal(b, 2, past, 8, seed=4), "pv": normal(b, 2, past, 5, seed=5)}
    return feeds


@pytest.mark.parametrize("attributes", ["", "<is_causal = 1>", "<softcap = 0.7, scale = 1.5>"])
@pytest.mark.parametrize(
    "mask", ["float[1,1,s,t]", "bool[b,1,s,t]", "bool[b,6,1,t]", "float[s,t]", "float[t]"]
)
def test_masks_are_broadcast(mask: str, attributes: str) -> None:
    text = f"g ({HEADS}, {mask} m) => (float[] y) {{ y = Attention{attributes}(q, k, v, m) }}"
    sizes = [(2, 5, 9), (1, 1, 9), (1, 5, 1), (3, 4, 0)]
    feeds = [attention_feeds(b, s, t) | {"m": random_mask(mask, b=b, s=s, t=t)} for b, s, t in sizes]
    assert_matches_reference(text, *feeds)


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
@pytest.mark.parametrize("attributes", ["", "is_causal = 1, softcap = 0.7,", "left_window_size = 2,"])
@pytest.mark.parametrize("mask", ["", "float[1,1,s,t]", "bool[b,6,s,t]", "float[b,1,1,w]"])
def test_scores_are_output_in_each_mode(mask: str, attributes: str, mode: int) -> None:
    mask_input = f", {mask} m" if mask else ""
    text = f"""g ({HEADS}{mask_input}) => (float[] z, float[] y) {{
      y, pk, pv, z = Attention<{attributes} qk_matmul_output_mode = {mode}>(q, k, v{", m" if mask else ""}) }}"""
    sizes = [(2, 5, 9), (1, 1, 40), (1, 5, 1), (3, 4, 0)]
    feeds = [attention_feeds(b, s, t) for b, s, t in sizes]
    for feed, (b, s, t) in zip(feeds, sizes, strict=True):
        if mask:
            feed["m"] = random_mask(mask, b=b, s=s, t=t, w=t // 2)
    assert_matches_reference(text, *feeds)


def test_keys_past_a_sequence_length_are_ignored() -> None:
    text = f"""g ({HEADS}, int64[b] n) => (float[] z, float[] y) {{
      y, pk, pv, z = Attention<is_causal = 1, qk_matmul_output_mode = 3>(q, k, v, , , , n) }}"""
    assert_matches_reference(
        text.replace("y, pk, pv, z", "y, , , z"), attention_feeds(3, 4, 20) | {"n": np.array([20, 7, 0])}
    )


def random_mask(kind: str, **sizes: int) -> Array:
    """A random mask; in a bool mask, every other row is all false."""
    names = kind[kind.index("[") + 1 : -1].split(",")
    result = normal(*(sizes.get(name, 0) or (int(name) if name.isdigit() else 0) for name in names), seed=9)
    if kind.startswith("float"):
        return result
    mask_values = result > 0
    mask_values[..., ::2, :] = False
    return mask_values


def test_a_mask_of_fewer_keys_hides_the_others() -> None:
    text = f"g ({HEADS}, float[1,1,1,w] m) => (float[] y) {{ y = Attention(q, k, v, m) }}"
    assert_matches_reference(
        text, *(attention_feeds(2, 3, 9) | {"m": normal(1, 1, 1, w, seed=w)} for w in (9, 4, 1))
    )
    with pytest.raises(Bailout):
        assert_matches_reference(text, attention_feeds(2, 3, 9) | {"m": normal(1, 1, 1, 10)})


@pytest.mark.parametrize("outputs_text", ["y", "y, a, c"])
@pytest.mark.parametrize("causal", [0, 1])
def test_past_keys_precede_new_ones(outputs_text: str, causal: int) -> None:
    outputs = ", ".join(f"float[] {name}" for name in outputs_text.split(", "))
    text = f"""g ({HEADS}, float[b,2,p,8] pk, float[b,2,p,5] pv) => ({outputs}) {{
      {outputs_text} = Attention<is_causal = {causal}>(q, k, v, , pk, pv) }}"""
    assert_matches_reference(
        text,
        *(
            attention_feeds(b, s, t, p)
            for b, s, t, p in [(2, 1, 1, 7), (1, 4, 4, 9), (1, 3, 3, 0), (2, 9, 2, 3)]
        ),
    )


def test_packed_heads_with_present_outputs() -> None:
    text = """g (float[b,s,12] q, float[b,s,6] k, float[b,s,4] v, float[b,2,p,3] pk, float[b,2,p,2] pv)
      => (float[] a, float[] y, float[] c) {
      y, a, c = Attention<q_num_heads = 4, kv_num_heads = 2, is_causal = 1>(q, k, v, , pk, pv) }"""
    feeds = {"q": normal(2, 3, 12), "k": normal(2, 3, 6, seed=1), "v": normal(2, 3, 4, seed=2)}
    assert_matches_reference(
        text, feeds | {"pk": normal(2, 2, 5, 3, seed=3), "pv": normal(2, 2, 5, 2, seed=4)}
    )


@pytest.mark.parametrize("window", ["left_window_size = 2", "right_window_size = 1, left_window_size = 0"])
@pytest.mark.parametrize("causal", [0, 1])
def test_windows_bound_keys_on_both_sides(window: str, causal: int) -> None:
    text = f"g ({HEADS}) => (float[] y) {{ y = Attention<is_causal = {causal}, {window}>(q, k, v) }}"
    assert_matches_reference(text, *(attention_feeds(1, s, t) for s, t in [(7, 7), (1, 9), (40, 70), (9, 3)]))


@pytest.mark.parametrize("attributes", ["", "<is_causal = 1>", "<is_causal = 1, left_window_size = 1>"])
def test_sequence_lengths_differ_between_batches(attributes: str) -> None:
    text = f"g ({HEADS}, int64[b] n) => (float[] y) {{ y = Attention{attributes}(q, k, v, , , , n) }}"
    feeds = [attention_feeds(3, s, 6) | {"n": np.array(n)} for s in (1, 4) for n in ([6, 2, 0], [1, 1, 5])]
    assert_matches_reference(text, *feeds)
    with pytest.raises(Bailout):
        assert_matches_reference(text, attention_feeds(3, 4, 6) | {"n": np.array([6, 7, 0])})


# --- products around a Softmax -----------------------------------------------------------------


def test_products_around_softmax_become_one_attention_step() -> None:
    text = """g (float[b,s,12] x, float[b,1,1,s] m, float[12,12] w) => (float[] z) <float c = {0.5}> {
      h = MatMul(x, w)  shape = Constant<value = int64[4] {0, 0, 3, 4}>()
      r = Reshape(h, shape)  q = Transpose<perm = [0, 2, 1, 3]>(r)  k = Transpose<perm = [0, 2, 3, 1]>(r)
      s = MatMul(q, k)  n = Div(s, c)  a = Add(n, m)  p = Softmax(a)  v = Sigmoid(q)
      y = MatMul(p, v)  t = Transpose<perm = [0, 2, 1, 3]>(y)  z = Exp(t)
    }"""
    assert [key for key in kernels(text) if "softmax" in key] == []
    assert "attention_f32_float" in kernels(text)
    feeds = [
        {"x": normal(b, s, 12), "m": normal(b, 1, 1, s, seed=1), "w": normal(12, 12, seed=2)}
        for b, s in [(2, 5), (1, 1), (1, 70)]
    ]
    assert_matches_reference(text, *feeds)


def test_products_of_rank_3_become_one_attention_step() -> None:
    text = """g (float[b,s,8] q, float[b,8,t] k, float[b,t,5] v, float[b,s,t] m) => (float[] y) {
      s = MatMul(q, k)  a = Add(m, s)  p = Softmax<axis = 2>(a)  y = MatMul(p, v) }"""
    assert kernels(text) == ["attention_f32_float"]
    for b, s, t in [(3, 4, 7), (1, 1, 40)]:
        feed = {"q": normal(b, s, 8), "k": normal(b, 8, t, seed=1), "v": normal(b, t, 5, seed=2)}
        assert_matches_reference(text, feed | {"m": normal(b, s, t, seed=3)})


def test_a_fully_masked_row_is_nan_as_in_softmax() -> None:
    text = """g (float[2,1,3,8] q, float[2,1,8,4] k, float[2,1,4,5] v, float[3,4] m) => (float[] y) {
      s = MatMul(q, k)  a = Add(s, m)  p = Softmax(a)  y = MatMul(p, v) }"""
    mask = np.zeros((3, 4), np.float32)
    mask[1] = -np.inf
    mask[2] = np.finfo(np.float32).min
    feed = {"q": normal(2, 1, 3, 8), "k": normal(2, 1, 8, 4, seed=1), "v": normal(2, 1, 4, 5, seed=2)}
    [result] = assert_matches_reference(text, feed | {"m": mask})
    assert np.isnan(result[:, :, 1]).all() and np.isfinite(result[:, :, ::2]).all()


@pytest.mark.parametrize(
    ("between", "last"),
    [
        ("a = Mul(s, m)", "y = MatMul(p, v)"),  # not a constant scale
        ("a = Add(s, m)", "y = MatMul(v, p)"),  # the weights are the right operand
        ("a = Identity(s)", "u = MatMul(p, v)  y = Add(u, p)"),  # weights are read elsewhere
    ],
)
def test_other_patterns_are_not_fused(between: str, last: str) -> None:
    text = f"""g (float[1,2,4,4] q, float[1,2,4,4] k, float[1,2,4,4] v, float[4,4] m) => (float[] y) {{
      s = MatMul(q, k)  {between}  p = Softmax(a)  {last} }}"""
    assert not any(key.startswith("attention") for key in kernels(text))
    assert_matches_reference(
        text, {name: normal(1, 2, 4, 4, seed=i) for i, name in enumerate("qkv")} | {"m": normal(4, 4)}
    )


# --- around attention --------------------------------------------------------------------------


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("rotated", [0, 6])
def test_rotary_embedding_with_and_without_positions(interleaved: int, rotated: int) -> None:
    half = (rotated or 10) // 2
    attributes = f"interleaved = {interleaved}, rotary_embedding_dim = {rotated}"
    text = f"""g (float[b,s,30] x, float[50,{half}] c, float[50,{half}] d, int64[b,s] p) => (float[] y) {{
      y = RotaryEmbedding<num_heads = 3, {attributes}>(x, c, d, p) }}"""
    angles = {"c": normal(50, half, seed=1), "d": normal(50, half, seed=2)}
    positions = np.random.default_rng(3).integers(0, 50, (2, 7))
    assert_matches_reference(text, {"x": normal(2, 7, 30), **angles, "p": positions})
    with pytest.raises(Bailout):
        assert_matches_reference(text, {"x": normal(2, 7, 30), **angles, "p": positions - 50})
    text = f"""g (float[b,3,s,10] x, float[b,s,{half}] c, float[b,s,{half}] d) => (float[] y) {{
      y = RotaryEmbedding<{attributes}>(x, c, d) }}"""
    for s in (7, 0, 1):
        feed = {"x": normal(2, 3, s, 10), "c": normal(2, s, half, seed=1), "d": normal(2, s, half, seed=2)}
        assert_matches_reference(text, feed)


def test_rotary_embedding_of_long_interleaved_heads() -> None:
    text = """g (float[2,3,4,150] x, float[2,4,75] c, float[2,4,75] d) => (float[] y) {
      y = RotaryEmbedding<interleaved = 1>(x, c, d) }"""
    assert_matches_reference(
        text, {"x": normal(2, 3, 4, 150), "c": normal(2, 4, 75, seed=1), "d": normal(2, 4, 75, seed=2)}
    )


@pytest.mark.parametrize("mode", ["linear", "circular"])
@pytest.mark.parametrize("kind", ["float", "int8"])
def test_tensor_scatter_inserts_into_a_cache(mode: str, kind: str) -> None:
    text = f"""g ({kind}[b,2,n,3] x, {kind}[b,2,m,3] u, int64[b] p) => ({kind}[] y) {{
      y = TensorScatter<axis = 2, mode = "{mode}">(x, u, p) }}"""
    dtype = np.float32 if kind == "float" else np.int8

    def feed(n: int, m: int, *positions: int) -> dict[str, Array]:
        b = len(positions)
        x, u = ((10 * normal(b, 2, length, 3, seed=length)).astype(dtype) for length in (n, m))
        return {"x": x, "u": u, "p": np.array(positions)}

    assert_matches_reference(text, feed(9, 3, 0, 6), feed(5, 5, 0, 0), feed(5, 0, 1, 2))
    if mode == "circular":
        assert_matches_reference(text, feed(9, 3, 8, -1), feed(9, 9, 1 << 62, -(1 << 63)))
    else:
        for invalid in (7, -1, 1 << 62):
            with pytest.raises(Bailout):
                assert_matches_reference(text, feed(9, 3, 0, invalid))


def test_tensor_scatter_starts_at_0_by_default() -> None:
    text = """g (float[2,9,3] x, float[2,4,3] u) => (float[] y) { y = TensorScatter<axis = -2>(x, u) }"""
    assert_matches_reference(text, {"x": normal(2, 9, 3), "u": normal(2, 4, 3, seed=1)})


@pytest.mark.parametrize("delta", [1, -3, 2])
@pytest.mark.parametrize("kind", ["int64", "int32"])
def test_range_up_to_a_dynamic_size(kind: str, delta: int) -> None:
    first = 2 if delta > 0 else 900
    text = f"""g (float[n] x) => ({kind}[] y) <int64 first = {{{first}}}, int64 delta = {{{delta}}}> {{
      n = Shape(x)  m = Squeeze(n)  a = Cast<to = {7 if kind == "int64" else 6}>(first)
      e = Cast<to = {7 if kind == "int64" else 6}>(m)  d = Cast<to = {7 if kind == "int64" else 6}>(delta)
      y = Range(a, e, d) }}"""
    assert_matches_reference(text, *({"x": normal(n)} for n in (10, 2, 0, 5000)))


LENGTHS = {  # nodes that compute images of another length from x [b, 32, n] and w [b, 32, m]
    "half": "a = MaxPool<kernel_shape = [2], strides = [2]>(x)",
    "half, rounded up": "a = MaxPool<kernel_shape = [3], strides = [2], pads = [1, 1]>(x)",
    "a sixth": "h = MaxPool<kernel_shape = [2], strides = [2]>(x)  a = MaxPool<kernel_shape = [3], strides = [3]>(h)",
    "double": "a = Concat<axis = 2>(x, x)",
    "two together": "a = Concat<axis = 2>(x, w)",
    "two halves": """f = MaxPool<kernel_shape = [2], strides = [2]>(x)  g = MaxPool<kernel_shape = [2], strides = [2]>(w)
      a = Concat<axis = 2>(f, g)""",
}
FUSED = """rows = Transpose<perm = [0, 2, 1]>(a)  split = Reshape(rows, heads)  q = Transpose<perm = [0, 2, 1, 3]>(split)
  k = Transpose<perm = [0, 1, 3, 2]>(q)  s = MatMul(q, k)  scaled = Div(s, two)  p = Softmax<axis = -1>(scaled)
  o = MatMul(p, q)  merged = Transpose<perm = [0, 2, 1, 3]>(o)  y = Reshape(merged, whole)"""
GROUPED = """rows = Transpose<perm = [0, 2, 1]>(a)  k = Slice(rows, none, sixteen, last)
  y = Attention<q_num_heads = 4, kv_num_heads = 2>(rows, k, k)"""


@pytest.mark.parametrize("attention", [FUSED, GROUPED], ids=["fused", "grouped"])
@pytest.mark.parametrize("name", LENGTHS)
def test_sequences_of_computed_lengths_are_native(name: str, attention: str) -> None:
    text = f"""g (float[b,32,n] x, float[b,32,m] w) => (float[] y) <float two = {{2}}, int64[4] heads = {{0, 0, 4, 8}},
      int64[3] whole = {{0, 0, 32}}, int64[1] none = {{0}}, int64[1] sixteen = {{16}}, int64[1] last = {{2}}>
      {{ {LENGTHS[name]} {attention} }}"""
    feeds = [
        {"x": normal(2, 32, n, seed=n), "w": normal(2, 32, m, seed=m)}
        for n, m in ((24, 5), (25, 4), (9, 1), (7, 2), (2, 3), (1, 1))
        if name != "a sixth" or n > 1
    ]
    assert_matches_reference(text, *feeds)
