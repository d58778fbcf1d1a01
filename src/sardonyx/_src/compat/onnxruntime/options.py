"""Options of sessions and runs: every attribute that onnxruntime has, with its default and its types."""

from __future__ import annotations

import enum
import operator
import os
from collections.abc import Sequence
from typing import SupportsIndex

from sardonyx._src.arguments import items_of, require_integer, require_text, require_type, texts_of
from sardonyx._src.compat.onnxruntime.enums import ExecutionMode, ExecutionOrder, GraphOptimizationLevel
from sardonyx._src.compat.onnxruntime.exceptions import (
    Fail,
    InvalidArgument,
    NotImplemented,  # onnxruntime's name
)
from sardonyx._src.compat.onnxruntime.ort_value import OrtValue
from sardonyx._src.interp.run_control import CancellationToken


class TypedAttributes:
    """A class with attributes that keep the type of their default, as on onnxruntime's own classes.

    Assigning a value of another type raises TypeError, and assigning to an unknown name AttributeError.
    """

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> None:
        current = getattr(self, name, None)
        if current is not None:
            value = convert_like(current, value, f"{type(self).__name__}.{name}")
        object.__setattr__(self, name, value)


def convert_like(current: object, value: object, name: str) -> object:
    """The value converted to the type of the current value; raises TypeError if it does not convert."""
    if isinstance(current, bool | enum.Enum):
        if isinstance(value, type(current)):
            return value
    elif isinstance(current, int):
        if isinstance(value, SupportsIndex):
            return operator.index(value)
    elif isinstance(current, str):
        if isinstance(value, str | os.PathLike):
            return os.fspath(value)
    elif isinstance(value, type(current)):
        return value
    raise TypeError(f"{name} must be of type {type(current).__name__}; got {value!r}")


class SessionOptions(TypedAttributes):
    """How a session is opened and runs.

    These have an effect: `intra_op_num_threads`, `enable_profiling`, `profile_file_prefix`, `optimized_model_filepath`,
    overrides of free dimensions, initializers, libraries of operators, and `log_severity_level`.  The others are hints without effect on results.
    """

    __slots__ = (
        "config_entries",
        "custom_libraries",
        "dim_overrides",
        "enable_cpu_mem_arena",
        "enable_mem_pattern",
        "enable_mem_reuse",
        "enable_profiling",
        "execution_mode",
        "execution_order",
        "graph_optimization_level",
        "initializers",
        "inter_op_num_threads",
        "intra_op_num_threads",
        "log_severity_level",
        "log_verbosity_level",
        "logid",
        "optimized_model_filepath",
        "profile_file_prefix",
        "providers",
        "use_deterministic_compute",
        "use_per_session_threads",
    )

    def __init__(self) -> None:
        self.enable_cpu_mem_arena = True
        self.enable_mem_pattern = True
        self.enable_mem_reuse = True
        self.enable_profiling = False
        self.execution_mode = ExecutionMode.ORT_SEQUENTIAL
        self.execution_order = ExecutionOrder.DEFAULT
        self.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_ALL
        self.inter_op_num_threads = 0
        self.intra_op_num_threads = 0
        self.log_severity_level = -1
        self.log_verbosity_level = 0
        self.logid = ""
        self.optimized_model_filepath = ""
        self.profile_file_prefix = "onnxruntime_profile_"
        self.use_deterministic_compute = False
        self.use_per_session_threads = True
        self.config_entries: dict[str, str] = {}
        self.custom_libraries: list[str] = []
        self.dim_overrides: dict[str, int] = {}
        self.initializers: dict[str, object] = {}
        self.providers: list[str] = []

    def add_session_config_entry(self, key: str, value: str) -> None:
        add_entry(self.config_entries, key, value)

    def get_session_config_entry(self, key: str) -> str:
        """The value of an entry; raises RuntimeError for one that was not added."""
        return look_up(self.config_entries, key, "SessionOptions")

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """Fixes a dimension variable."""
        require_text("name", name)
        require_integer("size", size)
        self.dim_overrides[name] = int(size)

    def add_free_dimension_override_by_denotation(self, denotation: str, size: int) -> None:
        raise NotImplemented.of(
            f"dimensions with the denotation {denotation!r} are not fixed here: "
            "use add_free_dimension_override_by_name"
        )

    def add_initializer(self, name: str, value: object) -> None:
        """Replaces an initializer.  value: an OrtValue."""
        require_text("name", name)
        require_type("value", value, OrtValue, "an OrtValue")
        self.initializers[name] = value

    def add_external_initializers(self, names: Sequence[str], values: Sequence[object]) -> None:
        """Replaces initializers whose data are external."""
        texts, tensors = texts_of("names", names), items_of("values", values, OrtValue, "OrtValue")
        if len(texts) != len(tensors):
            raise InvalidArgument.of(
                f"there must be a value for each of {len(texts)} names; got {len(tensors)}"
            )
        self.initializers.update(zip(texts, tensors, strict=True))

    def add_provider(self, name: str, options: dict[str, str]) -> None:
        require_text("name", name)
        self.providers.append(name)

    def has_providers(self) -> bool:
        return bool(self.providers)

    def register_custom_ops_library(self, path: str) -> None:
        """Registers a library of operators, which is not loaded.

        A session knows what onnxruntime-extensions has defined in Python, and raises NotImplemented for a model that uses other
        operators of a library.  Raises Fail if there is no such file.
        """
        require_type("path", path, (str, os.PathLike), "a path (str or os.PathLike)")
        if not os.path.isfile(path):
            raise Fail.of(f"Failed to load library {os.fspath(path)}: there is no such file")
        self.custom_libraries.append(os.fspath(path))


class RunOptions(TypedAttributes):
    """Options of one run.

    `terminate`: setting it to True, also from another thread, ends the runs that were started with the options.
    """

    __slots__ = (
        "config_entries",
        "log_severity_level",
        "log_verbosity_level",
        "logid",
        "only_execute_path_to_fetches",
        "token",
    )

    def __init__(self) -> None:
        self.log_severity_level = -1
        self.log_verbosity_level = 0
        self.logid = ""
        self.only_execute_path_to_fetches = False
        self.config_entries: dict[str, str] = {}
        self.token = CancellationToken()

    @property
    def terminate(self) -> bool:
        return self.token.is_cancelled

    @terminate.setter
    def terminate(self, value: bool) -> None:
        self.token.is_cancelled = bool(value)

    def add_run_config_entry(self, key: str, value: str) -> None:
        add_entry(self.config_entries, key, value)

    def get_run_config_entry(self, key: str) -> str:
        """The value of an entry; raises RuntimeError for one that was not added."""
        return look_up(self.config_entries, key, "RunOptions")

    def add_active_adapter(self, adapter: object) -> None:
        raise NotImplemented.of("adapters are not loaded here: merge them into the model's weights")


def add_entry(entries: dict[str, str], key: str, value: str) -> None:
    require_text("key", key)
    require_text("value", value)
    entries[key] = value


def look_up(entries: dict[str, str], key: str, owner: str) -> str:
    require_text("key", key)
    if key not in entries:
        raise RuntimeError(f"{owner} has no configuration entry {key!r}")
    return entries[key]
