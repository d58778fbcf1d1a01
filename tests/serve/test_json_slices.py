"""JSON decoded in slices is what it is decoded at once: tensors, and what is refused; and it takes few bytes beside them."""

from __future__ import annotations

import json
import random
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from sardonyx._src.serve.protocol import json_slices
from sardonyx._src.serve.protocol.failures import FailureKind, RequestFailure
from sardonyx._src.serve.protocol.held_bytes import Allowance, HeldBytes
from sardonyx._src.serve.protocol.inference_messages import parse_request
from sardonyx._src.serve.protocol.requests import InferenceRequest

TEXTS = [
    '""',
    '"a"',
    '"],["',
    '"\\""',
    '"\\\\"',
    '"\\\\\\""',
    '"data"',
    '"\\"data\\":["',
    '"\\u00fc\u00fc"',
    '"[[["',
]
ELEMENTS = {
    "FP32": ["1", "-2.5", "1e3", "NaN", "-Infinity"],
    "FP64": ["0", "1.5"],
    "INT64": ["0", "1", "-7", "9007199254740993"],
    "BF16": ["1", "0.5"],
    "BOOL": ["true", "false"],
    "BYTES": TEXTS,
}
SHAPES = [(0,), (1,), (7,), (2, 3), (3, 1), (2, 0, 2), (2, 2, 3), (1, 5, 1, 2), ()]


@contextmanager
def allowance(limit: int = 1 << 20) -> Iterator[Allowance]:
    with HeldBytes(1 << 40).allowance(limit, "`decoded`: the tensors of a request") as result:
        yield result


def parse_in_slices(body: bytes, length: int | None = None) -> InferenceRequest:
    with allowance() as limit:
        return parse_request("m", "", body, length, limit)[0]


def is_refused(body: bytes, *, in_slices: bool) -> bool:
    """Whether a body is refused; any other error is the decoder's fault."""
    try:
        parse_in_slices(body) if in_slices else parse_request("m", "", body, None)
    except RequestFailure as failure:
        return failure.kind is FailureKind.INVALID
    return False


def nested(elements: list[str], shape: tuple[int, ...], rng: random.Random) -> str:
    """A list of elements, nested as a shape is, with spaces."""
    space = rng.choice(["", " ", "\n\t"])
    if len(shape) == 1:
        return f"[{space}" + f"{space},{space}".join(elements) + f"{space}]"
    size = len(elements) // shape[0] if shape[0] else 0
    rows = [nested(elements[i * size : (i + 1) * size], shape[1:], rng) for i in range(shape[0])]
    return f"[{space}" + f",{space}".join(rows) + "]"


def document(rng: random.Random) -> str:
    """A request of some inputs, whose fields are in any order."""
    inputs = []
    for number in range(rng.randint(1, 3)):
        datatype, shape = rng.choice([*ELEMENTS]), rng.choice(SHAPES)
        elements = [rng.choice(ELEMENTS[datatype]) for _ in range(int(np.prod(shape)))]
        fields = [
            f'"name": "x{number}"',
            f'"datatype" :"{datatype}"',
            f'"shape":{list(shape)}',
            f'"data" : {nested(elements, shape if shape and rng.random() < 0.5 else (len(elements),), rng)}',
        ]
        inputs.append("{" + ",".join(rng.sample(fields, len(fields))) + "}")
    fields = [f'"inputs": [{", ".join(inputs)}]', '"id": "\\"data\\":[1,"', '"parameters": {"a": "data"}']
    return "{" + ",".join(rng.sample(fields, len(fields))) + "}"


@pytest.fixture(params=[1, 2, 7, 64, 1024])
def slice_bytes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(json_slices, "FIRST_SLICE", request.param)
    monkeypatch.setattr(json_slices, "MAX_SLICE", 2 * request.param)
    return int(request.param)


def test_same_tensors(slice_bytes: int) -> None:
    rng = random.Random(slice_bytes)
    for _ in range(150):
        text = document(rng)
        expected, got = parse_request("m", "", text.encode(), None)[0], parse_in_slices(text.encode())
        assert (got.id, got.parameters, [*got.inputs]) == (
            expected.id,
            expected.parameters,
            [*expected.inputs],
        )
        for name, array in expected.inputs.items():
            assert got.inputs[name].dtype == array.dtype, text
            np.testing.assert_array_equal(got.inputs[name], array, err_msg=text)


def test_same_refusals(slice_bytes: int) -> None:
    """One character more, less, or another: what is JSON, and what fits the shape, is decided alike."""
    rng = random.Random(slice_bytes)
    refused = 0
    for _ in range(1500):
        text = document(rng)
        i = rng.randrange(len(text))
        text = text[:i] + rng.choice(["", *'[]{},":\\1 ', "[]", ",,", "null"]) + text[i + rng.randint(0, 2) :]
        expected = is_refused(text.encode(), in_slices=False)
        refused += expected
        if expected or text.count('"data"') == document_lists(text):
            assert is_refused(text.encode(), in_slices=True) == expected, text
    assert refused > 500


def document_lists(text: str) -> int:
    """The lists of `data` that the inputs have: more occurrences are repeated or in other places, which slices refuse."""
    inputs = json.loads(text)["inputs"]
    return sum(isinstance(item.get("data"), list) for item in inputs) + 1  # one is the value of a parameter


@pytest.mark.parametrize(
    ("datatype", "data", "why"),
    [
        ("FP32", "[" + "1," * 5000 + "null]", "None (element 5000)"),
        ("FP32", "[" + "1," * 4999 + 'true, "1"]', "True (element 4999)"),
        ("INT8", "[" + "1," * 4998 + "128, 1, 129]", "128 (element 4998)"),
        ("BYTES", "[" + '"",' * 5000 + "1]", "1 (element 5000)"),
        ("BOOL", "[" + "true," * 5000 + "1]", "1 (element 5000)"),
        ("FP32", "[" + "1," * 4999 + "1]", "must have 5001 elements"),
        ("FP32", "[" + "1," * 5001 + "1]", "must have 5001 elements"),
        ("FP32", "[[" + "1," * 5000 + "1]]", "(element 0)"),
        ("FP32", "[" * 40, "nested at most 32"),
        ("FP32", "[[" + "1," * 9000, "no end"),
    ],
)
def test_messages_name_the_element(datatype: str, data: str, why: str) -> None:
    text = f'{{"inputs": [{{"name": "x", "datatype": "{datatype}", "shape": [5001], "data": {data}}}]}}'
    with pytest.raises(RequestFailure) as caught:
        parse_in_slices(text.encode())
    assert (caught.value.kind, why in caught.value.why) == (FailureKind.INVALID, True), caught.value.why


def test_lists_of_other_places_are_refused() -> None:
    item = '{"name": "x", "datatype": "FP32", "shape": [1], "data": [1]%s}'
    assert not is_refused(f'{{"inputs": [{item % ""}]}}'.encode(), in_slices=True)
    for more in (', "data": [2]', ', "parameters": {"data": [1]}'):
        assert is_refused(f'{{"inputs": [{item % more}]}}'.encode(), in_slices=True)


def test_fields_have_a_limit() -> None:
    for text in (b" " * (json_slices.MAX_FIELDS + 1), b'{"a": "' + b"data" * json_slices.MAX_FIELDS):
        with pytest.raises(RequestFailure) as caught:
            parse_in_slices(text)
        assert (caught.value.kind, str(json_slices.MAX_FIELDS) in caught.value.why) == (
            FailureKind.TOO_LARGE,
            True,
        )


@pytest.mark.parametrize("element", ["1", "[1]", '""', '"ab"', "null"])
def test_objects_take_few_bytes(element: str) -> None:
    """A megabyte of JSON takes its tensor, whose bytes are counted, and those of a slice."""
    count = (1 << 20) // (len(element) + 1)
    datatype, shape = ("BYTES", [count]) if '"' in element else ("INT8", [count, 1][: 1 + element.count("[")])
    item = f'{{"name": "x", "datatype": "{datatype}", "shape": {shape}, "data": [{",".join([element] * count)}]}}'
    body = f'{{"inputs": [{item}]}}'.encode()
    tracemalloc.start()
    try:
        with allowance(64 << 20) as limit:
            if element == "null":
                assert is_refused(body, in_slices=True)
            else:
                parse_request("m", "", body, None, limit)
            assert tracemalloc.get_traced_memory()[1] < limit.count + (3 << 20)
        with allowance(1000) as limit, pytest.raises(RequestFailure) as caught:
            parse_request("m", "", body, None, limit)
        assert caught.value.kind is FailureKind.TOO_LARGE
    finally:
        tracemalloc.stop()
