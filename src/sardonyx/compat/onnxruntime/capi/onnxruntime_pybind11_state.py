"""Exceptions and classes that programs import from onnxruntime's native module."""

from sardonyx._src.compat.onnxruntime.enums import ExecutionMode as ExecutionMode
from sardonyx._src.compat.onnxruntime.enums import ExecutionOrder as ExecutionOrder
from sardonyx._src.compat.onnxruntime.enums import GraphOptimizationLevel as GraphOptimizationLevel
from sardonyx._src.compat.onnxruntime.enums import OrtAllocatorType as OrtAllocatorType
from sardonyx._src.compat.onnxruntime.enums import OrtMemType as OrtMemType
from sardonyx._src.compat.onnxruntime.exceptions import EngineError as EngineError
from sardonyx._src.compat.onnxruntime.exceptions import EPFail as EPFail
from sardonyx._src.compat.onnxruntime.exceptions import Fail as Fail
from sardonyx._src.compat.onnxruntime.exceptions import InvalidArgument as InvalidArgument
from sardonyx._src.compat.onnxruntime.exceptions import InvalidGraph as InvalidGraph
from sardonyx._src.compat.onnxruntime.exceptions import InvalidProtobuf as InvalidProtobuf
from sardonyx._src.compat.onnxruntime.exceptions import ModelLoadCanceled as ModelLoadCanceled
from sardonyx._src.compat.onnxruntime.exceptions import ModelLoaded as ModelLoaded
from sardonyx._src.compat.onnxruntime.exceptions import ModelRequiresCompilation as ModelRequiresCompilation
from sardonyx._src.compat.onnxruntime.exceptions import NoModel as NoModel
from sardonyx._src.compat.onnxruntime.exceptions import NoSuchFile as NoSuchFile
from sardonyx._src.compat.onnxruntime.exceptions import NotFound as NotFound
from sardonyx._src.compat.onnxruntime.exceptions import NotImplemented as NotImplemented
from sardonyx._src.compat.onnxruntime.exceptions import RuntimeException as RuntimeException
from sardonyx._src.compat.onnxruntime.inference_session import ModelMetadata as ModelMetadata
from sardonyx._src.compat.onnxruntime.library import disable_telemetry_events as disable_telemetry_events
from sardonyx._src.compat.onnxruntime.library import enable_telemetry_events as enable_telemetry_events
from sardonyx._src.compat.onnxruntime.library import get_build_info as get_build_info
from sardonyx._src.compat.onnxruntime.library import get_device as get_device
from sardonyx._src.compat.onnxruntime.library import get_version_string as get_version_string
from sardonyx._src.compat.onnxruntime.library import has_collective_ops as has_collective_ops
from sardonyx._src.compat.onnxruntime.library import (
    set_default_logger_severity as set_default_logger_severity,
)
from sardonyx._src.compat.onnxruntime.library import (
    set_default_logger_verbosity as set_default_logger_verbosity,
)
from sardonyx._src.compat.onnxruntime.library import (
    set_global_thread_pool_sizes as set_global_thread_pool_sizes,
)
from sardonyx._src.compat.onnxruntime.library import set_seed as set_seed
from sardonyx._src.compat.onnxruntime.missing import missing_name as _missing_name
from sardonyx._src.compat.onnxruntime.node_args import NodeArg as NodeArg
from sardonyx._src.compat.onnxruntime.options import RunOptions as RunOptions
from sardonyx._src.compat.onnxruntime.options import SessionOptions as SessionOptions
from sardonyx._src.compat.onnxruntime.ort_value import OrtDevice as OrtDevice
from sardonyx._src.compat.onnxruntime.ort_value import OrtValue as OrtValue
from sardonyx._src.compat.onnxruntime.providers import get_all_providers as get_all_providers
from sardonyx._src.compat.onnxruntime.providers import get_available_providers as get_available_providers


def __getattr__(name: str) -> object:
    raise _missing_name(__name__, name)
