"""The interface of onnxruntime, executed by Sardonyx: `import sardonyx.compat.onnxruntime as ort`.

docs/onnxruntime.md lists what is compatible and what is not.
"""

from sardonyx._src.compat.onnxruntime.enums import ExecutionMode as ExecutionMode
from sardonyx._src.compat.onnxruntime.enums import ExecutionOrder as ExecutionOrder
from sardonyx._src.compat.onnxruntime.enums import GraphOptimizationLevel as GraphOptimizationLevel
from sardonyx._src.compat.onnxruntime.enums import OrtAllocatorType as OrtAllocatorType
from sardonyx._src.compat.onnxruntime.enums import OrtMemType as OrtMemType
from sardonyx._src.compat.onnxruntime.inference_session import InferenceSession as InferenceSession
from sardonyx._src.compat.onnxruntime.inference_session import ModelMetadata as ModelMetadata
from sardonyx._src.compat.onnxruntime.io_binding import IOBinding as IOBinding
from sardonyx._src.compat.onnxruntime.library import disable_telemetry_events as disable_telemetry_events
from sardonyx._src.compat.onnxruntime.library import enable_telemetry_events as enable_telemetry_events
from sardonyx._src.compat.onnxruntime.library import get_build_info as get_build_info
from sardonyx._src.compat.onnxruntime.library import get_device as get_device
from sardonyx._src.compat.onnxruntime.library import get_version_string as get_version_string
from sardonyx._src.compat.onnxruntime.library import has_collective_ops as has_collective_ops
from sardonyx._src.compat.onnxruntime.library import preload_dlls as preload_dlls
from sardonyx._src.compat.onnxruntime.library import print_debug_info as print_debug_info
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

from . import capi as capi
from . import transformers as transformers

SessionIOBinding = IOBinding
__version__ = version = get_version_string()
package_name, cuda_version = "onnxruntime", ""  # as in onnxruntime for the processor


def __getattr__(name: str) -> object:
    raise _missing_name(__name__, name)
