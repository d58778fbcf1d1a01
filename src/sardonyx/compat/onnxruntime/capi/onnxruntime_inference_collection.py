"""Classes of sessions and values, where onnxruntime defines them."""

from sardonyx._src.compat.onnxruntime.inference_session import InferenceSession as InferenceSession
from sardonyx._src.compat.onnxruntime.io_binding import IOBinding as IOBinding
from sardonyx._src.compat.onnxruntime.ort_value import OrtDevice as OrtDevice
from sardonyx._src.compat.onnxruntime.ort_value import OrtValue as OrtValue

Session = InferenceSession
