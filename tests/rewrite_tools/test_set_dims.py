"""Sizes fixed, freed and changed; results held against those of the original, sample by sample."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

import sardonyx as sx
from models import model
from rewrite_tools.agreement import feeds_of, reference_feeds, shared
from sardonyx._src.ir.graph import Model
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ir.verify import verify
from sardonyx._src.rewrite.tools.set_dims import set_dims


def types(found: Model) -> list[str]:
    return [str(v.type) for v in (*found.graph.inputs, *found.graph.outputs)]


def notes(found: Model) -> list[str]:
    return [str(note) for note in found.notes]


def resized(before: Model, axes: Mapping[str, int], new: int | str) -> Model:
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
    """Asserts that many batches at once give what they give one by one, with a number and with a variable.

    `axes`: the batch axis of each input; `out`: that of the outputs; `times`: how many batches of the old size.
    """
    text = sx.to_text(before, max_elements=4)
    rng = np.random.default_rng(1)
    one = {name: np.asarray(value) for name, value in (feeds or feeds_of(before)).items()}
    batches = [{n: varied(v, rng) if n in axes else v for n, v in one.items()} for _ in range(times)]
    whole = {n: np.concatenate([b[n] for b in batches], axes[n]) if n in axes else v for n, v in one.items()}
    single = [sx.Session(before).run(batch) for batch in batches]
    sizes = {whole[n].shape[axis] for n, axis in axes.items()}
    changed = [resized(before, axes, size) for size in (*sizes, "B")]
    for found in changed:
        verify(found)
        for name, actual in sx.Session(found).run(whole).items():
            expected = np.concatenate([np.asarray(s[name]) for s in single], out)
            scale = float(np.abs(expected).max(initial=1.0))
            np.testing.assert_allclose(np.asarray(actual), expected, rtol=1e-4, atol=1e-5 * scale)
    assert sx.to_text(before, max_elements=4) == text
    return changed


def varied(value: Array, rng: np.random.Generator) -> Array:
    return (
        (value + rng.standard_normal(value.shape)).astype(value.dtype) if value.dtype.kind == "f" else value
    )


def test_a_variable_becomes_a_number_everywhere() -> None:
    before = model('g (float[N,"2*N"] x) => (float[N,M] y) { a = Neg(x)  y = Abs(a) }')
    assert types(set_dims(before, dims={"N": 4})) == ["float[4,8]", "float[4,8]"]


def test_a_shape_names_numbers_and_variables() -> None:
    before = model("g (float[N,3] x, float[N,3] z) => (float[N,3] y) { y = Add(x, z) }")
    found = set_dims(before, inputs={"x": ["batch", 3]})
    assert types(found) == ["float[batch,3]"] * 3
    assert types(set_dims(before, inputs={"x": [5, 3]})) == ["float[5,3]"] * 3


def test_a_size_that_nobody_knew_becomes_known() -> None:
    before = model("g (float[?,3] x) => (float[?,3] y) { y = Neg(x) }")
    assert types(set_dims(before, free={("x", 0): "N"})) == ["float[N,3]", "float[N,3]"]
    before = model("g (float[...] x) => (float[...] y) { y = Neg(x) }".replace("[...]", "[]"))
    before.graph.inputs[0].type = TensorType(sx.DataType.FLOAT)
    before.graph.outputs[0].type = TensorType(sx.DataType.FLOAT)
    assert types(set_dims(before, inputs={"x": [2, "N"]})) == ["float[2,N]", "float[2,N]"]


def test_a_number_that_contradicts_a_constant_is_told_with_its_place() -> None:
    before = model("g (float[N,2] x) => (float[2,2] y) <int64[2] s = {2, 2}> { y = Reshape(x, s) }")
    with pytest.raises(sx.InferenceError, match=r"node\[0\] \(Reshape\)"):
        set_dims(before, dims={"N": 8})
    assert types(set_dims(before, dims={"N": 2})) == ["float[2,2]", "float[2,2]"]


def test_reshape_keeps_samples_apart() -> None:
    before = model(
        "g (float[1,2,3] x) => (float[1,4] y) <int64[2] s = {1, -1}, float[6,4] w = {"
        + ", ".join(map(str, range(24)))
        + "}> { a = Reshape(x, s)  y = MatMul(a, w) }"
    )
    fixed, free = samples_agree(before, {"x": 0})
    assert notes(fixed) == ["node[0] (Reshape): [1, -1] -> [3, -1]"]
    assert types(free) == ["float[B,2,3]", "float[B,4]"]


def test_heads_are_split_and_joined_again() -> None:
    before = model("""g (float[1,4,6] x) => (float[1,4,6] y) <int64[4] s = {1, 4, 2, 3}, int64[3] t = {1, 4, 6}> {
      a = Reshape(x, s)  b = Transpose<perm = [0, 2, 1, 3]>(a)  c = Softmax(b)
      d = Transpose<perm = [0, 2, 1, 3]>(c)  y = Reshape(d, t)
    }""")
    samples_agree(before, {"x": 0})


def test_a_batch_of_two_is_told_from_two_channels() -> None:
    before = model("""g (float[2,2,3] x) => (float[2,2,3] y) <int64[2] s = {4, 3}, int64[3] t = {2, 2, 3}> {
      a = Reshape(x, s)  b = Neg(a)  y = Reshape(b, t)
    }""")
    fixed, _ = samples_agree(before, {"x": 0})
    assert notes(fixed) == [
        "node[0] (Reshape): [4, 3] -> [12, 3]",
        "node[2] (Reshape): [2, 2, 3] -> [6, 2, 3] (entry 1 would do as well, but 0 is where it was)",
    ]


def test_a_shape_that_is_partly_computed_is_repaired_in_its_constants() -> None:
    before = model("""g (float[1,S,6] x) => (float[1,S,2,3] y) <
      int64[1] one = {1}, int64[2] rest = {2, 3}, int64[1] axis = {1}
    > { s = Shape(x)  length = Gather(s, axis)  t = Concat<axis = 0>(one, length, rest)  y = Reshape(x, t) }""")
    fixed, free = samples_agree(before, {"x": 0})
    assert notes(fixed) == ["node[2] (Concat): [1] -> [3]"]
    assert types(free) == ["float[B,S,6]", "float[B,S,2,3]"]


def test_a_batch_that_is_not_in_front_is_found() -> None:
    before = model(
        """g (float[5,1,4] x) => (float[5,1,2,2] y) <int64[4] s = {5, 1, 2, 2}> { y = Reshape(x, s) }"""
    )
    samples_agree(before, {"x": 1}, out=1)


def test_a_variable_that_no_constant_can_hold_is_computed() -> None:
    before = model("""g (float[1,2,3] x) => (float[1,2,1,3] y) <int64[4] s = {1, 2, 1, -1}> {
      a = Transpose<perm = [1, 0, 2]>(x)  y = Reshape(a, s)
    }""")
    _, free = samples_agree(before, {"x": 0}, out=2)
    assert [n.op_type for n in free.graph.nodes] == ["Shape", "Gather", "Concat", "Transpose", "Reshape"]


def test_reshape_of_version_1_has_its_shape_in_an_attribute() -> None:
    before = model("g (float[1,2,3] x) => (float[1,6] y) { y = Reshape<shape = [1, 6]>(x) }", opset=1)
    samples_agree(before, {"x": 0})


def test_up_to_ir_version_3_a_constant_is_an_input_too() -> None:
    before = model(
        "g (float[1,2,3] x, int64[2] s) => (float[1,6] y, float[1,6] z) <int64[2] s = {1, 6}> "
        "{ y = Reshape(x, s)  k = Constant<value = float[6] {1, 2, 3, 4, 5, 6}>()  z = Reshape(k, s) }",
        opset=8,
        ir=3,
    )
    found = set_dims(before, inputs={"x": [2, 2, 3]})
    assert [v.name for v in found.graph.inputs] == ["x", *found.graph.initializers]
    assert types(found)[-2:] == ["float[2,6]", "float[1,6]"]


def test_a_constant_that_nobody_else_reads_keeps_name_and_place() -> None:
    text = "g (float[1,6] x) => (float[1,2,3] y) <int64[3] s = {1, 2, 3}, float[1] k = {1}> { a = Mul(x, k)  y = Reshape(a, s) }"
    found = set_dims(model(text), inputs={"x": [4, 6]})
    assert list(found.graph.initializers) == ["s", "k"]
    assert found.graph.initializers["s"].initializer.numpy().tolist() == [4, 2, 3]  # type: ignore[union-attr]


def test_constant_first_states_are_repeated() -> None:
    before = model("""g (float[2,1,1] x) => (float[2,1,1,2] y) <
      float[1,8,1] w = {1, 2, 3, 4, 5, 6, 7, 8}, float[1,8,2] r = {1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1},
      float[1,1,2] h = {0.5, -0.5}
    > { y = LSTM<hidden_size = 2>(x, w, r, "", "", h) }""")
    samples_agree(before, {"x": 1}, out=2)


def test_constant_states_of_a_scan_are_repeated() -> None:
    before = model("""g (float[3,1,2] x) => (float[1,2] y, float[1,2] v) <float[1,2] h = {1, 2}, float[1,2] k = {0, 1}> {
      y, v = Scan<num_scan_inputs = 1, body = b (float[1,2] s, float[1,2] t, float[1,2] u) => (float[1,2] n, float[1,2] o) {
        n = Add(s, u)  o = Mul(n, t)
      }>(h, k, x)
    }""")
    fixed, _ = samples_agree(before, {"x": 1})
    told = "input {}, a constant, is repeated along axis 0"
    assert notes(fixed) == [f"node[2] (Scan): {told.format(0)}; {told.format(1)}"]


def test_a_constant_state_of_a_loop_is_repeated() -> None:
    before = model("""g (float[1,2] x) => (float[1,2] y) <int64 m = {3}, bool go = {1}, float[1,2] h = {1, 2}> {
      y = Loop(m, go, h) <body = b (int64 i, bool c, float[1,2] s) => (bool d, float[1,2] n) { d = Identity(c)  n = Add(s, x) }>
    }""")
    samples_agree(before, {"x": 0})


def test_a_constant_with_parts_of_its_own_is_told() -> None:
    before = model(
        """g (float[2,3] x) => (float[2,4] y) <float[2,1] token = {7, 8}> { y = Concat<axis = 1>(token, x) }"""
    )
    with pytest.raises(
        sx.InferenceError, match="input 0 is a constant with parts of its own for each place on axis 0"
    ):
        set_dims(before, free={("x", 0): "N"})


def test_states_of_constant_shape_follow_because_nothing_else_fits() -> None:
    before = model("""g (float[2,1,1] x) => (float[2,1,1,2] y) <
      float[1,6,1] w = {1, 2, 3, 4, 5, 6}, float[1,6,2] r = {1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1}, int64[3] s = {1, 1, 2}
    > { h = ConstantOfShape(s)  y = GRU<hidden_size = 2>(x, w, r, "", "", h) }""")
    fixed, _ = samples_agree(before, {"x": 1}, out=2)
    assert notes(fixed) == [
        "node[0] (ConstantOfShape): [1, 1, 2] -> [1, 3, 2] (without, the model contradicts itself)"
    ]


def test_a_constant_beside_the_data_is_repeated() -> None:
    before = model("""g (float[1,3,2] x) => (float[1,4,2] y) <float[1,1,2] token = {7, 8}> {
      y = Concat<axis = 1>(token, x)
    }""")
    samples_agree(before, {"x": 0})


def test_a_constant_that_is_expanded_follows_the_data_beside_it() -> None:
    before = model("""g (float[1,3,2] x) => (float[1,4,2] y) <float[1,1,2] token = {7, 8}, int64[3] s = {1, 1, 2}> {
      t = Expand(token, s)  y = Concat<axis = 1>(t, x)
    }""")
    samples_agree(before, {"x": 0})


def test_repeats_of_tile_follow() -> None:
    before = model("""g (float[2,3] x) => (float[2,3] y) <float[1,3] e = {1, 2, 3}, int64[2] r = {2, 1}> {
      t = Tile(e, r)  y = Add(x, t)
    }""")
    samples_agree(before, {"x": 0})


def test_a_batch_that_shrinks_to_one_broadcasts_nothing() -> None:
    before = model("""g (float[2,3] x) => (float[2,3] y) <float[1,3] e = {1, 2, 3}, int64[2] r = {2, 1}> {
      t = Tile(e, r)  y = Add(x, t)
    }""")
    assert types(set_dims(before, inputs={"x": [1, 3]})) == ["float[1,3]", "float[1,3]"]


def test_a_size_that_a_layer_takes_apart_asks_for_no_constant() -> None:
    before = model("""g (float[1,1,8,8] x) => (float[1,4] y) <float[1,1,2,2] w = {1, 1, 1, 1}, int64[2] s = {1, 4}> {
      a = Conv<strides = [4, 4]>(x, w)  y = Reshape(a, s)
    }""")
    assert types(set_dims(before, inputs={"x": [1, 1, 9, 9]})) == ["float[1,1,9,9]", "float[1,4]"]


def test_expand_of_the_data_itself_asks_for_nothing() -> None:
    before = model("g (float[2,1] x) => (float[2,3] y) <int64[2] s = {2, 3}> { y = Expand(x, s) }")
    fixed, _ = samples_agree(before, {"x": 0})
    assert notes(fixed) == ["node[0] (Expand): [2, 3] -> [1, 3]"]


def test_resize_leaves_the_batch_alone() -> None:
    before = model("""g (float[1,1,2,2] x) => (float[1,1,4,4] y) <int64[4] s = {1, 1, 4, 4}> {
      y = Resize<mode = "nearest">(x, "", "", s)
    }""")
    samples_agree(before, {"x": 0})


def test_a_constant_in_a_branch_is_repaired_there() -> None:
    before = model("""g (bool c, float[1,2,3] x) => (float[1,6] y) <int64[2] s = {1, 6}> {
      y = If(c) <
        then_branch = t () => (float[1,6] p) { p = Reshape(x, s) },
        else_branch = e () => (float[1,6] q) { n = Neg(x)  k = Constant<value = int64[2] {1, 6}>()  q = Reshape(n, k) }
      >
    }""")
    for c in (True, False):
        feeds = {"c": np.array(c), "x": np.ones((1, 2, 3), np.float32)}
        samples_agree(before, {"x": 0}, feeds=feeds)


def test_a_constant_that_others_read_too_stays_for_them() -> None:
    before = model("""g (float[1,6] x, float[6] u) => (float[1,6] y, float[1,6] v) <int64[2] s = {1, 6}> {
      y = Reshape(x, s)  v = Reshape(u, s)
    }""")
    found = set_dims(before, inputs={"x": [2, 6]})
    assert types(found) == ["float[2,6]", "float[6]", "float[2,6]", "float[1,6]"]


def test_what_cannot_be_decided_is_told() -> None:
    before = model("g (float[4,1,6] x) => (float[4,6] y) <int64[2] s = {4, 6}> { y = Reshape(x, s) }")
    with pytest.raises(sx.InferenceError, match=r"several entries of shape \[4, 6\] may hold it"):
        set_dims(before, free={("x", 1): "N"})


def test_an_input_with_a_default_keeps_its_sizes() -> None:
    before = model("g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }")
    with pytest.raises(sx.InputError, match="input 'w' has a default"):
        set_dims(before, free={("w", 0): "N"})


def test_what_was_chosen_among_axes_of_length_1_is_told() -> None:
    before = model(
        "g (float[1,1,6] x) => (float[1,1,1,6] y) <int64[4] s = {1, 1, 1, 6}> { y = Reshape(x, s) }"
    )
    for axis, sizes, others in ((0, "[N, 1, 1, 6]", "1, 2"), (1, "[1, N, 1, 6]", "0, 2")):
        found = set_dims(before, free={("x", axis): "N"})
        remark = f"entries {others} would do as well, but {axis} is where it was"
        assert notes(found) == [f"node[0] (Reshape): [1, 1, 1, 6] -> {sizes} ({remark})"]


def test_a_slice_of_as_many_as_there_were_is_told() -> None:
    before = model("""g (float[1,2] x) => (float[1,2] y) <int64[1] b = {0}, int64[1] e = {1}, int64[1] a = {0}> {
      y = Slice(x, b, e, a)
    }""")
    assert notes(set_dims(before, inputs={"x": [3, 2]})) == [
        "output 'y': is computed from what has changed from 1, and no size of it follows",
        "node[0] (Slice): whether a constant holds the old size 1 cannot be decided: the end 1 on axis 0 may mean all of it",
    ]


def test_sizes_of_unknown_operators_are_forgotten() -> None:
    before = model(
        "g (float[1,3] x) => (float[1,3] y) <float[1,3] a> { a = my.Op(x)  y = Neg(a) }", more='"my": 1'
    )
    found = set_dims(before, inputs={"x": [2, 3]})
    assert types(found) == ["float[2,3]", "float[?,?]"]


def test_declarations_inside_are_inferred_anew() -> None:
    before = model("g (float[1,3] x) => (float[1,3] y) <float[1,3] a> { a = Neg(x)  b = Abs(a)  y = Neg(b) }")
    found = set_dims(before, inputs={"x": [2, 3]})
    a, b, _ = (node.outputs[0].type for node in found.graph.nodes)
    assert (str(a), b) == ("float[2,3]", None)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"dims": {"M": 2}}, "the model has no dim 'M'"),
        ({"inputs": {"z": [2]}}, "the model has no input 'z'"),
        ({"inputs": {"x": [2]}}, "of rank 3; 1 sizes are given"),
        ({"inputs": {"x": [2, 3, 6]}}, "'N' would be both 2 and 3"),
        ({"inputs": {"x": [2, 2, 6]}}, "is 2*N; set its variables instead (N)"),
        ({"inputs": {"x": ["2*K", 2, 4]}}, "is neither a number nor the name of a variable"),
        ({"dims": {"N": -1}}, "-1 is no size"),
        ({"free": {("x", 3): "K"}}, "has no axis 3"),
    ],
)
def test_what_makes_no_sense_is_refused(asked: dict[str, dict[object, object]], message: str) -> None:
    before = model('g (float[N,N,"2*N"] x) => (float[N,N,"2*N"] y) { y = Neg(x) }')
    with pytest.raises(sx.InputError) as caught:
        set_dims(before, **asked)  # type: ignore[arg-type]  # the parameters are its keywords
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
    whole = shared(name)
    samples_agree(whole, axes, out, times=2, feeds=reference_feeds(name))
