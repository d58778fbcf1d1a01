"""What holds for all operators of a vendor domain: imports, types, checks, conversion, unknown ones."""

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model, parse_record
from sardonyx._src.cli.main import main
from sardonyx._src.infer.walk import infer
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import TensorType
from sardonyx._src.ir.walk import nodes
from sardonyx._src.tools.inline import inline

MORE = '"com.microsoft": 1'
GELU = "g (float[N,4] x) => (float[N,4] y) { a = com.microsoft.QuickGelu(x) y = Neg(a) }"
PRODUCT = (
    "g (float[N,4] x, float[5,4] w) => (float[N,5] y) { y = com.microsoft.FusedMatMul <transB = 1> (x, w) }"
)
SEARCH = "g (float[2] x) => (float[2] y) { y = com.microsoft.EPContext <main_context = 1> (x) }"


def op_types(model: sx.Model) -> list[str]:
    return [f"{node.domain}.{node.op_type}" for node in nodes(model.graph)]


def test_a_domain_needs_no_import() -> None:
    model = parse_model(GELU)
    assert "com.microsoft" not in model.opset_imports
    x = np.array([[0, 1, 2, -1]], np.float32)
    expected = -x / (1 + np.exp(-1.702 * x))
    for engine in ("reference", "native"):
        result = sx.Session(model, engine=engine).run({"x": x})["y"]
        assert isinstance(result, np.ndarray)
        np.testing.assert_allclose(result, expected, 1e-5, 1e-6)
    assert any("'com.microsoft' is used but not imported" in str(note) for note in model.notes)
    assert op_types(sx.convert(model, sets={"com.microsoft": 0})).count(".Mul") == 2


def test_types_follow_from_the_body() -> None:
    model = infer(parse_model(PRODUCT.replace("(float[N,5] y)", "(y)"), more=MORE))
    type_ = model.graph.outputs[0].type
    assert isinstance(type_, TensorType) and type_.shape is not None
    assert [str(dim) for dim in type_.shape] == ["N", "5"]


def test_sizes_that_contradict_the_body_are_an_error_of_the_node() -> None:
    model = parse_model(PRODUCT.replace("[5,4]", "[5,3]"), more=MORE)
    with pytest.raises(sx.InferenceError, match="FusedMatMul: MatMul"):
        infer(model)


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        ("QuickGelu <beta = 1.0> (x)", "SX2"),
        ("QuickGelu(x, x)", "SX2"),
        ("BiasGelu(x, i)", "SX7"),
    ],
)
def test_the_checker_knows_the_signatures(call: str, rule: str) -> None:
    text = f"g (float[4] x, int64[4] i) => (float[4] y) {{ y = com.microsoft.{call} }}"
    errors = [d for d in sx.check(parse_record(text, more=MORE)).diagnostics if d.severity == "error"]
    assert errors and all(d.rule.startswith(rule) for d in errors), errors


def test_the_checker_accepts_vendor_operators() -> None:
    rules = {d.rule for d in sx.check(parse_record(GELU, more=MORE)).diagnostics}
    assert "SX202" not in rules


def test_inline_replaces_the_operators_that_it_is_told() -> None:
    text = "g (float[4] x) => (float[4] y) { a = com.microsoft.QuickGelu(x) y = com.microsoft.Gelu(a) }"
    model = parse_model(text, more=MORE)
    assert "com.microsoft.Gelu" in op_types(inline(model, ["com.microsoft.QuickGelu"]))
    assert "com.microsoft.QuickGelu" not in op_types(inline(model, ["com.microsoft.QuickGelu"]))
    flat = inline(model)
    assert all(name.startswith(".") for name in op_types(flat))
    assert flat.opset_imports == {"": 21}
    assert op_types(inline(model, lacking=lambda domain, name: False)) == op_types(model)


def test_inline_notes_an_operator_without_body() -> None:
    flat = inline(parse_model(SEARCH, more=MORE))
    assert op_types(flat) == ["com.microsoft.EPContext"]
    assert any("no function of standard operators computes it" in str(note) for note in flat.notes)


def test_convert_refuses_an_operator_without_body() -> None:
    model = parse_model(SEARCH, more=MORE)
    with pytest.raises(sx.ConversionError, match=r"EPContext-1 .* no function of standard operators"):
        sx.convert(model, sets={"com.microsoft": 0})
    conversion = sx.tools.convert_partially(model, sets={"com.microsoft": 0})
    assert op_types(conversion.model) == ["com.microsoft.EPContext"]
    assert len(conversion.errors) == 1


def test_a_body_is_converted_to_the_version_of_the_model() -> None:
    text = "g (float[4] x) => (float[4] y) { y = com.microsoft.FastGelu(x) }"
    for opset in (13, 20):
        standard = sx.convert(parse_model(text, opset=21, more=MORE), opset, sets={"com.microsoft": 0})
        assert ("Gelu" in {node.op_type for node in nodes(standard.graph)}) is (opset == 20)
        x = np.linspace(-2, 2, 4, dtype=np.float32)
        expected = 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
        result = Interpreter(standard).run({"x": x})["y"]
        assert isinstance(result, np.ndarray)
        np.testing.assert_allclose(result, expected, 1e-4, 1e-5)


def test_operators_newer_than_the_import_are_replaced_too() -> None:
    text = """g (float[2,4] x, float[4] s) => (float[2,4] y) {
      a = LayerNormalization(x, s)  y = SimplifiedLayerNormalization(a, s) }"""
    record = parse_record(text, opset=13)
    standard = sx.convert(sx.load(record), sets={"com.microsoft": 0})
    assert not {"LayerNormalization", "SimplifiedLayerNormalization"} & {
        n.op_type for n in nodes(standard.graph)
    }
    assert standard.opset_imports == {"": 13}


@pytest.mark.parametrize("name", ["com.example.Twist", "com.microsoft.Twist"])
def test_an_unknown_operator_says_what_can_be_done(name: str) -> None:
    domain = name.rpartition(".")[0]
    model = parse_model(f"g (float[2] x) => (float[2] y) {{ y = {name}(x) }}", more=f'"{domain}": 1')
    with pytest.raises(sx.UnsupportedOperator, match=f"'{domain}': .*operator_sets=.*kernel"):
        sx.Session(model, engine="reference").run({"x": np.array([1, 2], np.float32)})


def test_a_newer_version_of_a_vendor_domain_is_unknown() -> None:
    model = parse_model(GELU, more='"com.microsoft": 2')
    with pytest.raises(sx.UnsupportedOperator, match="the newest operator set known is 1"):
        sx.Session(model, engine="reference").run({"x": np.array([[1, 2, 3, 4]], np.float32)})


def test_operators_of_a_domain_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", "--domain", "com.microsoft"]) == 0
    assert "com.microsoft.QuickGelu  1\n" in capsys.readouterr().out
    assert main(["ops", "com.microsoft.QuickGelu"]) == 0
    assert "attribute alpha: FLOAT = 1.702" in capsys.readouterr().out
    assert main(["ops", "--domain", "com.example"]) == 2
