"""Decoding of inference requests from HTTP bodies: JSON, and after it binary tensor data, if there are any.

Spec: Open Inference Protocol v2, Inference Request JSON Object; Binary Tensor Data Extension.
"""

from __future__ import annotations

from collections.abc import Mapping

from sardonyx._src.arguments import shown
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array
from sardonyx._src.serve.protocol.binary_data import decode_tensor
from sardonyx._src.serve.protocol.datatypes import ELEMENT_TYPES
from sardonyx._src.serve.protocol.failures import FailureKind, RequestFailure
from sardonyx._src.serve.protocol.held_bytes import Allowance
from sardonyx._src.serve.protocol.json_data import parse_data
from sardonyx._src.serve.protocol.json_slices import SlicedList, parse_long_object, parse_sliced
from sardonyx._src.serve.protocol.json_text import parse_object
from sardonyx._src.serve.protocol.request_parameters import deadline_of, integer_of, parse_parameters
from sardonyx._src.serve.protocol.requests import InferenceRequest
from sardonyx._src.serve.protocol.tensor_shapes import check_shape
from sardonyx._src.suggestions import did_you_mean

MAX_INPUTS = 10_000  # inputs or outputs of a request
SHORT = 64 << 10  # bytes up to which a body is decoded on the event loop
SHORT_BINARY = 1 << 20  # the same for a body with binary data, which are not copied


@dataclass(frozen=True, slots=True)
class RequestedForm:
    """Which outputs the client requests as binary data.

    outputs: for an output by name, whether it is requested as binary data.
    default: the same for outputs that `outputs` does not name.
    """

    outputs: Mapping[str, bool]
    default: bool = False

    def is_binary(self, name: str) -> bool:
        return self.outputs.get(name, self.default)


ALL_JSON = RequestedForm({})


def parse_request(
    model: str,
    version: str,
    body: bytes | bytearray,
    json_length: int | None,
    allowance: Allowance | None = None,
) -> tuple[InferenceRequest, RequestedForm]:
    """The request in a body, and the requested form of its outputs.  Raises RequestFailure.

    json_length: the number of bytes of JSON at the begin of the body; None: the whole body is JSON.
    allowance: counts the bytes of tensors; with it, JSON is decoded in slices.  None for a short body (`is_short`).
    """
    view = memoryview(body)
    length = len(body) if json_length is None else json_length
    if length > len(body):
        raise invalid(
            f"Inference-Header-Content-Length must be at most the {len(body)} bytes of the body; got {length}"
        )
    if allowance is None:
        message = parse_object(body if json_length is None else view[:length])
    else:
        message = parse_long_object(body, length)
    inputs = parse_inputs(message.get("inputs"), view[length:], allowance)
    parameters = parse_parameters("the request", message.get("parameters"))
    names, form = parse_outputs(message.get("outputs"), parameters.get("binary_data_output") is True)
    request = InferenceRequest(
        model,
        inputs,
        version,
        text_of("id", message.get("id", "")),
        names,
        parameters,
        integer_of(parameters, "priority"),
        deadline_of(parameters),
    )
    return request, form


def is_short(body: bytes | bytearray, json_length: int | None) -> bool:
    """Whether a body can be decoded in a few milliseconds, so that it may be decoded on the event loop."""
    if len(body) <= SHORT:
        return True
    if json_length is None or json_length > SHORT or len(body) > SHORT_BINARY:
        return False
    text = body[:json_length]
    # No strings; with escapes, "BYTES" could be spelled otherwise.
    return b"BYTES" not in text and b"\\" not in text


def parse_inputs(value: object, binary: memoryview, allowance: Allowance | None = None) -> dict[str, Array]:
    """The inputs by name.  The data of inputs with the parameter `binary_data_size` are in `binary`, in order."""
    if not isinstance(value, list) or not 0 < len(value) <= MAX_INPUTS:
        raise invalid(f"inputs must be a list of 1 to {MAX_INPUTS} tensors; got {shown(value)}")
    inputs: dict[str, Array] = {}
    offset = 0
    for item in value:
        if type(item) is not dict:
            raise invalid(f"an input must be a JSON object; got {shown(item)}")
        name = text_of("name of an input", item.get("name"))
        if name in inputs:
            raise invalid(f"an input must occur once; got {name!r} twice")
        size = binary_size(name, item)
        data = None if size is None else binary[offset : offset + size]
        inputs[name] = parse_input(name, item, data, allowance)
        offset += size or 0
    if offset != len(binary):
        raise invalid(
            f"binary data must have the {offset} bytes that binary_data_size states; got {len(binary)}"
        )
    return inputs


def parse_input(
    name: str, item: Mapping[str, object], binary: memoryview | None, allowance: Allowance | None
) -> Array:
    """One input, from its JSON object and its binary data, if it has any."""
    datatype = item.get("datatype")
    if not isinstance(datatype, str) or datatype not in ELEMENT_TYPES:
        cure = did_you_mean(datatype, ELEMENT_TYPES) if isinstance(datatype, str) else ""
        known = ", ".join(ELEMENT_TYPES)
        raise invalid(f"datatype of input {name!r} must be one of {known}; got {shown(datatype)}{cure}")
    shape = check_shape(name, item.get("shape"))
    if binary is not None:
        return decode_tensor(name, datatype, shape, binary, allowance)
    data = item.get("data")
    if isinstance(data, SlicedList):
        assert allowance is not None, "long JSON is decoded with an allowance"
        return parse_sliced(name, datatype, shape, data, allowance)
    return parse_data(name, datatype, shape, data)


def binary_size(name: str, item: Mapping[str, object]) -> int | None:
    """The size of an input's binary data in bytes; None for data in JSON."""
    if "parameters" not in item:
        return None
    parameters = parse_parameters(f"input {name!r}", item["parameters"])
    size = parameters.get("binary_data_size")
    if size is None:
        return None
    if type(size) is not int or size < 0:
        raise invalid(f"binary_data_size of input {name!r} must be a number of bytes; got {shown(size)}")
    if "data" in item:
        raise invalid(f"input {name!r} must have data or binary_data_size; got both")
    return size


def parse_outputs(value: object, default: bool) -> tuple[tuple[str, ...] | None, RequestedForm]:
    """The names of the requested outputs (None: all), and the form in which each is requested."""
    if value is None:
        return None, RequestedForm({}, default) if default else ALL_JSON
    if not isinstance(value, list) or len(value) > MAX_INPUTS:
        raise invalid(f"outputs must be a list of at most {MAX_INPUTS} objects; got {shown(value)}")
    outputs: dict[str, bool] = {}
    for item in value:
        if type(item) is not dict:
            raise invalid(f"an output must be a JSON object; got {shown(item)}")
        name = text_of("name of an output", item.get("name"))
        if name in outputs:
            raise invalid(f"an output must be requested once; got {name!r} twice")
        parameters = parse_parameters(f"output {name!r}", item.get("parameters"))
        outputs[name] = parameters.get("binary_data", default) is True
    return tuple(outputs) or None, RequestedForm(outputs, default)


def text_of(what: str, value: object) -> str:
    if not isinstance(value, str):
        raise invalid(f"{what} must be a text; got {shown(value)}")
    if not value.isascii() and value.encode("utf-8", "replace") != value.encode("utf-8", "surrogatepass"):
        raise invalid(f"{what} must be a text that UTF-8 can encode; got {shown(value)}")
    return value


def invalid(why: str) -> RequestFailure:
    return RequestFailure(FailureKind.INVALID, why)
