"""External data: tensors stored in files next to the model, and the rules on which files a model may name.

A model file is untrusted input, and its `external_data` entries name files on the reader's machine.  Therefore no
file is opened while a model is loaded, the components of a location are validated, and the file is opened from the
model's directory one component at a time, relative to the parent descriptor and without following links: the file
that was checked is the file that is read.  The resulting descriptor is checked (regular file, link count, size) and
mapped; no path is resolved twice.

On platforms that cannot open relative to a directory (Windows), paths are resolved and compared, and the opened
file is compared with the checked one.  On a case-insensitive file system, a location must match the case of the
file name.

Spec: IR.md, "External Tensor Data"; onnx.proto, TensorProto.external_data.
"""

from sardonyx._src.io.external.entries import Reference, components, read_entries
from sardonyx._src.io.external.files import ExternalFiles, ExternalStorage
from sardonyx._src.io.external.opening import Policy
from sardonyx._src.io.external.verification import verify_checksums, verify_meanwhile

__all__ = [
    "ExternalFiles",
    "ExternalStorage",
    "Policy",
    "Reference",
    "components",
    "read_entries",
    "verify_checksums",
    "verify_meanwhile",
]
