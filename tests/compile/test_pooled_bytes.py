"""MaxPool of int8 and uint8 images: the kernel, and dequantized images, whose bytes are pooled."""

from __future__ import annotations

import numpy as np
import pytest

from compile.test_requantization import KINDS, Quantization, run_native


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("zero", [0, 100])
def test_dequantized_images_are_pooled_as_bytes(dtype: str, zero: int) -> None:
    s = Quantization("s", 0.25, zero, dtype)
    text = f"""g (float[1,5,9,9] x) => (float[1,5,5,5] y) {{ {s.literals()}
      q = QuantizeLinear(x, ss, sz)
      d = DequantizeLinear(q, ss, sz)
      m = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (d)
      o = QuantizeLinear(m, ss, sz)
      y = DequantizeLinear(o, ss, sz)
    }}"""
    x = np.random.default_rng(2).normal(size=(1, 5, 9, 9), scale=20).astype(np.float32)
    image = s.dequantize(s.quantize(x)).transpose(0, 2, 3, 1)
    padded = np.pad(image, ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=-np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2)).max((-2, -1))
    actual, keys = run_native(text, {"x": x})
    np.testing.assert_array_equal(actual, windows[:, ::2, ::2].transpose(0, 3, 1, 2))
    assert any(key.startswith(("pool_u8", "pool_i8")) for key in keys), keys


@pytest.mark.parametrize("attributes", ["pads = [3, 3, 3, 3]", "dilations = [2, 2], pads = [2, 2, 2, 2]"])
def test_windows_of_padding_alone_are_those_of_floats(attributes: str) -> None:
    s = Quantization("s", 0.25, 0, "u1")
    size = 9 if "dil" not in attributes else 7
    text = f"""g (float[1,4,5,5] x) => (float[1,4,{size},{size}] y) {{ {s.literals()}
      q = QuantizeLinear(x, ss, sz)
      d = DequantizeLinear(q, ss, sz)
      y = MaxPool <kernel_shape = [3, 3], {attributes}> (d)
    }}"""
    _, keys = run_native(text, {"x": np.ones((1, 4, 5, 5), np.float32)})
    assert not any(key.startswith("pool_u8") for key in keys), keys
