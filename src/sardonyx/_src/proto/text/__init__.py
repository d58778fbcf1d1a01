"""ONNX textual syntax, with extensions that make printing lossless: parsing a printed text restores the record.

Official syntax is what onnx 1.23.2 parses; both parsers accept a text without the extensions below.  A field that
the text does not mention is absent, where the onnx package sets `""` (the domain of a node, the name of a tensor
attribute).  Attributes that are lists of tensors, graphs or types are official syntax, but that package parses
them as empty lists.

Any record can be written as its fields, `{field: value, …}`.  These messages also have a notation of their own::

    model           <ir_version: 10, opset_import: ["": 18], …> graph functions
    graph           name (float[N] x) => (float[N] y) <float[2] w = {1.0, 2.0}, float[N] v> { nodes }
    function        <domain: "d", opset_import: ["": 18], …> name <a, b: int = 1> (x) => (y) <float[N] v> { nodes }
    node            [name] y, z = domain.Op:overload<axis = 1, perm = [1, 0]>(x, "other name")
    attribute       name: type = value      name: type = @reference      name: type
    value info      float[N] x
    tensor          float[2] w = {1.0, 2.0}      float[2] w = ["location": "w.bin", "offset": "0"]
    type            float[N, 3]   float[]   float   seq(float)   map(int64, float)   optional(…)   sparse_tensor(…)
                    opaque(domain, name)
    dimension       3   N   ?
    pair, opset     "key": "value"      "domain": 18

The extensions:

- `@{field: value, …}` after a record in its own notation sets its other fields: documentation, metadata,
  denotations.  In a graph it follows the name; in an attribute it follows the type and precedes the value.
- The header `<…>` of a model or function accepts every field without a notation of its own.
- `= raw_data: {1.0, 2.0}` is data in `raw_data`: printed as elements if there are at most 64 and they parse back to
  the same bytes, else as base64.  Without `raw_data:` the braces contain the entries of the typed field as stored;
  16-bit floats as their bit patterns.
- Bytes are a string, `base64 "…"` or `hex "…"`.  The escapes of a string are `\\"` and `\\\\`; a string `b"…"` also has
  `\\x9f`, a byte of its UTF-8.
- `.Op` is an operator with a domain that is set to `""`, as in the onnx package; without the dot, the domain is absent.
  Likewise `18` is an opset without domain.  Any name may be quoted; reserved words must be.
- `?` is an empty type, `undefined` the element type 0; enums are names from onnx.proto or numbers.
- `nan(0x7fc00001)` is a NaN with that bit pattern.
- `unknown: [hex "9a0601"]` among the fields lists fields that the message does not declare, each with its tag.
- `...` replaces entries that `to_text` omitted on request; such a text cannot be parsed.
"""

from sardonyx._src.proto.text.parser import from_text
from sardonyx._src.proto.text.printer import to_text

__all__ = ["from_text", "to_text"]
