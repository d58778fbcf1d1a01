"""Metadata of served models: inputs and outputs as the Open Inference Protocol describes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Array, MapType, SequenceType, TensorType, Type
from sardonyx._src.runtime.session.session_values import SessionValue
from sardonyx._src.serve.protocol.datatypes import DATATYPES
from sardonyx._src.suggestions import suggest

# The extensions of the protocol that the service implements, by the names of their documents.
EXTENSIONS = (
    "binary_tensor_data",
    "model_repository",
    "model_repository(unload_dependents)",
    "schedule_policy",
    "sequence",
)
PLATFORM = "onnx_sardonyx"


@dataclass(frozen=True, slots=True)
class TensorMetadata:
    """An input or output of a model.

    datatype: the protocol's name of the element type, such as `FP32`.
    shape: the dims, -1 for a dim that may vary; None for any rank.
    is_optional: whether a request may omit the input.
    """

    name: str
    datatype: str
    shape: tuple[int, ...] | None
    is_optional: bool = False

    @property
    def protocol_shape(self) -> list[int]:
        """The shape in messages of the protocol, where `[-1]` means any rank."""
        return [-1] if self.shape is None else list(self.shape)


def input_metadata(values: Sequence[SessionValue]) -> tuple[TensorMetadata, ...]:
    """Raises InputError for an input that no tensor of the protocol can be fed to."""
    return tuple(
        TensorMetadata(v.name, datatype_of(v, v.type), shape_of(v.type), v.has_default) for v in values
    )


def output_metadata(values: Sequence[SessionValue]) -> tuple[TensorMetadata, ...]:
    """Raises InputError for an output that no tensor of the protocol can hold.

    The maps of a ZipMap, sequence(map(K, float)), are the rows of a matrix with a column for each key.
    """
    return tuple(TensorMetadata(v.name, *output_tensor(v)) for v in values)


def output_tensor(value: SessionValue) -> tuple[str, tuple[int, ...] | None]:
    """The datatype and shape of an output."""
    match value.type:
        case SequenceType(elem=MapType(value=element)):
            return datatype_of(value, element), (-1, -1)
    return datatype_of(value, value.type), shape_of(value.type)


def datatype_of(value: SessionValue, type: Type | None) -> str:
    if isinstance(type, TensorType) and type.dtype in DATATYPES:
        return DATATYPES[type.dtype]
    what = f"{value.name!r} must be a tensor of {', '.join(DATATYPES.values())} to be served"
    raise InputError(f"{what}; got {value.type or 'no type'}", name=value.name)


def shape_of(type: Type | None) -> tuple[int, ...] | None:
    if not isinstance(type, TensorType) or type.shape is None:
        return None
    return tuple(dim if isinstance(dim, int) else -1 for dim in type.shape)


def input_mismatch(inputs: Sequence[TensorMetadata], tensors: Mapping[str, Array]) -> str:
    """The first input that is missing, unknown, or of another datatype or shape than declared; "" if there is none."""
    declared = {tensor.name: tensor for tensor in inputs}
    for name, array in tensors.items():
        if name not in declared:
            return f"the model has no input {name!r}{suggest(name, declared, 'inputs')}"
        expected, datatype = declared[name], DATATYPES[DataType.of(array.dtype)]
        if datatype != expected.datatype:
            return f"input {name!r} must have datatype {expected.datatype}; got {datatype}"
        if expected.shape is not None and not has_shape(array, expected.shape):
            return f"input {name!r} must have shape {list(expected.shape)}; got {list(array.shape)}"
    missing = [name for name, tensor in declared.items() if name not in tensors and not tensor.is_optional]
    return f"input {missing[0]!r} is missing" if missing else ""


def has_shape(array: Array, shape: Sequence[int]) -> bool:
    """Whether an array has a shape, in which -1 is any size."""
    return array.ndim == len(shape) and all(
        d in (-1, size) for d, size in zip(shape, array.shape, strict=True)
    )
