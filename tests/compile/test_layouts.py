"""Layout assignment: the copies between layouts that a graph needs, and the Concats that need none."""

from __future__ import annotations

import pytest

from compile.stages import Stages, stages_of
from models import parse_model
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.lower import LaidOutRegion
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.compile.program import TensorView

WEIGHTS = "float[8,8,1,1] w1, float[8,8,1,1] w2, float[8,8,1,1] w3, float[16,16,1,1] w4"


TWO_IMAGES = "float[1,8,6,5] x, float[1,8,6,5] z"  # narrow convolutions of one image are merged


def image_stages(body: str, result: str = "float[1,8,6,5] y", inputs: str = "float[1,8,6,5] x") -> Stages:
    """The stages of a network of 1 by 1 convolutions."""
    return stages_of(f"g ({inputs}, {WEIGHTS}) => ({result}) {{ {body} }}")


def copies(stages: Stages) -> list[str]:
    """The values that are copied between layouts."""
    return [copy.value.name for copy in stages.laid_out.copies]


def result_of(stages: Stages, name: str) -> TensorView:
    """The tensor that a region writes a value to."""
    items = (item for item in stages.laid_out.items if isinstance(item, LaidOutRegion))
    return next(
        tensor
        for item in items
        for write, tensor in zip(item.region.writes, item.results, strict=True)
        if write.value.name == name
    )


# --- channels-last ---------------------------------------------------------------------------


def test_an_image_is_copied_at_the_first_convolution_and_at_the_output() -> None:
    assert copies(image_stages("y = Conv (x, w1)")) == ["x", "y"]


def test_nothing_is_copied_between_convolutions() -> None:
    assert copies(image_stages("a = Conv (x, w1)  b = Conv (a, w2)  y = Conv (b, w3)")) == ["x", "y"]


def test_regions_share_a_copy() -> None:
    stages = image_stages("a = Conv (x, w1)  b = Conv (x, w2)  y = Mul (a, b)")
    assert copies(stages) == ["x", "y"]


def test_a_residual_is_read_in_its_layout() -> None:
    stages = image_stages("a = Conv (x, w1)  b = Conv (a, w2)  c = Add (b, a)  y = Conv (c, w3)")
    assert copies(stages) == ["x", "y"]
    assert len(stages.kinds) == 3  # the addition is an epilogue


def test_a_residual_input_needs_one_copy_for_both_readers() -> None:
    assert copies(image_stages("a = Conv (x, w1)  b = Add (a, x)  y = Conv (b, w2)")) == ["x", "y"]


def test_elementwise_kernels_follow_their_operands() -> None:
    stages = image_stages(
        "a = Conv (x, w1)  b = Conv (a, w2)  c = Div (a, b)  d = Conv (c, w3)  y = Mul (d, c)"
    )
    assert copies(stages) == ["x", "y"]
    assert image_stages("a = Sin (x)  y = Mul (a, a)").laid_out.copies == []


def test_a_kernel_without_channels_last_form_reads_a_dense_copy() -> None:
    stages = image_stages("a = Conv (x, w1)  b = Softmax <axis = 3> (a)  y = Sin (b)")
    assert copies(stages) == ["x", "a"]


@pytest.mark.parametrize("dims", ["1,8,1,1", "1,1,6,5"])
def test_an_image_of_one_pixel_or_one_channel_is_channels_last_already(dims: str) -> None:
    stages = stages_of(
        f"g (float[{dims}] x, float[4,{dims.split(',')[1]},1,1] w) => (float[] y) {{ y = Conv (x, w) }}"
    )
    assert "x" not in copies(stages)


# --- views -----------------------------------------------------------------------------------


def test_a_transpose_is_a_view() -> None:
    stages = stages_of(
        """g (float[2,3,8] x, float[8,4] w) => (float[3,2,4] y) { a = Sin (x)  t = Transpose <perm = [1, 0, 2]> (a)
        y = MatMul (t, w) }"""
    )
    assert copies(stages) == []
    assert stages.kinds == ["Elementwise", "View", "MatMul"]


def test_a_transpose_to_channels_last_of_a_convolution_is_dense() -> None:
    stages = image_stages("a = Conv (x, w1)  y = Transpose <perm = [0, 2, 3, 1]> (a)", "float[1,6,5,8] y")
    first, last = stages.laid_out.copies
    assert (first.value.name, last.value.name) == ("x", "y")
    assert last.source.is_dense
    assert last.target.is_dense


def test_pixels_of_an_image_become_rows_by_a_view() -> None:
    stages = image_stages(
        """shape = Constant <value_ints = [1, 8, 30]> ()  a = Conv (x, w1)  r = Reshape (a, shape)
        t = Transpose <perm = [0, 2, 1]> (r)  y = Softmax (t)""",
        "float[1,30,8] y",
    )
    assert copies(stages) == ["x"]


def test_shuffled_channels_are_copied_once_from_channels_last_to_channels_last() -> None:
    stages = image_stages(
        """split = Constant <value_ints = [1, 2, 4, 6, 5]> ()  whole = Constant <value_ints = [1, 8, 6, 5]> ()
        a = Conv (x, w1)  r = Reshape (a, split)  t = Transpose <perm = [0, 2, 1, 3, 4]> (r)  b = Reshape (t, whole)
        y = Conv (b, w2)"""
    )
    assert copies(stages) == ["x", "b", "y"]
    shuffle = stages.laid_out.copies[1]
    assert [tensor.strides[1:] for tensor in (shuffle.source, shuffle.target)] == [
        (1, 4, 40, 8),
        (2, 1, 40, 8),
    ]


def test_a_flattened_image_takes_one_copy() -> None:
    stages = image_stages("a = Conv (x, w1)  f = Flatten (a)  y = Softmax (f)", "float[1,240] y")
    assert len(stages.laid_out.copies) == 2
    assert stages.kinds == ["Conv", "View", "Softmax"]


def test_parts_of_a_split_are_read_as_slices() -> None:
    stages = stages_of(
        """g (float[2,8] x, float[4,3] w) => (float[2,3] y, float[2,4] z) {
        a, b = Split <axis = 1, num_outputs = 2> (x)  y = MatMul (a, w)  z = Sin (b) }"""
    )
    assert copies(stages) == ["b"]  # elementwise kernels read dense operands of their result's dims


# --- Concat ----------------------------------------------------------------------------------


def test_convolutions_write_into_the_output_of_a_concat() -> None:
    stages = image_stages(
        "a = Conv (x, w1)  b = Conv (z, w2)  c = Concat <axis = 1> (a, b)  y = Conv (c, w4)",
        "float[1,16,6,5] y",
        TWO_IMAGES,
    )
    assert copies(stages) == ["x", "z", "y"]
    a, b = result_of(stages, "a"), result_of(stages, "b")
    assert a.buffer is b.buffer
    assert (a.offset, b.offset) == (0, 8)


def test_the_output_of_a_concat_may_be_a_slice_of_another_one() -> None:
    stages = stages_of(
        """g (float[1,8,6,5] x, float[1,8,6,5] z, float[4,8,1,1] w1, float[4,8,1,1] w2, float[8,8,1,1] w3,
        float[16,16,1,1] w4) => (float[1,16,6,5] y) { a = Conv (x, w1)  b = Conv (z, w2)  c = Concat <axis = 1> (a, b)
        d = Conv (c, w3)  e = Concat <axis = 1> (d, c)  y = Conv (e, w4) }"""
    )
    assert copies(stages) == ["x", "z", "y"]
    assert [result_of(stages, name).offset for name in "abd"] == [8, 12, 0]
    assert len({result_of(stages, name).buffer for name in "abd"}) == 1


@pytest.mark.parametrize(
    ("body", "result", "copied"),
    [
        ("c = Concat <axis = 1> (a, a)  y = Conv (c, w4)", "", "x a a y"),  # a part occurs twice
        ("c = Concat <axis = 1> (a, x)  y = Conv (c, w4)", "", "x x y"),  # a part is an input
        (
            "c = Concat <axis = 1> (a, b)  y = Conv (c, w4)",
            ", float[1,8,6,5] a",
            "x z a y a",
        ),  # a part is an output
        ("c = Concat <axis = 1> (a, b)  d = Concat <axis = 1> (b, a)  y = Mul (c, d)", "", "x z b a y"),
        (
            "t = Concat <axis = 0> (a, b)  s = Constant <value_ints = [1, 16, 6, 5]> ()  y = Reshape (t, s)",
            "",
            "x z a b y",
        ),
    ],
    ids=["twice", "input", "output", "two concats", "another axis"],
)
def test_other_parts_of_a_concat_are_copied(body: str, result: str, copied: str) -> None:
    stages = image_stages(
        f"a = Conv (x, w1)  b = Conv (z, w2)  {body}", f"float[1,16,6,5] y{result}", TWO_IMAGES
    )
    assert copies(stages) == copied.split()


def test_dense_parts_are_copied_into_a_dense_output() -> None:
    stages = stages_of(
        "g (float[2,3] x, float[2,4] z) => (float[2,7] y) { a = Sin (x)  y = Concat <axis = 1> (a, z) }"
    )
    assert copies(stages) == ["a", "z"]
    assert all(copy.target.buffer.role == "output" for copy in stages.laid_out.copies)


# --- inputs, outputs and constants ------------------------------------------------------------


def test_kernels_write_outputs_directly() -> None:
    stages = stages_of("g (float[4] x) => (float[4] y) { y = Sin (x) }")
    assert copies(stages) == []
    assert result_of(stages, "y").buffer.role == "output"


def test_an_output_that_is_read_further_is_read_from_the_callers_array() -> None:
    stages = stages_of(
        "g (float[4,4] x) => (float[4,4] a, float[4,4] y) { a = Softmax (x)  y = Softmax (a) }"
    )
    assert copies(stages) == []


def test_an_input_that_is_an_output_is_copied() -> None:
    stages = stages_of("g (float[4] x) => (float[4] y, float[4] z) { y = Identity (x)  z = Identity (x) }")
    assert copies(stages) == ["y", "z"]


def test_a_view_that_is_an_output_is_copied() -> None:
    stages = stages_of("g (float[3,4] x) => (float[4,3] y) { a = Sin (x)  y = Transpose (a) }")
    assert copies(stages) == ["y"]


def test_sizes_are_written_where_they_are_read() -> None:
    stages = stages_of("g (float[N,4] x) => (int64[2] y) { y = Shape (x) }")
    assert [type(item).__name__ for item in stages.laid_out.items] == ["SizeWrite"]


def test_a_fallback_reads_what_kernels_compute_and_returns_python_values() -> None:
    stages = stages_of("g (float[3,3] x) => (float[3,3] y) { a = Sin (x)  d = Bernoulli (a)  y = Cos (d) }")
    assert [type(item).__name__ for item in stages.laid_out.items] == [
        "LaidOutRegion",
        "FallbackOp",
        "CopyIn",
        "LaidOutRegion",
    ]


@pytest.mark.parametrize(
    ("rows", "actions"), [("K", "FallbackOp FallbackOp"), ("N", "FallbackOp CopyIn Step")]
)
def test_only_results_of_fallbacks_that_kernels_read_are_copied_in(rows: str, actions: str) -> None:
    """A gather of more rows than the data may have is refused, and has no copy of its operand."""
    text = f"g (float[N,4] x, int64[{rows},4] i) => (float[{rows},4] y) {{ s = Bernoulli(x)  y = GatherElements <axis = 1> (s, i) }}"
    assert [type(action).__name__ for action in stages_of(text).program.actions] == actions.split()


@pytest.mark.parametrize(("width", "copied"), [(64, 0), (8, 2)])
def test_elementwise_kernels_read_long_rows_of_slices_in_place(width: int, copied: int) -> None:
    model = parse_model(
        f"g (float[6,{2 * width}] x) => (float[6,{width}] y) "
        "{ a, b = Split<axis = 1, num_outputs = 2>(x) c = Sigmoid(a) d = Tanh(b) y = Mul(c, d) }",
        opset=20,
    )
    keys = [step.kernel.key for step in compile_model(model, host_target(), verify=True).program.steps]
    assert sum(key.startswith("copy") for key in keys) == copied, keys
