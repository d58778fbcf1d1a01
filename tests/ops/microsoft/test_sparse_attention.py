"""SparseAttention, MRotaryEmbedding and MatMulFpQ4."""

import io

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from ops.microsoft.judge import VendorCase, assert_agrees, assert_native_agrees, onnxruntime
from sardonyx._src.ir.walk import nodes

RNG = np.random.default_rng(13)
B, N, KV, H, BLOCK, ROOM = 2, 4, 2, 16, 16, 64  # batch, heads, key heads, head size, block, room of the cache
ROWS = np.array([[0, 1, 3, 5, 8], [0, 1, 3, 6, 9]], np.int32)
COLUMNS = np.array([[0, 0, 1, 1, 2, 1, 2, 3, -1], [0, 0, 1, 0, 1, 2, 0, 2, 3]], np.int32)
ATTRIBUTES = f"num_heads = {N}, kv_num_heads = {KV}, sparse_block_size = {BLOCK}"


def draw(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return RNG.normal(size=shape).astype(dtype)


def sparse_attention(
    new: int, attributes: str = "", *, packed: bool = False, rotary: bool = False
) -> sx.Model:
    size = (N + 2 * KV) * H if packed else N * H
    given = "" if packed else f"float[{B},{new},{KV * H}] k, float[{B},{new},{KV * H}] v, "
    angles = f", float[{ROOM},{H // 2}] cos, float[{ROOM},{H // 2}] sin" if rotary else ""
    cache = f"float[{B},{KV},{ROOM},{H}]"
    call = f"q, {',' if packed else 'k, v'}, past_k, past_v, rows, columns, total, lengths{', cos, sin' if rotary else ''}"
    return parse_model(
        f"""g (float[{B},{new},{size}] q, {given}{cache} past_k, {cache} past_v, int32[2,5] rows, int32[2,9] columns,
          int32[1] total, int32[{B}] lengths{angles}) => (float[{B},{new},{N * H}] y, {cache} out_k, {cache} out_v) {{
          y, out_k, out_v = com.microsoft.SparseAttention <{ATTRIBUTES}{attributes}> ({call}) }}""",
        more='"com.microsoft": 1',
    )


def feeds_of_model(model: sx.Model, lengths: list[int]) -> dict[str, np.ndarray]:
    sizes = {
        "rows": ROWS,
        "columns": COLUMNS,
        "total": np.array([max(lengths)], np.int32),
        "lengths": np.array(lengths, np.int32),
    }
    session = sx.Session(model, engine="reference")
    return {
        port.name: sizes[port.name]
        if port.name in sizes
        else draw(*(dim for dim in port.shape or () if isinstance(dim, int)))
        for port in session.inputs
    }


def run_in_place(model: sx.Model, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    """The results of onnxruntime, whose kernel demands that the caches are updated in place."""
    data = io.BytesIO()
    sx.save(model, data)
    session = onnxruntime.InferenceSession(data.getvalue(), providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    caches = {name: onnxruntime.OrtValue.ortvalue_from_numpy(feeds[f"past_{name}"].copy()) for name in "kv"}
    for name, value in feeds.items():
        if name.startswith("past_"):
            binding.bind_ortvalue_input(name, caches[name[-1]])
        else:
            binding.bind_cpu_input(name, value)
    binding.bind_output("y")
    for name, cache in caches.items():
        binding.bind_ortvalue_output(f"out_{name}", cache)
    session.run_with_iobinding(binding)
    return [np.array(array) for array in binding.copy_outputs_to_cpu()]


@pytest.mark.parametrize(
    ("new", "lengths", "attributes", "packed", "rotary"),
    [
        (40, [40, 40], "", False, False),
        (20, [20, 20], ", scale = 0.1", True, False),
        (1, [50, 50], "", False, False),
        (1, [33, 33], ", do_rotary = 1", False, True),
        (18, [18, 18], ", do_rotary = 1, rotary_interleaved = 1", True, True),
    ],
    ids=["prompt", "packed", "token", "rotary token", "interleaved"],
)
def test_sparse_attention_agrees(
    new: int, lengths: list[int], attributes: str, packed: bool, rotary: bool
) -> None:
    model = sparse_attention(new, attributes, packed=packed, rotary=rotary)
    feeds = feeds_of_model(model, lengths)
    expected = run_in_place(model, feeds)
    standard = sx.convert(model, sets={"com.microsoft": 0})
    assert {node.domain for node in nodes(standard.graph)} == {""}
    for engine in ("reference", "native"):
        results = sx.Session(model, engine=engine).run(feeds).values()
        for mine, theirs in zip(results, expected, strict=True):
            assert isinstance(mine, np.ndarray)
            np.testing.assert_allclose(mine, theirs, 1e-4, 1e-5, err_msg=engine)


def test_sequences_of_several_lengths_are_independent() -> None:
    """As onnxruntime computes each of them among equal ones; it mixes up the scores of several lengths."""
    model = sparse_attention(1)
    feeds = feeds_of_model(model, [50, 33])
    for engine in ("reference", "native"):
        results = sx.Session(model, engine=engine).run(feeds).values()
        for i, length in enumerate((50, 33)):
            lengths = {"total": np.array([length], np.int32), "lengths": np.array([length] * B, np.int32)}
            expected = run_in_place(model, {**feeds, **lengths})
            for mine, theirs in zip(results, expected, strict=True):
                assert isinstance(mine, np.ndarray)
                np.testing.assert_allclose(mine[i], theirs[i], 1e-4, 1e-5, err_msg=engine)


M_ROTARY = "MRotaryEmbedding"
POSITIONS = RNG.integers(0, 20, (3, 2, 5))
COS, SIN = draw(20, 8), draw(20, 8)
FLAT, HEADS = draw(2, 5, 3 * 16), draw(2, 3, 5, 16)
SECTIONS = {"mrope_section": [4, 2, 2], "num_heads": 3}
HALF = [x.astype(np.float16) for x in (FLAT, COS, SIN)]
ROTARIES = [
    VendorCase(M_ROTARY, [FLAT, POSITIONS, COS, SIN], SECTIONS),
    VendorCase(M_ROTARY, [HEADS, POSITIONS, COS, SIN], {"mrope_section": [2, 3, 3]}, label="heads"),
    VendorCase(
        M_ROTARY, [FLAT, POSITIONS, COS, SIN], {**SECTIONS, "mrope_layout": 1}, label="interleaved sections"
    ),
    VendorCase(
        M_ROTARY,
        [HEADS, POSITIONS, COS, SIN],
        {"mrope_section": [2, 3, 3], "mrope_layout": 1},
        label="short time",
    ),
    VendorCase(M_ROTARY, [FLAT, POSITIONS, COS, SIN], {**SECTIONS, "interleaved": 1}, label="interleaved"),
    VendorCase(
        M_ROTARY,
        [FLAT, POSITIONS, COS[:, :4], SIN[:, :4]],
        {"mrope_section": [2, 1, 1], "num_heads": 3, "rotary_embedding_dim": 8},
        label="part",
    ),
    VendorCase(M_ROTARY, [HALF[0], POSITIONS, *HALF[1:]], SECTIONS, rtol=1e-2, atol=1e-2, label="half"),
]


def blob(columns: int, k: int, kind: int) -> np.ndarray:
    """Weights of random bytes, with scales between 0.01 and 0.02 and zero points up to 15."""
    elements = 32
    blocks = columns * -(-k // elements)
    parts = [RNG.uniform(0.01, 0.02, (blocks, 1)).astype("<f4").view(np.uint8)]
    if kind == 1:
        parts.append(RNG.integers(0, 16, (blocks, 1)).astype(np.uint8))
    parts.append(RNG.integers(0, 256, (blocks, elements // 2)).astype(np.uint8))
    return np.concatenate(parts, axis=1).reshape(-1)


@pytest.mark.parametrize("case", ROTARIES, ids=str)
def test_rotary_agrees(case: VendorCase) -> None:
    assert_agrees(case)


@pytest.mark.parametrize("case", ROTARIES[:3], ids=str)
def test_native_rotary_agrees(case: VendorCase) -> None:
    assert_native_agrees(case)


@pytest.mark.parametrize(("kind", "k"), [(0, 64), (1, 64), (1, 96)])
def test_packed_floats_agree(kind: int, k: int) -> None:
    weights = blob(6, k, kind)
    text = f"""g (float[2,3,{k}] a) => (float[2,3,6] y) <uint8[{len(weights)}] b = {{{", ".join(map(str, weights))}}},
      int64[2] shape = {{{k}, 6}}> {{ y = com.microsoft.MatMulFpQ4 <blk_quant_type = {kind}> (a, b, shape) }}"""
    model = parse_model(text, more='"com.microsoft": 1')
    data, feeds = io.BytesIO(), {"a": draw(2, 3, k)}
    sx.save(model, data)
    (expected,) = onnxruntime.InferenceSession(data.getvalue()).run(None, feeds)
    for engine in ("reference", "native"):
        result = sx.Session(model, engine=engine).run(feeds)["y"]
        assert isinstance(result, np.ndarray)
        np.testing.assert_allclose(result, expected, 1e-3, 1e-3, err_msg=engine)


def test_packed_floats_of_another_type_are_refused() -> None:
    text = """g (float[3,64] a, uint8[36] b) => (float[3,1] y) <int64[2] shape = {64, 1}> {
      y = com.microsoft.MatMulFpQ4 <blk_quant_type = 2> (a, b, shape) }"""
    with pytest.raises(sx.ConversionError, match="blk_quant_type must be 0 or 1"):
        sx.convert(parse_model(text, more='"com.microsoft": 1'), sets={"com.microsoft": 0})
