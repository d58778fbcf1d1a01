"""Printers of the stages of compilation: regions, layouts, loop nests, expressions."""

from __future__ import annotations

import pytest

from models import parse_model
from sardonyx._src.cli.output.stages import format_stage
from sardonyx._src.compile.codegen import LLVMType, MemoryLocation, Parameters
from sardonyx._src.compile.codegen.expressions import Apply, Cast, Local, Number, Scalar, Select
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.printing.expressions import format_expression
from sardonyx._src.compile.printing.formatter import ProgramFormatter
from sardonyx._src.compile.printing.loop_outline import format_outline, outline_kernel
from sardonyx._src.dtypes import DataType

VECTOR = LLVMType("float", 8)
SCALED_ROWS = Parameters("x", "y", "columns", "factors*")


def repeat(*elements: int, count: int) -> str:
    """The elements of a constant."""
    return ", ".join(str(elements[i % len(elements)]) for i in range(count))


MODELS = {
    "convolutions": f"""g (float[1,3,9,9] x) => (float[1,8,9,9] y, float[1,16,4,4] p)
        <float[8,3,3,3] w = {{{repeat(-2, -1, 0, 1, 2, count=216)}}}, float[8,1,3,3] d = {{{repeat(1, 0, -1, 2, count=72)}}}>
        {{ a = Conv<pads = [1, 1, 1, 1]>(x, w)  y = Relu(a)  b = Conv<pads = [1, 1, 1, 1], group = 8>(y, d)
          m = MaxPool<kernel_shape = [3, 3], strides = [2, 2]>(b)
          n = AveragePool<kernel_shape = [3, 3], strides = [2, 2]>(y)  p = Concat<axis = 1>(m, n) }}""",
    "rows": """g (float[N,40] x, float[40] b) => (float[N,40] y, float[N,1] m, float[40,N] t, int64[N,1] i)
        { s = Softmax(x)  l = LayerNormalization(s, b)  y = Gelu(l)  axes = Constant<value_ints = [1]>()
          m = ReduceMax<keepdims = 1>(y, axes)  t = Transpose(s)  i = ArgMax<axis = 1>(x) }""",
    "recurrence": f"""g (float[5,2,4] x) => (float[5,1,2,3] y)
        <float[1,12,4] w = {{{repeat(-1, 0, 1, count=48)}}}, float[1,12,3] r = {{{repeat(0, 1, -1, count=36)}}}>
        {{ y = LSTM<hidden_size = 3>(x, w, r) }}""",
    "attention": "g (float[B,2,T,8] q, float[B,2,S,8] k, float[B,2,S,8] v) => (float[B,2,T,8] y) { y = Attention(q, k, v) }",
    "loop": """g (float[3] x, int64 n) => (float[3] y)
        { c = Constant<value = bool {1}>()
          y = Loop(n, c, x) <body = b (int64 i, bool c, float[3] s) => (bool d, float[3] t) { d = Identity(c)  t = Exp(s) }> }""",
}


def stage_lines(stage: str, text: str, **lengths: int) -> list[str]:
    return [line.rstrip() for line in format_stage(stage, parse_model(text), ProgramFormatter(lengths))]


# --- loops -----------------------------------------------------------------------------------


def scaled_rows_module() -> str:
    """y[row, i] = factors[0] * x[row, i] + 1, in vectors and then elements."""
    b = KernelBuilder(host_target(), SCALED_ROWS)
    x, y, columns, first_factor = b.pointer("x"), b.pointer("y"), b.integer("columns"), b.float32("factors")
    zero, factors = b.constant(0, columns.type), b.splat(first_factor, 8)
    with b.loop(b.first_unit, b.end_unit, name="row") as row:
        with b.loop(zero, columns, 8, name="column") as i:
            address = b.gep(x, row * columns + i)
            vector = b.load(MemoryLocation(address, VECTOR))
            vector = b.call_intrinsic("fma", vector, factors, b.constant(1.0, VECTOR))
            b.store(MemoryLocation(b.gep(y, row * columns + i), VECTOR), vector)
        with b.loop(i, columns, name="rest") as i:
            element = MemoryLocation(b.gep(x, row * columns + i), LLVMType("float"))
            b.store(MemoryLocation(b.gep(y, row * columns + i), element.type), b.load(element) * first_factor)
    b.store(MemoryLocation(y, LLVMType("float")), first_factor)
    return b.build_module("scaled_rows")


def test_the_outline_of_a_kernel_is_its_loop_nest() -> None:
    outline = outline_kernel(scaled_rows_module(), "scaled_rows", SCALED_ROWS.slot_names(4))
    assert list(format_outline(outline)) == [
        "once: 1 store float",
        "for row in first..last",
        "  for column in 0..columns step 8: 1 load <8 x float>, 1 fma <8 x float>, 1 store <8 x float>",
        "  for rest in column..columns: 1 load float, 1 fmul float, 1 store float",
    ]


def test_bounds_without_names_are_left_out() -> None:
    outline = outline_kernel(scaled_rows_module(), "scaled_rows")
    assert [loop.name for loop in outline.loops[0].loops] == ["column", "rest"]
    assert "  for column step 8: 1 load <8 x float>, 1 fma <8 x float>, 1 store <8 x float>" in [
        *format_outline(outline)
    ]


def test_a_loop_without_an_induction_variable_is_still_a_loop() -> None:
    module = "\n".join(
        (
            "define void @spin(ptr %args, i64 %first, i64 %last, ptr %scratch) nounwind {",
            "entry:",
            " br label %again",
            "again:",
            " %v1 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr %scratch, i32 4, <4 x i1> %m, <4 x float> zeroinitializer)",
            " call void @llvm.prefetch.p0(ptr %scratch, i32 0, i32 3, i32 1)",
            " br i1 %c, label %again, label %done",
            "done:",
            " ret void",
            "}",
        )
    )
    assert list(format_outline(outline_kernel(module, "spin"))) == [
        "loop: 1 masked.load <4 x float>, 1 prefetch"
    ]


@pytest.mark.parametrize("stage", ["regions", "layouts", "steps", "loops", "plan", "kernels", "llvm"])
@pytest.mark.parametrize("model", MODELS)
def test_every_stage_of_every_kind_of_kernel_is_printed(model: str, stage: str) -> None:
    lines = stage_lines(stage, MODELS[model])
    assert lines
    if stage == "loops":
        assert any(line.lstrip().startswith("for ") for line in lines)


def test_the_loops_of_a_kernel_are_printed_at_its_first_step() -> None:
    lines = stage_lines(
        "loops", "g (float[8] x, float[9] v) => (float[8] y, float[9] z) { y = Exp(x)  z = Exp(v) }"
    )
    assert any(line.lstrip().startswith("for ") for line in lines)
    assert lines[-2:] == ["       y = exp(i0)", "       loops of 0"]


# --- regions and layouts ---------------------------------------------------------------------


def test_a_region_has_an_expression_for_each_result() -> None:
    text = "g (float[8] x) => (float[8] y, float[8] z) { [a] y = Exp(x)  [b] z = Sub(y, x) }"
    (line,) = stage_lines("regions", text)
    assert line.endswith("; t0 = exp(i0); t0, t0 - i0")


def test_a_region_has_its_nodes_layouts_and_epilogue() -> None:
    text = """g (float[2,N,3] x, float[4] b, float[2,N,4] z) => (float[2,N,4] y) <float[3,4] w = {1,2,3,4,5,6,7,8,9,10,11,12}>
        { [product] a = MatMul(x, w)  [sum] s = Add(a, b)  [positive] r = Relu(s)  [scaled] y = Mul(r, z) }"""
    assert stage_lines("regions", text) == [
        "   0 MatMul  product+sum+positive+scaled: x (any) -> y (dense); relu(x + o0) * o1; with o0 = b (dense), o1 = z (rows)"
    ]


def test_a_region_has_its_guards() -> None:
    text = """g (float[N] x) => (float[M] y) <int64[1] s = {0}, int64[1] e = {4}>
        { [part] a = Slice(x, s, e)  [sum] y = Add(a, x) }"""
    part, total = stage_lines("regions", text)
    assert part == "   0 View         part: x -> a (view of x)"
    assert total.endswith("; i1 + i0; guard min(N,4)*min(N,4)+N-N*min(N,4)-min(N,4) == 0")
    assert stage_lines("regions", text, N=6)[1].endswith("; guard -6 == 0")


def test_deferred_regions_are_marked() -> None:
    text = """g (uint8[2,4] x, float s) => (float[2,3] y) <uint8[4,3] w = {1,2,3,4,5,6,7,8,9,10,11,12}, float t = {0.5}>
        { a = DequantizeLinear(x, s)  b = DequantizeLinear(w, t)  y = MatMul(a, b) }"""
    lines = stage_lines("regions", text)
    assert [line.split()[1] for line in lines if line.endswith("; deferred")] == ["Elementwise"] * 2


def test_bodies_are_indented_after_their_region() -> None:
    text = """g (float[2] x, bool b) => (float[2] y) { [choice] y = If (b)
        <then_branch = p () => (float[2] u) { [minus] u = Neg(x) }, else_branch = q () => (float[2] v) { [power] v = Exp(x) }> }"""
    follow = "channels last or dense"
    assert stage_lines("regions", text) == [
        "   0 If  choice: b (any), x (any) -> y (dense)",
        "     then_branch:",
        f"       0 Elementwise  minus: x ({follow}) -> u ({follow}); neg(i0)",
        "     else_branch:",
        f"       0 Elementwise  power: x ({follow}) -> v ({follow}); exp(i0)",
    ]


def test_bodies_with_layouts_are_indented_after_their_region() -> None:
    text = """g (float[2] x, bool b) => (float[2] y) { [choice] y = If (b)
        <then_branch = p () => (float[2] u) { [minus] u = Neg(x) }, else_branch = q () => (float[2] v) { [power] v = Exp(x) }> }"""
    assert stage_lines("layouts", text) == [
        "   0 If  choice: b[], x[2] -> y[2]",
        "     then_branch:",
        "       0 Elementwise  minus: x[2] -> u[2] in y",
        "     else_branch:",
        "       0 Elementwise  power: x[2] -> v[2] in y",
    ]


def test_copies_inside_a_body_are_lines_of_it() -> None:
    text = """g (float[2,3] s, float[N,3,2] x) => (float[2,3] y, float[N,2,3] z) { [scan] y, z = Scan(s, x)
        <num_scan_inputs = 1, body = b (float[2,3] t, float[3,2] p) => (float[2,3] u, float[2,3] v)
        { [turn] q = Transpose(p)  [sum] u = Add(t, q)  [soft] v = Softmax(q) }> }"""
    assert stage_lines("layouts", text) == [
        "   0 InlinedLoop  scan: s[2,3], x[N,3,2] -> y[2,3], z[N,2,3]",
        "     body:",
        "         copy         q[2,3] strides [1,2] in p -> q[2,3]; for sum",
        "       1 Elementwise  sum: t[2,3] in y, q[2,3] -> u[2,3]",
        "       2 Softmax      soft: q[2,3] -> v[2,3]",
    ]


def test_a_copy_between_layouts_is_a_line() -> None:
    text = "g (float[2,3] x) => (float[3,2] y) { [turn] t = Transpose(x)  [soft] y = Softmax(t) }"
    assert stage_lines("layouts", text) == [
        "     copy     t[3,2] strides [1,3] in x -> t[3,2]; for soft",
        "   1 Softmax  soft: t[3,2] -> y[3,2]",
    ]


def test_channels_last_tensors_are_marked() -> None:
    text = "g (float[1,3,4,5] x) => (float[1,3,2,3] y) { [pool] y = LpPool<kernel_shape = [3, 3], p = 3>(x) }"
    into, pool, back = stage_lines("layouts", text)
    assert into == "     copy  x[1,3,4,5] -> x[1,3,4,5] strides [60,1,15,3]; for pool"
    assert pool == "   0 Pool  pool: x[1,4,5,3] channels last -> y[1,2,3,3] channels last"
    assert back == "     copy  y[1,3,2,3] strides [18,1,9,3] -> y[1,3,2,3]; for y"


def test_steps_have_named_arguments_where_kernels_declare_them() -> None:
    text = """g (float[2] x, bool b) => (float[2] y) { y = If (b)
        <then_branch = p () => (float[2] u) { u = Neg(x) }, else_branch = q () => (float[2] v) { v = Exp(x) }> }"""
    lines = stage_lines("steps", text)
    assert lines[0].endswith("; if branch: continue at 3")
    assert lines[1] == "     (flag=branch[1], status=status[16], condition=b[], then_nodes=1, else_nodes=1)"


# --- expressions -----------------------------------------------------------------------------

X, Y = Local("x"), Local("y")
EXPRESSIONS: dict[str, Scalar] = {
    "x - (y - 1)": Apply("sub", (X, Apply("sub", (Y, Number(1))))),
    "x - y - 1.5": Apply("sub", (Apply("sub", (X, Y)), Number(1.5))),
    "(x + y) * 2": Apply("mul", (Apply("add", (X, Y)), Number(2.0))),
    "x * y + 2": Apply("add", (Apply("mul", (X, Y)), Number(2))),
    "relu(x + y)": Apply("max", (Apply("add", (X, Y)), Number(0))),
    "max(x, y)": Apply("max", (X, Y)),
    "where(x < 0, exp(x), float(y))": Select("lt", X, Number(0), Apply("exp", (X,)), Cast(DataType.FLOAT, Y)),
}


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expressions_are_infix_with_few_parentheses(text: str) -> None:
    assert format_expression(EXPRESSIONS[text]) == [text]


def test_shared_subexpressions_have_names() -> None:
    shared = Apply("sigmoid", (X,))
    assert format_expression(Apply("mul", (shared, Apply("add", (shared, Y))))) == [
        "t0 = sigmoid(x)",
        "t0 * (t0 + y)",
    ]
