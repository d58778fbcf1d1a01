"""External data: tensors whose elements stand in files beside the model, and what a model may name there.

A model file is somebody else's text, and its `external_data` entries name files of the reader.  So nothing is
opened while a model is loaded, a location is checked by its components, and the file is reached from the model's
directory one component at a time, each opened without following links, from the directory opened before it: what
was checked is what is read.  The descriptor that comes out is looked at (a regular file, its links, its size) and
that same descriptor is mapped; no name is used twice.

Where the platform cannot open relative to a directory (Windows), paths are resolved and compared instead, and the
opened file is compared with the one that was looked at.  A location on a file system that ignores case must be
spelt as the file is there.

Spec: IR.md, "External Tensor Data"; onnx.proto, TensorProto.external_data.
"""

from sardonyx._src.io.external.entries import Reference, components, read_entries
from sardonyx._src.io.external.files import ExternalFiles, ExternalStorage
from sardonyx._src.io.external.opening import Policy

__all__ = ["ExternalFiles", "ExternalStorage", "Policy", "Reference", "components", "read_entries"]
