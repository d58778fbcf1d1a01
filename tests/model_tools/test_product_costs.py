"""Operations of products in `sx.tools.node_costs` and `sardonyx show --stats`, counted by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.cli.main import main

VENDOR = '"com.microsoft": 1'
# The text of a graph, and its operations: two for each multiply-add.
CASES = {
    "matrix product by letters": (
        "g (float[2,3,4] x, float[2,4,5] w) => (float[2,3,5] y) { y = Einsum <equation = 'bij,bjk->bik'> (x, w) }",
        2 * 2 * 3 * 4 * 5,
    ),
    "attention scores by letters": (
        "g (float[1,7,2,4] q, float[1,9,2,4] k) => (y) { y = Einsum <equation = 'bqhd,bkhd->bhqk'> (q, k) }",
        2 * (1 * 2 * 7 * 9) * 4,
    ),
    "ellipsis, with an axis that broadcasts": (
        "g (float[1,3,4] x, float[5,4,6] w) => (y) { y = Einsum <equation = '...ij,...jk->...ik'> (x, w) }",
        2 * 5 * 3 * 4 * 6,
    ),
    "outer product: nothing is added": (
        "g (float[3] x, float[4] w) => (y) { y = Einsum <equation = 'i,j->ij'> (x, w) }",
        3 * 4,
    ),
    "transposition": ("g (float[3,4] x) => (y) { y = Einsum <equation = 'ij->ji'> (x) }", 0),
    "sum": ("g (float[3,4] x) => (y) { y = Einsum <equation = 'ij->i'> (x) }", 3 * 4),
    "three terms, from the left": (
        "g (float[2,3] x, float[3,4] v, float[4,5] w) => (y) { y = Einsum <equation = 'ij,jk,kl->il'> (x, v, w) }",
        2 * 2 * 3 * 4 + 2 * 2 * 4 * 5,
    ),
    "attention, heads as an axis": (
        "g (float[2,3,5,8] q, float[2,3,7,8] k, float[2,3,7,6] v) => (y) { y = Attention(q, k, v) }",
        2 * (2 * 3) * (5 * 7 * 8 + 5 * 7 * 6),
    ),
    "attention, heads packed and shared": (
        """g (float[2,5,32] q, float[2,7,16] k, float[2,7,16] v) => (y) {
            y = Attention <q_num_heads = 4, kv_num_heads = 2> (q, k, v) }""",
        2 * (2 * 4) * (5 * 7 * 8 + 5 * 7 * 8),
    ),
    "attention with a past": (
        """g (float[1,2,1,8] q, float[1,2,1,8] k, float[1,2,1,8] v, float[1,2,9,8] pk, float[1,2,9,8] pv) => (y, nk, nv) {
            y, nk, nv = Attention(q, k, v, , pk, pv) }""",
        2 * 2 * (1 * 10 * 8 + 1 * 10 * 8),
    ),
    "deformable convolution": (
        """g (float[1,3,4,4] x, float[5,3,2,2] w, float[1,8,3,3] o) => (float[1,5,3,3] y) {
            y = DeformConv <kernel_shape = [2, 2]> (x, w, o) }""",
        2 * (5 * 3 * 3) * (3 * 2 * 2),
    ),
    "transposed product": (
        "g (float[3,2] x, float[3,4] w) => (y) { y = Gemm <transA = 1> (x, w) }",
        2 * 2 * 3 * 4,
    ),
    "vendor's product of transposed operands": (
        "g (float[2,3,4] x, float[2,3,5] w) => (float[2,4,5] y) { y = com.microsoft.FusedMatMul <transA = 1> (x, w) }",
        2 * (2 * 4 * 5) * 3,
    ),
    "vendor's product of 4-bit weights": (
        """g (float[2,32] x, uint8[8,1,16] w, float[8] s) => (float[2,8] y) {
            y = com.microsoft.MatMulNBits <K = 32, N = 8, bits = 4, block_size = 32> (x, w, s) }""",
        2 * 2 * 32 * 8,
    ),
    "vendor's attention": (
        """g (float[2,5,16] q, float[2,7,16] k, float[2,7,16] v) => (float[2,5,16] y) {
            y = com.microsoft.MultiHeadAttention <num_heads = 2> (q, k, v) }""",
        2 * (2 * 2) * (5 * 7 * 8 + 5 * 7 * 8),
    ),
    "linear attention, a delta rule and shared heads": (
        """g (float[2,5,32] q, float[2,5,16] k, float[2,5,12] v, float[2,5,2] d, float[2,5,2] b) => (y, s) {
            y, s = LinearAttention <q_num_heads = 4, kv_num_heads = 2, update_rule = 'gated_delta'> (q, k, v, , d, b) }""",
        2 * (2 * 5) * (8 * 6) * (4 + 2 * 2),  # of 4 queries; of 2 keys, what is read and what is added
    ),
    "linear attention without a delta rule": (
        """g (float[2,5,16] q, float[2,5,16] k, float[2,5,12] v) => (y, s) {
            y, s = LinearAttention <q_num_heads = 2, kv_num_heads = 2, update_rule = 'linear'> (q, k, v) }""",
        2 * (2 * 5) * (8 * 6) * (2 + 2),
    ),
    "experts: two of four": (
        """g (float[3,8] x, float[3,4] r, float[4,16,8] w1, float[4,8,16] w2) => (float[3,8] y) {
            y = com.microsoft.MoE <k = 2> (x, r, w1, , w2) }""",
        2 * 3 * 2 * (16 * 8 + 8 * 16),
    ),
    "experts of 4-bit weights": (
        """g (float[3,8] x, float[3,4] r, uint8[4,16,4] w1, float[4,16] s1, uint8[4,8,8] w2, float[4,8] s2) => (float[3,8] y) {
            y = com.microsoft.QMoE <k = 1> (x, r, w1, s1, , w2, s2) }""",
        2 * 3 * 1 * (16 * 8 + 8 * 16),
    ),
    "Fourier transform of real numbers along an inner axis": (
        "g (float[3,16,2,1] x) => (y) <int64 n = {8}, int64 axis = {1}> { y = DFT(x, n, axis) }",
        (3 * 2) * (8 * 3 * 5 // 2),
    ),
    "Fourier transform of complex numbers": ("g (float[3,16,2] x) => (y) { y = DFT(x) }", 3 * (5 * 16 * 4)),
    "short-time Fourier transform": (
        "g (float[2,64,1] x) => (y) <int64 step = {8}, float[16] w = {"
        + ", ".join(["1"] * 16)
        + "}> { y = STFT(x, step, w) }",
        (2 * 7) * (16 * 4 * 5 // 2),
    ),
    "vendor's attention with its projection": (
        """g (float[2,5,16] x, float[16,48] w, float[48] b) => (float[2,5,16] y) {
            y = com.microsoft.Attention <num_heads = 2> (x, w, b) }""",
        2 * (2 * 5 * 16 * 48) + 2 * (2 * 2) * (5 * 5 * 8 + 5 * 5 * 8),
    ),
}


@pytest.mark.parametrize(("text", "operations"), CASES.values(), ids=CASES)
def test_operations_are_those_counted_by_hand(text: str, operations: int) -> None:
    (cost,) = sx.tools.node_costs(parse_model(text.replace("'", '"'), opset=24, more=VENDOR))
    assert cost.flops == operations


def test_unknown_sizes_have_no_count() -> None:
    text = 'g (x, float[4,5] w) => (y) { y = Einsum <equation = "ij,jk->ik"> (x, w) }'
    (cost,) = sx.tools.node_costs(parse_model(text, opset=24))
    assert cost.flops is None


def test_show_lists_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, operations = CASES["attention, heads as an axis"]
    assert operations == 5_880
    sx.save(parse_model(text, opset=24), tmp_path / "m.onnx")
    assert main(["show", str(tmp_path / "m.onnx"), "--stats"]) == 0
    assert "5.9 k" in capsys.readouterr().out
