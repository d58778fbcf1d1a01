"""ONNX textual syntax, extended so that reading a text gives the very record that was printed.

Official syntax is what onnx 1.23.2 reads; a text without the extensions below is read by both.  What a text does not
say is absent: where the onnx package sets `""` (a node's domain, the name of a tensor that is an attribute), the
record has nothing.  (Lists of tensors, graphs and types as attributes are official syntax, which that package reads
as empty lists.)

Any record can be written as its fields, `{field: value, …}`, and has no other notation unless this table gives one::

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

- `@{field: value, …}` follows a record in its own notation and says the rest: documentation, metadata, denotations.
  It stands after the name of a graph, and after the type of an attribute, which its value follows.
- The header `<…>` of a model or function takes every field that has no place of its own.
- `= raw_data: {1.0, 2.0}` is data in `raw_data`: its elements where these are at most 64 and give the same bytes when
  read, else its bytes in base64.  Without `raw_data:` the braces hold the entries of the typed field as stored:
  floats of 16 bits by their bits.
- Bytes are a string, `base64 "…"` or `hex "…"`.  The escapes of a string are `\\"` and `\\\\`; in a string `b"…"` also
  `\\x9f`, a byte of its UTF-8.
- `.Op` is an operator whose domain is set to `""`, as in the onnx package; without the dot, its domain is absent.
  Likewise `18` is an opset without domain.  Every name may be quoted, words of the syntax have to be.
- `?` is a type that says nothing, `undefined` an element type of 0; enums are names of onnx.proto or numbers.
- `nan(0x7fc00001)` is a NaN by its bits.
- `unknown: [hex "9a0601"]` among the fields are fields that the message's table lacks, each with its tag.
- `...` stands for entries that `to_text` left out on request; such a text cannot be read.
"""

from sardonyx._src.proto.text.parser import from_text
from sardonyx._src.proto.text.printer import to_text

__all__ = ["from_text", "to_text"]
