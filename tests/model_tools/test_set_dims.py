"""`set_dims`: results are compared with those of the original, sample by sample."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

import sardonyx as sx
from model_tools.agreement import feeds_of, load_shared_model, reference_feeds
from models import parse_model
from sardonyx._src.ir import Array, Model, TensorType
from sardonyx._src.ir.verify import verify
from sardonyx._src.tools.set_dims import set_dims


def types(result: Model) -> list[str]:
    return [str(v.type) for v in (*result.graph.inputs, *result.graph.outputs)]


def notes(result: Model) -> list[str]:
    return [str(note) for note in result.notes]


def set_and_restore(before: Model, axes: Mapping[str, int], new: int | str) -> Model:
    """The model with a new size on one axis of some inputs."""
    if isinstance(new, str):
        return set_dims(before, free=dict.fromkeys(axes.items(), new))
    shapes: dict[str, list[int | str]] = {}
    for value in before.graph.inputs:
        if value.name in axes:
            assert isinstance(value.type, TensorType)
            assert value.type.shape is not None
            shapes[value.name] = [d if isinstance(d, int) else str(d) for d in value.type.shape]
            shapes[value.name][axes[value.name]] = new
    return set_dims(before, inputs=shapes)


def samples_agree(
    before: Model,
    axes: Mapping[str, int],
    out: int = 0,
    times: int = 3,
    feeds: Mapping[str, object] | None = None,
) -> list[Model]:
    """Asserts that several batches at once give the results of single batches, with a number and with a variable.

    `axes`: the batch axis of each input; `out`: that of the outputs; `times`: how many batches of the old size.
    """
    text = sx.to_text(before, max_elements=4)
    rng = np.random.default_rng(1)
    original = {name: np.asarray(value) for name, value in (feeds or feeds_of(before)).items()}
    batches = [{n: vary(v, rng) if n in axes else v for n, v in original.items()} for _ in range(times)]
    whole = {
        n: np.concatenate([b[n] for b in batches], axes[n]) if n in axes else v for n, v in original.items()
    }
    single = [sx.Session(before).run(batch) for batch in batches]
    sizes = {whole[n].shape[axis] for n, axis in axes.items()}
    changed = [set_and_restore(before, axes, size) for size in (*sizes, "B")]
    for result in changed:
        verify(result)
        for name, actual in sx.Session(result).run(whole).items():
            expected = np.concatenate([np.asarray(s[name]) for s in single], out)
            scale = float(np.abs(expected).max(initial=1.0))
            np.testing.assert_allclose(np.asarray(actual), expected, rtol=1e-4, atol=1e-5 * scale)
    assert sx.to_text(before, max_elements=4) == text
    return changed


def vary(value: Array, rng: np.random.Generator) -> Array:
    return (
        (value + rng.standard_normal(value.shape)).astype(value.dtype) if value.dtype.kind == "f" else value
    )


def test_a_variable_becomes_a_number_everywhere() -> None:
    before = parse_model('g (float[N,"2*N"] x) => (float[N,M] y) { a = Neg(x)  y = Abs(a) }')
    assert types(set_dims(before, dims={"N": 4})) == ["float[4,8]", "float[4,8]"]


def test_a_shape_names_numbers_and_variables() -> None:
    before = parse_model("g (float[N,3] x, float[N,3] z) => (float[N,3] y) { y = Add(x, z) }")
    result = set_dims(before, inputs={"x": ["batch", 3]})
    assert types(result) == ["float[batch,3]"] * 3
    assert types(set_dims(before, inputs={"x": [5, 3]})) == ["float[5,3]"] * 3


def test_a_size_that_was_unknown_becomes_known() -> None:
    before = parse_model("g (float[?,3] x) => (float[?,3] y) { y = Neg(x) }")
    assert types(set_dims(before, free={("x", 0): "N"})) == ["float[N,3]", "float[N,3]"]
    before = parse_model("g (float[...] x) => (float[...] y) { y = Neg(x) }".replace("[...]", "[]"))
    before.graph.inputs[0].type = TensorType(sx.DataType.FLOAT)
    before.graph.outputs[0].type = TensorType(sx.DataType.FLOAT)
    assert types(set_dims(before, inputs={"x": [2, "N"]})) == ["float[2,N]", "float[2,N]"]


def test_a_number_that_contradicts_a_constant_is_reported_with_its_location() -> None:
    before = parse_model("g (float[N,2] x) => (float[2,2] y) <int64[2] s = {2, 2}> { y = Reshape(x, s) }")
    with pytest.raises(sx.InferenceError, match=r"node\[0\] \(Reshape\)"):
        set_dims(before, dims={"N": 8})
    assert types(set_dims(before, dims={"N": 2})) == ["float[2,2]", "float[2,2]"]


def test_a_declaration_that_was_false_before_is_replaced_and_named() -> None:
    before = parse_model(
        "g (float[N,4] x) => (float[N] y, float[N,4] z) <int64[3] s = {0, 2, 2}> { y = Reshape(x, s)  z = Neg(x) }"
    )
    after = set_dims(before, dims={"N": 3})
    assert types(after) == ["float[3,4]", "float[3,2,2]", "float[3,4]"]
    assert "declared rank 1 contradicts inferred rank 3; the inferred type replaces it" in notes(after)[-1]


def test_reshape_keeps_samples_apart() -> None:
    before = parse_model(
        "g (float[1,2,3] x) => (float[1,4] y) <int64[2] s = {1, -1}, float[6,4] w = {"
        + ", ".join(map(str, range(24)))
        + "}> { a = Reshape(x, s)  y = MatMul(a, w) }"
    )
    fixed, free = samples_agree(before, {"x": 0})
    assert notes(fixed) == ["node[0] (Reshape): [1, -1] -> [3, -1]"]
    assert types(free) == ["float[B,2,3]", "float[B,4]"]


def test_heads_are_split_and_joined_again() -> None:
    before = parse_model("""g (float[1,4,6] x) => (float[1,4,6] y) <int64[4] s = {1, 4, 2, 3}, int64[3] t = {1, 4, 6}> {
      a = Reshape(x, s)  b = Transpose<perm = [0, 2, 1, 3]>(a)  c = Softmax(b)
      d = Transpose<perm = [0, 2, 1, 3]>(c)  y = Reshape(d, t)
    }""")
    samples_agree(before, {"x": 0})


def test_a_batch_of_two_is_distinguished_from_two_channels() -> None:
    before = parse_model("""g (float[2,2,3] x) => (float[2,2,3] y) <int64[2] s = {4, 3}, int64[3] t = {2, 2, 3}> {
      a = Reshape(x, s)  b = Neg(a)  y = Reshape(b, t)
    }""")
    fixed, _ = samples_agree(before, {"x": 0})
    assert notes(fixed) == [
        "node[0] (Reshape): [4, 3] -> [12, 3]",
        "node[2] (Reshape): [2, 2, 3] -> [6, 2, 3] (entry 1 would fit too; 0 is the axis it had)",
    ]


def test_a_shape_that_is_partly_computed_is_repaired_in_its_constants() -> None:
    before = parse_model("""g (float[1,S,6] x) => (float[1,S,2,3] y) <
      int64[1] one = {1}, int64[2] rest = {2, 3}, int64[1] axis = {1}
    > { s = Shape(x)  length = Gather(s, axis)  t = Concat<axis = 0>(one, length, rest)  y = Reshape(x, t) }""")
    fixed, free = samples_agree(before, {"x": 0})
    assert notes(fixed) == ["node[2] (Concat): [1] -> [3]"]
    assert types(free) == ["float[B,S,6]", "float[B,S,2,3]"]


def test_a_batch_that_is_not_in_front_is_found() -> None:
    before = parse_model(
        """g (float[5,1,4] x) => (float[5,1,2,2] y) <int64[4] s = {5, 1, 2, 2}> { y = Reshape(x, s) }"""
    )
    samples_agree(before, {"x": 1}, out=1)


def test_a_variable_that_no_constant_can_hold_is_computed() -> None:
    before = parse_model("""g (float[1,2,3] x) => (float[1,2,1,3] y) <int64[4] s = {1, 2, 1, -1}> {
      a = Transpose<perm = [1, 0, 2]>(x)  y = Reshape(a, s)
    }""")
    _, free = samples_agree(before, {"x": 0}, out=2)
    assert [n.op_type for n in free.graph.nodes] == ["Shape", "Gather", "Concat", "Transpose", "Reshape"]


def test_reshape_of_version_1_has_its_shape_in_an_attribute() -> None:
    before = parse_model("g (float[1,2,3] x) => (float[1,6] y) { y = Reshape<shape = [1, 6]>(x) }", opset=1)
    samples_agree(before, {"x": 0})


def test_up_to_ir_version_3_a_constant_is_an_input_too() -> None:
    before = parse_model(
        "g (float[1,2,3] x, int64[2] s) => (float[1,6] y, float[1,6] z) <int64[2] s = {1, 6}> "
        "{ y = Reshape(x, s)  k = Constant<value = float[6] {1, 2, 3, 4, 5, 6}>()  z = Reshape(k, s) }",
        opset=8,
        ir=3,
    )
    result = set_dims(before, inputs={"x": [2, 2, 3]})
    assert [v.name for v in result.graph.inputs] == ["x", *result.graph.initializers]
    assert types(result)[-2:] == ["float[2,6]", "float[1,6]"]


def test_a_constant_without_other_uses_keeps_name_and_position() -> None:
    text = "g (float[1,6] x) => (float[1,2,3] y) <int64[3] s = {1, 2, 3}, float[1] k = {1}> { a = Mul(x, k)  y = Reshape(a, s) }"
    result = set_dims(parse_model(text), inputs={"x": [4, 6]})
    assert list(result.graph.initializers) == ["s", "k"]
    assert result.graph.initializers["s"].initializer.numpy().tolist() == [4, 2, 3]  # type: ignore[union-attr]


def test_constant_first_states_are_repeated() -> None:
    before = parse_model("""g (float[2,1,1] x) => (float[2,1,1,2] y) <
      float[1,8,1] w = {1, 2, 3, 4, 5, 6, 7, 8}, float[1,8,2] r = {1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1},
      float[1,1,2] h = {0.5, -0.5}
    > { y = LSTM<hidden_size = 2>(x, w, r, "", "", h) }""")
    samples_agree(before, {"x": 1}, out=2)


def test_constant_states_of_a_scan_are_repeated() -> None:
    before = parse_model("""g (float[3,1,2] x) => (float[1,2] y, float[1,2] v) <float[1,2] h = {1, 2}, float[1,2] k = {0, 1}> {
      y, v = Scan<num_scan_inputs = 1, body = b (float[1,2] s, float[1,2] t, float[1,2] u) => (float[1,2] n, float[1,2] o) {
        n = Add(s, u)  o = Mul(n, t)
      }>(h, k, x)
    }""")
    fixed, _ = samples_agree(before, {"x": 1})
    message = "input {}, a constant, is expanded along axis 0"
    assert notes(fixed) == [f"node[2] (Scan): {message.format(0)}; {message.format(1)}"]


def test_a_constant_state_of_a_loop_is_repeated() -> None:
    before = parse_model("""g (float[1,2] x) => (float[1,2] y) <int64 m = {3}, bool go = {1}, float[1,2] h = {1, 2}> {
      y = Loop(m, go, h) <body = b (int64 i, bool c, float[1,2] s) => (bool d, float[1,2] n) { d = Identity(c)  n = Add(s, x) }>
    }""")
    samples_agree(before, {"x": 0})


def test_a_constant_with_parts_of_its_own_is_reported() -> None:
    before = parse_model(
        """g (float[2,3] x) => (float[2,4] y) <float[2,1] token = {7, 8}> { y = Concat<axis = 1>(token, x) }"""
    )
    with pytest.raises(sx.InferenceError, match="input 0 is a constant that varies along axis 0"):
        set_dims(before, free={("x", 0): "N"})


def test_states_of_constant_shape_follow_because_nothing_else_fits() -> None:
    before = parse_model("""g (float[2,1,1] x) => (float[2,1,1,2] y) <
      float[1,6,1] w = {1, 2, 3, 4, 5, 6}, float[1,6,2] r = {1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1}, int64[3] s = {1, 1, 2}
    > { h = ConstantOfShape(s)  y = GRU<hidden_size = 2>(x, w, r, "", "", h) }""")
    fixed, _ = samples_agree(before, {"x": 1}, out=2)
    assert notes(fixed) == [
        "node[0] (ConstantOfShape): [1, 1, 2] -> [1, 3, 2] (otherwise the model is inconsistent)"
    ]


def test_a_constant_beside_the_data_is_repeated() -> None:
    before = parse_model("""g (float[1,3,2] x) => (float[1,4,2] y) <float[1,1,2] token = {7, 8}> {
      y = Concat<axis = 1>(token, x)
    }""")
    samples_agree(before, {"x": 0})


def test_a_constant_that_is_expanded_follows_the_data_beside_it() -> None:
    before = parse_model("""g (float[1,3,2] x) => (float[1,4,2] y) <float[1,1,2] token = {7, 8}, int64[3] s = {1, 1, 2}> {
      t = Expand(token, s)  y = Concat<axis = 1>(t, x)
    }""")
    samples_agree(before, {"x": 0})


def test_repeats_of_tile_follow() -> None:
    before = parse_model("""g (float[2,3] x) => (float[2,3] y) <float[1,3] e = {1, 2, 3}, int64[2] r = {2, 1}> {
      t = Tile(e, r)  y = Add(x, t)
    }""")
    samples_agree(before, {"x": 0})


def test_a_batch_that_shrinks_to_one_broadcasts_nothing() -> None:
    before = parse_model("""g (float[2,3] x) => (float[2,3] y) <float[1,3] e = {1, 2, 3}, int64[2] r = {2, 1}> {
      t = Tile(e, r)  y = Add(x, t)
    }""")
    assert types(set_dims(before, inputs={"x": [1, 3]})) == ["float[1,3]", "float[1,3]"]


def test_a_size_that_a_layer_splits_needs_no_constant() -> None:
    before = parse_model("""g (float[1,1,8,8] x) => (float[1,4] y) <float[1,1,2,2] w = {1, 1, 1, 1}, int64[2] s = {1, 4}> {
      a = Conv<strides = [4, 4]>(x, w)  y = Reshape(a, s)
    }""")
    assert types(set_dims(before, inputs={"x": [1, 1, 9, 9]})) == ["float[1,1,9,9]", "float[1,4]"]


def test_expand_of_the_data_itself_needs_nothing() -> None:
    before = parse_model("g (float[2,1] x) => (float[2,3] y) <int64[2] s = {2, 3}> { y = Expand(x, s) }")
    fixed, _ = samples_agree(before, {"x": 0})
    assert notes(fixed) == ["node[0] (Expand): [2, 3] -> [1, 3]"]


def test_resize_leaves_the_batch_alone() -> None:
    before = parse_model("""g (float[1,1,2,2] x) => (float[1,1,4,4] y) <int64[4] s = {1, 1, 4, 4}> {
      y = Resize<mode = "nearest">(x, "", "", s)
    }""")
    samples_agree(before, {"x": 0})


def test_a_constant_in_a_branch_is_repaired_there() -> None:
    before = parse_model("""g (bool c, float[1,2,3] x) => (float[1,6] y) <int64[2] s = {1, 6}> {
      y = If(c) <
        then_branch = t () => (float[1,6] p) { p = Reshape(x, s) },
        else_branch = e () => (float[1,6] q) { n = Neg(x)  k = Constant<value = int64[2] {1, 6}>()  q = Reshape(n, k) }
      >
    }""")
    for c in (True, False):
        feeds = {"c": np.array(c), "x": np.ones((1, 2, 3), np.float32)}
        samples_agree(before, {"x": 0}, feeds=feeds)


def test_a_constant_that_others_read_too_stays_for_them() -> None:
    before = parse_model("""g (float[1,6] x, float[6] u) => (float[1,6] y, float[1,6] v) <int64[2] s = {1, 6}> {
      y = Reshape(x, s)  v = Reshape(u, s)
    }""")
    result = set_dims(before, inputs={"x": [2, 6]})
    assert types(result) == ["float[2,6]", "float[6]", "float[2,6]", "float[1,6]"]


def test_what_cannot_be_decided_is_reported() -> None:
    before = parse_model("g (float[4,1,6] x) => (float[4,6] y) <int64[2] s = {4, 6}> { y = Reshape(x, s) }")
    with pytest.raises(sx.InferenceError, match=r"it is undecided which entry of shape \[4, 6\] holds it"):
        set_dims(before, free={("x", 1): "N"})


def test_an_input_with_a_default_keeps_its_sizes() -> None:
    before = parse_model("g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }")
    with pytest.raises(sx.InputError, match="input 'w' has a default"):
        set_dims(before, free={("w", 0): "N"})


def test_what_was_chosen_among_axes_of_length_1_is_reported() -> None:
    before = parse_model(
        "g (float[1,1,6] x) => (float[1,1,1,6] y) <int64[4] s = {1, 1, 1, 6}> { y = Reshape(x, s) }"
    )
    for axis, sizes, others in ((0, "[N, 1, 1, 6]", "1, 2"), (1, "[1, N, 1, 6]", "0, 2")):
        result = set_dims(before, free={("x", axis): "N"})
        remark = f"entries {others} would fit too; {axis} is the axis it had"
        assert notes(result) == [f"node[0] (Reshape): [1, 1, 1, 6] -> {sizes} ({remark})"]


def test_a_slice_of_as_many_as_there_were_is_reported() -> None:
    before = parse_model("""g (float[1,2] x) => (float[1,2] y) <int64[1] b = {0}, int64[1] e = {1}, int64[1] a = {0}> {
      y = Slice(x, b, e, a)
    }""")
    assert notes(set_dims(before, inputs={"x": [3, 2]})) == [
        "output 'y': depends on an input whose size changed from 1, but none of its dims changes",
        "node[0] (Slice): whether a constant holds the old size 1 is unknown: the end 1 on axis 0 may mean the whole axis",
    ]


def test_sizes_of_unknown_operators_are_forgotten() -> None:
    before = parse_model(
        "g (float[1,3] x) => (float[1,3] y) <float[1,3] a> { a = my.Op(x)  y = Neg(a) }", more='"my": 1'
    )
    result = set_dims(before, inputs={"x": [2, 3]})
    assert types(result) == ["float[2,3]", "float[?,?]"]


def test_declarations_inside_are_inferred_anew() -> None:
    before = parse_model(
        "g (float[1,3] x) => (float[1,3] y) <float[1,3] a> { a = Neg(x)  b = Abs(a)  y = Neg(b) }"
    )
    result = set_dims(before, inputs={"x": [2, 3]})
    a, b, _ = (node.outputs[0].type for node in result.graph.nodes)
    assert (str(a), b) == ("float[2,3]", None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dims": {"M": 2}}, "the model has no dim 'M'"),
        ({"inputs": {"z": [2]}}, "the model has no input 'z'"),
        ({"inputs": {"x": [2]}}, "must have rank 3"),
        ({"inputs": {"x": [2, 3, 6]}}, "'N' would be both 2 and 3"),
        ({"inputs": {"x": [2, 2, 6]}}, "is 2*N; set its variables instead (N)"),
        ({"inputs": {"x": ["2*K", 2, 4]}}, "must be a number or the name of a variable"),
        ({"dims": {"N": -1}}, "must be >= 0; got -1"),
        ({"free": {("x", 3): "K"}}, "got 3"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, dict[object, object]], message: str) -> None:
    before = parse_model('g (float[N,N,"2*N"] x) => (float[N,N,"2*N"] y) { y = Neg(x) }')
    with pytest.raises(sx.InputError) as caught:
        set_dims(before, **arguments)  # type: ignore[arg-type]  # the parameters are its keywords
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("name", "axes", "out"),
    [
        ("mnist_8", {"Input3": 0}, 0),
        ("dtln_2", {"input_4": 0, "input_5": 0}, 0),
        ("ort_nuphar_loop", {"input": 1, "hi0": 1, "ci0": 1}, 1),
    ],
)
def test_a_real_model_runs_on_a_batch(name: str, axes: dict[str, int], out: int) -> None:
    whole = load_shared_model(name)
    samples_agree(whole, axes, out, times=2, feeds=reference_feeds(name))
