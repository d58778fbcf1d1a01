"""The interface of `onnx.backend.base.Backend`, by which test suites and tools of ONNX run any implementation."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

from sardonyx._src.arguments import require_type
from sardonyx._src.errors import InputError, UnsupportedOperator
from sardonyx._src.interp.program import check_kernels
from sardonyx._src.io.loading.load import ModelSource, load
from sardonyx._src.runtime.backend.feeds import feeds_by_name
from sardonyx._src.runtime.backend.node_model import OutputInfo, node_feeds, node_model, read_node
from sardonyx._src.runtime.backend.outputs import Outputs
from sardonyx._src.runtime.session.session import Engine, Session
from sardonyx._src.suggestions import suggest

KEYWORD = inspect.Parameter.KEYWORD_ONLY
DEVICES = ("CPU", "CPU:0")
SESSION_OPTIONS, LOAD_OPTIONS = (
    tuple(
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is KEYWORD
    )
    for function in (Session, load)
)
TOLERANCES = ("rtol", "atol")  # options of ONNX's test runner that it also passes to the backend


class BackendRep:
    """A prepared model, with the interface of `onnx.backend.base.BackendRep`.  session: runs the model."""

    def __init__(self, session: Session) -> None:
        require_type("session", session, Session, "a sx.Session")
        self.session = session

    def run(self, inputs: object, **kwargs: object) -> Outputs:
        """The outputs, in the model's order and by name.

        inputs: a list of values in the order of the model's inputs, with or without those that have defaults; a dict
        by names; or the value of the only input.  A value is what `Session.run` takes, or a TensorProto,
        SparseTensorProto, SequenceProto, MapProto or OptionalProto.

        Raises what `Session.run` raises, and InputError for a wrong number of inputs or an option.
        """
        check_options(kwargs, ())
        results = self.session.run(feeds_by_name(inputs, self.session.inputs))
        return Outputs(list(results), results.values())


class Backend:
    """Runs ONNX models, with the interface of `onnx.backend.base.Backend`; the `onnx` package is not needed.

    engine: the engine of models that are prepared without the option `engine`; a subclass may set another one.
    """

    engine: ClassVar[Engine] = "auto"

    @classmethod
    def is_compatible(cls, model: ModelSource, device: str = "CPU", **kwargs: object) -> bool:
        """Whether the device is supported and every operator of the model can be run.

        Raises what `sx.load` raises for a model that cannot be read.
        """
        options = check_options(kwargs, (*SESSION_OPTIONS, *TOLERANCES))
        if not cls.supports_device(device):
            return False
        loading = {name: value for name, value in options.items() if name in LOAD_OPTIONS}
        try:
            check_kernels(load(model, **cast(Any, loading)))
        except UnsupportedOperator:
            return False
        return True

    @classmethod
    def prepare(cls, model: ModelSource, device: str = "CPU", **kwargs: object) -> BackendRep:
        """The model, ready to run any number of times.

        model: an `onnx.ModelProto`, bytes, a path, a `sx.Model` or anything else that `sx.load` accepts.
        kwargs: the options of `Session`: engine, threads, seed, limits and the others; `rtol` and `atol` are accepted and
            ignored.

        Raises what `Session` raises, and InputError for a device that is not supported or an unknown option.
        """
        if not cls.supports_device(device):
            raise InputError(
                f"device must be one of {', '.join(map(repr, DEVICES))}; got {device!r}", name="device"
            )
        options = check_options(kwargs, (*SESSION_OPTIONS, *TOLERANCES))
        session = {name: value for name, value in options.items() if name not in TOLERANCES}
        return BackendRep(Session(model, **cast(Any, {"engine": cls.engine} | session)))

    @classmethod
    def run_model(cls, model: ModelSource, inputs: object, device: str = "CPU", **kwargs: object) -> Outputs:
        """The outputs of one run: `prepare` with the options, then `run`."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: object,
        inputs: object,
        device: str = "CPU",
        outputs_info: Sequence[OutputInfo] | None = None,
        *,
        opset_version: int | None = None,
        **kwargs: object,
    ) -> Outputs:
        """The outputs of one operator that are not omitted.

        node: an `onnx.NodeProto`, or its bytes.  inputs: one value for each input that is not omitted, in order, or a
        dict by names; arrays have the element type that the operator takes, a list of arrays is a sequence.
        outputs_info: the element type and shape of each output, which are then checked.
        opset_version: the version of the default domain; the newest if it is None.
        The other options are those of `prepare`.

        Raises what `prepare` and `run` raise, DecodeError for bytes that are not a node, and OutputError for an output
        that is not as `outputs_info` says.
        """
        record = read_node(node)
        feeds = node_feeds(record, inputs)
        return cls.run_model(node_model(record, feeds, outputs_info, opset_version), feeds, device, **kwargs)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether models can be run on the device: "CPU" can, "CUDA" cannot."""
        return isinstance(device, str) and device in DEVICES


def check_options(options: Mapping[str, object], known: Sequence[str]) -> Mapping[str, object]:
    """The options; raises InputError for an unknown one."""
    for name in options:
        if name not in known:
            raise InputError(f"there is no option {name!r}{suggest(name, known, 'options')}", name=name)
    return options
