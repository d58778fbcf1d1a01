"""Responses in slices are those that are made at once, byte by byte, and are counted before they are stored."""

from __future__ import annotations

import json
import math

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import DTypeLike

from sardonyx._src.ir import Array
from sardonyx._src.serve.grpc.service import encode_response
from sardonyx._src.serve.protocol.failures import FailureKind, RequestFailure
from sardonyx._src.serve.protocol.held_bytes import HeldBytes
from sardonyx._src.serve.protocol.inference_messages import ALL_JSON, RequestedForm
from sardonyx._src.serve.protocol.requests import InferenceResponse
from sardonyx._src.serve.rest import response_messages
from sardonyx._src.serve.rest.response_messages import (
    format_in_slices,
    format_response,
    is_short_response,
)

BINARY = RequestedForm({}, True)
DTYPES = [bool, np.uint8, np.int64, np.float16, np.float32, np.float64, ml_dtypes.bfloat16, object]


def elements(dtype: DTypeLike, shape: tuple[int, ...]) -> Array:
    count = math.prod(shape)
    if dtype is object:
        return np.array([f'é"\\{i}' for i in range(count)], object).reshape(shape)
    return (np.arange(count) / (3 if np.dtype(dtype).kind == "f" else 1)).astype(dtype).reshape(shape)


def response(**outputs: Array) -> InferenceResponse:
    return InferenceResponse("m", "1", outputs, "null")


@pytest.mark.parametrize(
    "form", [ALL_JSON, BINARY, RequestedForm({"y": True})], ids=["json", "binary", "both"]
)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_same_bytes(dtype: DTypeLike, form: RequestedForm, monkeypatch: pytest.MonkeyPatch) -> None:
    for shape in ((), (0,), (1,), (3,), (4,), (2, 5)):
        tensor = elements(dtype, shape)
        answer = response(x=tensor, y=tensor.T)
        text, binary = format_response(answer, form)
        for size in (1, 3, 100):
            monkeypatch.setattr(response_messages, "SLICE", size)
            parts = format_in_slices(answer, form)
            assert b"".join(parts[0]) == b"".join(text)
            assert b"".join(parts[1]) == b"".join(binary)
        assert json.loads(b"".join(text))["outputs"][0]["shape"] == list(shape)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16], ids=str)
def test_numbers_that_are_not_finite(dtype: DTypeLike, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(response_messages, "SLICE", 3)
    values = [math.nan, 1, math.inf, -math.inf, 0.5, math.nan, 2, -0.0, math.inf]
    text, _ = format_response(response(x=np.array(["null"], object), y=np.array(values, dtype)), ALL_JSON)
    data = b"".join(text).split(b'"data":[')[-1]
    assert data == b"NaN,1.0,Infinity,-Infinity,0.5,NaN,2.0,-0.0,Infinity]}]}"
    assert b'"data":["null"]' in b"".join(text)


def test_long_responses_are_counted() -> None:
    """Before they are made: one whose JSON must exceed the limit makes no text at all."""
    held = HeldBytes(1 << 20)
    numbers, strings = np.zeros(100_000, np.float64), np.full(100_000, "abc", object)
    for tensor, limit in ((numbers, 150_000), (numbers, 300_000), (strings, 300_000)):
        for form in (ALL_JSON, BINARY):
            with held.allowance(limit, "limits.response: a response") as allowance:
                with pytest.raises(RequestFailure, match=f"at most {limit} bytes") as caught:
                    format_in_slices(response(x=tensor), form, allowance)
                assert caught.value.kind is FailureKind.TOO_LARGE
                assert limit > 150_000 or allowance.count == 0
        refusal = pytest.raises(RequestFailure, match=f"at most {limit} bytes")
        with held.allowance(limit, "limits.response: a response") as allowance, refusal:
            encode_response(response(x=tensor), False, allowance)
    with held.allowance(1 << 30, "") as allowance:
        parts = format_in_slices(response(x=numbers), ALL_JSON, allowance)
        assert allowance.count == held.count == 399_999  # with the commas
        assert b"".join(parts[0]).count(b"0.0") == 100_000
    assert held.count == 0


def test_short_responses() -> None:
    assert is_short_response(response(x=np.zeros(40_000, np.float32)), ALL_JSON)
    assert not is_short_response(response(x=np.zeros(50_000, np.float32)), ALL_JSON)
    assert is_short_response(response(x=np.zeros(200_000, np.float32)), BINARY)
    assert not is_short_response(response(x=np.zeros(300_000, np.float32)), BINARY)
    assert is_short_response(response(x=np.full(1000, "a", object)), ALL_JSON)
    assert not is_short_response(response(x=np.full(2000, "a", object)), ALL_JSON)
    assert not is_short_response(response(x=np.array(["a" * 2_000_000], object)), ALL_JSON)
