"""Cases for fixes: the code, a document with the violation, and the same document fixed.

Both are written like the examples of rules (`check/examples.py`).
"""

from __future__ import annotations

NODES = '<opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F (x) }'
LOOP = "(int64 n, bool c, float[2] x) => (float[2] y) { y = Loop <body = b (int64 i, bool k, float[2] v) => (bool k2, float[2] w)"
STEP = "{ k2 = Identity(k) w = Abs(v) }> (n, c, x) }"
IR = '{{ir_version: {ir}, domain: "com.example", producer_name: "p", producer_version: "1", {rest}}}'
SPARSE = "g () => (float[3] y) {{ y = Constant <sparse_value: sparse_tensor = {{dims: [3], values: {values}, indices: {indices}}}> () }}"
W = "<float[2] w = {1, 2}>"
TRAINED = "<training_info: [{{algorithm: a () => (float[2] n) {{ n = Neg(w) }}, update_binding: [{0}]}}]> g (float[2] x) => (float[2] y) <float[2] w = {{1, 2}}> {{ y = Add(x, w) }}"
DEVICES = '<ir_version: 11, configuration: [{name: "c", num_devices: 2}]> g (float[2] x) => (float[2] y) { y = Abs(x) @{device_configurations: [%s]} }'
DOCUMENT = '{magic: "ONNXOPSET", ir_version: 10, domain: "com.example", opset_version: 1'
IF = "g (float[2] x, bool c) => (float[2] y) {{ {before} y = If <then_branch = t () => (float[2] {out}) {{ {then} }}, else_branch = e () => (float[2] b) {{ b = Neg(x) }}> (c) }}"
UNTYPED = """json {"irVersion": "10", "domain": "com.example", "producerName": "p", "producerVersion": "1",
    "opsetImport": [{"version": "21"}], "graph": {"name": "g",
    "node": [{"opType": "Abs", "input": ["x"], "output": ["a"]}, {"opType": "Neg", "input": ["a"], "output": ["y"]}],
    "input": [{"name": "x", "type": {"tensorType": {"elemType": 1, "shape": {}}}}],
    "output": [{"name": "y", "type": {"tensorType": {"elemType": 1, "shape": {}}}}],
    "valueInfo": [{"name": "a"%s}]}}"""


def raise_version_case(old: int, new: int, rest: str) -> tuple[str, str]:
    """A model that needs a later version, before and after."""
    return f"<ir_version: {old}, {rest}", f"<ir_version: {new}, {rest}"


CASES: list[tuple[str, str, str]] = [
    # --- values ----------------------------------------------------------------------------------
    (
        "SX110",
        """g (float[2] x) => (float[2] y) {
          a = Constant <value_float = 1.0> ()  b = Constant <value_float = 5.0> ()  t = Add(x, a)
          a = Constant <value_float = 2.0> ()  a = Constant <value_float = 3.0> ()
          u = Add(t, a)  b = Constant <value_float = 6.0> ()  y = Mul(u, b) }""",
        """g (float[2] x) => (float[2] y) {
          a = Constant <value_float = 3.0> ()  b = Constant <value_float = 6.0> ()  t = Add(x, a)
          u = Add(t, a)  y = Mul(u, b) }""",
    ),
    # --- the model -------------------------------------------------------------------------------
    (
        "SX010",
        IR.format(
            ir=0,
            rest='opset_import: ["": 15], graph: g (int4[2] x) => (float[2] y) { y = Cast <to = 1> (x) }',
        ),
        IR.format(
            ir=10,
            rest='opset_import: ["": 15], graph: g (int4[2] x) => (float[2] y) { y = Cast <to = 1> (x) }',
        ),
    ),
    (
        "SX020",
        '<metadata_props: ["a.b": "1", "a.c": "2", "a.b": "1"]> g (float[2] x) => (float[2] y) { y = Abs(x) }',
        '<metadata_props: ["a.b": "1", "a.c": "2"]> g (float[2] x) => (float[2] y) { y = Abs(x) }',
    ),
    (
        "SX030",
        IR.format(ir=10, rest="graph: g (bool[2] x) => (bool[2] y) { y = Not(x) }"),
        IR.format(ir=10, rest='graph: g (bool[2] x) => (bool[2] y) { y = Not(x) }, opset_import: ["": 1]'),
    ),
    (
        "SX031",
        '<ir_version: 8, opset_import: ["ai.onnx.ml": 3]> g (float[2] x) => (float[2] y) { y = ai.onnx.ml.Binarizer(x) }',
        '<ir_version: 8, opset_import: ["ai.onnx.ml": 3, "": 18]> g (float[2] x) => (float[2] y) { y = ai.onnx.ml.Binarizer(x) }',
    ),
    (
        "SX032",
        '<opset_import: ["": 21]> g (float[2] x) => (float[2] y) { y = com.example.F (x) } <domain: "com.example", opset_import: ["": 21]> F (v) => (w) { w = Abs(v) }',
        '<opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F (x) } <domain: "com.example", opset_import: ["": 21]> F (v) => (w) { w = Abs(v) }',
    ),
    (
        "SX033",
        '<opset_import: ["": 15, {domain: "ai.onnx.ml"}]> g (float[2] x) => (float[2] y) { y = ai.onnx.ml.Binarizer(x) }',
        '<opset_import: ["": 15, {domain: "ai.onnx.ml", version: 1}]> g (float[2] x) => (float[2] y) { y = ai.onnx.ml.Binarizer(x) }',
    ),
    (
        "SX035",
        '<opset_import: ["": 20, "": 21, "": 19]> g (float[2] x) => (float[2] y) { y = Abs(x) }',
        '<opset_import: ["": 21]> g (float[2] x) => (float[2] y) { y = Abs(x) }',
    ),
    (
        "SX036",
        '<opset_import: ["ai.onnx": 20, "": 21]> g (float[2] x) => (float[2] y) { y = Abs(x) }',
        '<opset_import: ["ai.onnx": 21]> g (float[2] x) => (float[2] y) { y = Abs(x) }',
    ),
    (
        "SX904",
        '<opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = Abs(x) }',
        '<opset_import: ["": 21]> g (float[2] x) => (float[2] y) { y = Abs(x) }',
    ),
    # --- features that an IR version lacks ------------------------------------------------------
    (
        "SX038",
        IR.format(
            ir=2, rest='opset_import: ["": 1], graph: g (float[2] x) => (float[2] y) { y = Identity(x) }'
        ),
        IR.format(
            ir=3, rest='opset_import: ["": 1], graph: g (float[2] x) => (float[2] y) { y = Identity(x) }'
        ),
    ),
    (
        "SX050",
        *raise_version_case(
            9, 10, 'opset_import: ["": 21]> g (int4[2] x) => (float[2] y) { y = Cast <to = 1> (x) }'
        ),
    ),
    (
        "SX051",
        *raise_version_case(
            5, 6, 'opset_import: ["": 11]> g (seq(float[2]) x) => (int64 y) { y = SequenceLength(x) }'
        ),
    ),
    (
        "SX052",
        *raise_version_case(
            5, 6, 'opset_import: ["": 11]> ' + SPARSE.format(values="float[0] {}", indices="int64[0] {}")
        ),
    ),
    (
        "SX053",
        *raise_version_case(
            7, 8, 'opset_import: ["": 15]> g (float[2] x) => (optional(float[2]) y) { y = Optional(x) }'
        ),
    ),
    (
        "SX054",
        *raise_version_case(
            6, 7, 'opset_import: ["": 12], training_info: [{}]> g (float[2] x) => (float[2] y) { y = Abs(x) }'
        ),
    ),
    (
        "SX055",
        *raise_version_case(
            7,
            8,
            'opset_import: ["": 15, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F(x) }'
            ' <domain: "com.example", opset_import: ["": 15]> F (v) => (w) { w = Abs(v) }',
        ),
    ),
    (
        "SX056",
        *raise_version_case(
            8,
            9,
            'opset_import: ["": 18, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F(x) }'
            ' <domain: "com.example", opset_import: ["": 18]> F <a: int = 0> (v) => (w) { w = Softmax <axis: int = @a> (v) }',
        ),
    ),
    (
        "SX057",
        *raise_version_case(
            9,
            10,
            'opset_import: ["": 18, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F:two(x) }'
            ' <domain: "com.example", overload: "two", opset_import: ["": 18]> F (v) => (w) { w = Abs(v) }',
        ),
    ),
    (
        "SX058",
        *raise_version_case(
            9,
            10,
            'opset_import: ["": 18, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F(x) }'
            ' <domain: "com.example", opset_import: ["": 18]> F (float[2] v) => (w) { w = Abs(v) }',
        ),
    ),
    (
        "SX059",
        *raise_version_case(
            9,
            10,
            'opset_import: ["": 18]> g (float[2] x) => (float[2] y) { y = Abs(x) @{metadata_props: ["a.b": "1"]} }',
        ),
    ),
    (
        "SX060",
        *raise_version_case(
            4,
            5,
            'opset_import: ["": 9]> g @{quantization_annotation: [{tensor_name: "x"}]} (float[2] x) => (float[2] y) { y = Abs(x) }',
        ),
    ),
    (
        "SX061",
        *raise_version_case(
            10,
            11,
            'opset_import: ["": 18], configuration: [{name: "c", num_devices: 1}]> g (float[2] x) => (float[2] y) { y = Abs(x) }',
        ),
    ),
    (
        "SX062",
        *raise_version_case(
            9,
            10,
            'opset_import: ["": 21]> g (float[2] x) => (float[2] y) { a = Cast <to = 22> (x) y = Cast <to = 1> (a) }',
        ),
    ),
    (
        "SX122",
        '<ir_version: 3, opset_import: ["": 7]> g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }',
        '<ir_version: 4, opset_import: ["": 7]> g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }',
    ),
    (
        "SX241",
        IR.format(
            ir=1,
            rest='graph: g (float[2, 2] x) => (float[2, 2] y) { y = Softmax <{name: "axis", i: 1, type: INT}> (x) }',
        ),
        IR.format(
            ir=2,
            rest='graph: g (float[2, 2] x) => (float[2, 2] y) { y = Softmax <{name: "axis", i: 1, type: INT}> (x) }',
        ),
    ),
    # --- graphs ----------------------------------------------------------------------------------
    (
        "SX100",
        "(float[2] x) => (float[2] y) { y = Abs(x) }",
        "graph (float[2] x) => (float[2] y) { y = Abs(x) }",
    ),
    (
        "SX103",
        "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}, float[2] w = {1, 2}> { y = Add(x, w) }",
        "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }",
    ),
    (
        "SX106",
        "g (float[n, 2] x) => (y) { a = Concat <axis = 0> (x, x) y = Cast <to = 7> (a) }",
        'g (float[n, 2] x) => (int64["2*n", 2] y) { a = Concat <axis = 0> (x, x) y = Cast <to = 7> (a) }',
    ),
    (
        "SX107",
        "g (float[n, 2] x) => (float[] y, int64[] z) { y = Abs(x) z = NonZero(x) }",
        "g (float[n, 2] x) => (float[n, 2] y, int64[2, ?] z) { y = Abs(x) z = NonZero(x) }",
    ),
    (
        "SX108",
        "g (float[2] x) => (float[2] y) <float[2] a, float[2] a> { a = Abs(x) y = Neg(a) }",
        "g (float[2] x) => (float[2] y) <float[2] a> { a = Abs(x) y = Neg(a) }",
    ),
    (
        "SX109",
        "g (float[2] x) => (float[2] y) <float[3] q, float[2] a, int64 r> { a = Abs(x) y = Neg(a) }",
        "g (float[2] x) => (float[2] y) <float[2] a> { a = Abs(x) y = Neg(a) }",
    ),
    (
        "SX111",
        "g (float[2] x) => (float[2] y) { y = Add(a, b) b = Neg(x) a = Abs(b) z = Abs(x) }",
        "g (float[2] x) => (float[2] y) { b = Neg(x) a = Abs(b) y = Add(a, b) z = Abs(x) }",
    ),
    (
        "SX115",
        IF.format(before="", out="x", then=""),
        IF.format(before="", out="x_1", then="x_1 = Identity(x)"),
    ),
    (
        "SX117",
        "g (float[2] x) => (float[2] y) <float[2] x> { y = Abs(x) }",
        "g (float[2] x) => (float[2] y) { y = Abs(x) }",
    ),
    (
        "SX119",
        "g (float[2] x) => (float[2] y) { [n] a = Abs(x) [n] b = Neg(a) [n] y = Abs(b) }",
        "g (float[2] x) => (float[2] y) { [n] a = Abs(x) [n_2] b = Neg(a) [n_1] y = Abs(b) }",
    ),
    (
        "SX120",
        IF.format(before="k = Abs(x)", out="o", then="a = Neg(k) k = Abs(a) o = Neg(k)"),
        IF.format(before="k = Abs(x)", out="o", then="a = Neg(k) k_1 = Abs(a) o = Neg(k_1)"),
    ),
    (
        "SX121",
        "g (int64 n, bool c, float[2] x) => (float[2] y) { y = Loop <body = b (int64 i, bool k, float[2] x) => (bool k2, float[2] w) { k2 = Identity(k) w = Abs(x) }> (n, c, x) }",
        "g (int64 n, bool c, float[2] x) => (float[2] y) { y = Loop <body = b (int64 i, bool k, float[2] x_1) => (bool k2, float[2] w) { k2 = Identity(k) w = Abs(x_1) }> (n, c, x) }",
    ),
    (
        "SX124",
        IF.format(before="", out="o", then="o = Abs(x)").replace("e ()", "t ()"),
        IF.format(before="", out="o", then="o = Abs(x)").replace("e ()", "t_1 ()"),
    ),
    (
        "SX126",
        f'<ir_version: 3, opset_import: ["": 7]> g {LOOP} <float[2] v = {{1, 2}}> {STEP}',
        f'<ir_version: 3, opset_import: ["": 7]> g {LOOP} {STEP}',
    ),
    ("SX125", f"g {LOOP} <float[2] v = {{1, 2}}> {STEP}", f"g {LOOP} {STEP}"),
    (
        "SX130",
        'g (float[2] x) => (float[2] y) { ["/l.0/Abs"] "/l.0/a" = Abs(x) y = Neg("/l.0/a") }',
        "g (float[2] x) => (float[2] y) { [_l_0_Abs] _l_0_a = Abs(x) y = Neg(_l_0_a) }",
    ),
    (
        "SX132",
        'g (float["", n] x) => (float[2, n] y) { y = Abs(x) }',
        "g (float[?, n] x) => (float[2, n] y) { y = Abs(x) }",
    ),
    (
        "SX134",
        "g (float[-1, 2] x) => (float[-1, 2] y) { y = Abs(x) }",
        "g (float[?, 2] x) => (float[?, 2] y) { y = Abs(x) }",
    ),
    (
        "SX137",
        "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}, float[3] w> { y = Add(x, w) }",
        "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }",
    ),
    ("SX365", UNTYPED % ', "type": {}', UNTYPED % ""),
    (
        "SX701",
        "g (float[2, 3] x) => (float[3, 2] y) <float[2, 3] t> { t = Transpose <perm = [1, 0]> (x) y = Abs(t) }",
        "g (float[2, 3] x) => (float[3, 2] y) { t = Transpose <perm = [1, 0]> (x) y = Abs(t) }",
    ),
    # --- nodes and attributes --------------------------------------------------------------------
    (
        "SX203",
        'g (float[2] x) => (float[2] y) { y = Abs(x, "", "") }',
        "g (float[2] x) => (float[2] y) { y = Abs(x) }",
    ),
    (
        "SX205",
        "g (float[2] x) => (float[2] y) { y, z = Abs(x) }",
        "g (float[2] x) => (float[2] y) { y = Abs(x) }",
    ),
    (
        "SX206",
        'g (float[3, 2] x, int64[1] k) => (int64[1, 2] i) { "", i = TopK <axis = 0> (x, k) }',
        "g (float[3, 2] x, int64[1] k) => (int64[1, 2] i) { TopK_Values, i = TopK <axis = 0> (x, k) }",
    ),
    (
        "SX208",
        "g (float[1, 2, 3] x, float[2] v) => (float[1, 2, 3] y) { y, m = BatchNormalization (x, v, v, v, v) }",
        "g (float[1, 2, 3] x, float[2] v) => (float[1, 2, 3] y) { y = BatchNormalization (x, v, v, v, v) }",
    ),
    (
        "SX213",
        "g (float[2] x) => (float[2] y) { axis = Abs(x) y = Softmax <axis = 0> (axis) }",
        "g (float[2] x) => (float[2] y) { axis_1 = Abs(x) y = Softmax <axis = 0> (axis_1) }",
    ),
    (
        "SX231",
        'g (float[2] x) => (float[2] y) { y = Softmax <{name: "axis", i: 0}> (x) }',
        'g (float[2] x) => (float[2] y) { y = Softmax <{name: "axis", i: 0, type: INT}> (x) }',
    ),
    (
        "SX232",
        'g (float[2] x) => (float[2] y) { y = Softmax <{name: "axis", i: 0, type: FLOAT}> (x) }',
        'g (float[2] x) => (float[2] y) { y = Softmax <{name: "axis", i: 0, type: INT}> (x) }',
    ),
    (
        "SX233",
        'g (float[2] x) => (float[2] y) { y = Softmax <{name: "axis", i: 0, f: 1.0, type: INT}> (x) }',
        'g (float[2] x) => (float[2] y) { y = Softmax <{name: "axis", i: 0, type: INT}> (x) }',
    ),
    (
        "SX235",
        "g (float[2] x) => (float[2] y) { y = Softmax <axis = 0, axis = 0> (x) }",
        "g (float[2] x) => (float[2] y) { y = Softmax <axis = 0> (x) }",
    ),
    # --- tensors ---------------------------------------------------------------------------------
    (
        "SX300",
        "tensor {dims: [2], float_data: [1.0, 2.0]}",
        "tensor {dims: [2], data_type: 1, float_data: [1.0, 2.0]}",
    ),
    (
        "SX305",
        'tensor {dims: [1], data_type: 7, int64_data: [258], raw_data: hex "0201000000000000"}',
        'tensor {dims: [1], data_type: 7, raw_data: hex "0201000000000000"}',
    ),
    (
        "SX306",
        "tensor {dims: [2], data_type: 7, int32_data: [1, -2]}",
        'tensor {dims: [2], data_type: 7, raw_data: hex "0100000000000000feffffffffffffff"}',
    ),
    (
        "SX308",
        "tensor {dims: [2], data_type: 10, int32_data: [-17408, 15360]}",
        "tensor {dims: [2], data_type: 10, int32_data: [48128, 15360]}",
    ),
    (
        "SX309",
        'tensor {dims: [3], data_type: 9, raw_data: hex "010200"}',
        'tensor {dims: [3], data_type: 9, raw_data: hex "010100"}',
    ),
    (
        "SX321",
        SPARSE.format(values="float[1, 1] {5}", indices="int64[1] {0}"),
        SPARSE.format(values="float[1] {5}", indices="int64[1] {0}"),
    ),
    (
        "SX326",
        SPARSE.format(values="float[2] {5, 6}", indices="int64[2] {2, 0}"),
        SPARSE.format(
            values='{dims: [2], data_type: 1, raw_data: hex "0000c0400000a040"}',
            indices='{dims: [2], data_type: 7, raw_data: hex "00000000000000000200000000000000"}',
        ),
    ),
    (
        "SX329",
        SPARSE.format(values="float[2] {0, 6}", indices="int64[2] {1, 2}"),
        SPARSE.format(
            values='{dims: [1], data_type: 1, raw_data: hex "0000c040"}',
            indices='{dims: [1], data_type: 7, raw_data: hex "0200000000000000"}',
        ),
    ),
    (
        "SX330",
        SPARSE.format(values="float[1] {5}", indices="int32[1] {1}"),
        SPARSE.format(
            values="float[1] {5}", indices='{dims: [1], data_type: 7, raw_data: hex "0100000000000000"}'
        ),
    ),
    (
        "SX347",
        'file w.bin 8\ng () => (float[2] y) <float[2] y = ["location": "w.bin", "codec": "zip"]> {}',
        'file w.bin 8\ng () => (float[2] y) <float[2] y = ["location": "w.bin"]> {}',
    ),
    (
        "SX349",
        'file w.bin 16\ng () => (float[2] y) <float[2] y = ["location": "w.bin", "length": "8", "length": "8"]> {}',
        'file w.bin 16\ng () => (float[2] y) <float[2] y = ["location": "w.bin", "length": "8"]> {}',
    ),
    (
        "SX353",
        'file w.bin 8\ntensor {dims: [2], data_type: 1, external_data: ["location": "w.bin"]}',
        'file w.bin 8\ntensor {dims: [2], data_type: 1, external_data: ["location": "w.bin"], data_location: EXTERNAL}',
    ),
    (
        "SX355",
        "tensor {dims: [1], data_type: 1, data_location: 7, float_data: [1.0]}",
        "tensor {dims: [1], data_type: 1, float_data: [1.0]}",
    ),
    # --- functions, training, devices ------------------------------------------------------------
    (
        "SX400",
        f'{NODES} <domain: "com.example", opset_import: ["": 21]> F (v) => (w) {{ w = Abs(v) }} <domain: "com.example", opset_import: ["": 21]> F (v) => (w) {{ w = Abs(v) }}',
        f'{NODES} <domain: "com.example", opset_import: ["": 21]> F (v) => (w) {{ w = Abs(v) }}',
    ),
    (
        "SX403",
        f'{NODES.replace(".F (x)", ".F <a = 0> (x)")} <domain: "com.example", opset_import: ["": 21]> F <a, a> (v) => (w) {{ w = Softmax <axis: int = @a> (v) }}',
        f'{NODES.replace(".F (x)", ".F <a = 0> (x)")} <domain: "com.example", opset_import: ["": 21]> F <a> (v) => (w) {{ w = Softmax <axis: int = @a> (v) }}',
    ),
    ("SX502", TRAINED.format('"w": "n", "w": "n"'), TRAINED.format('"w": "n"')),
    (
        "SX510",
        'g @{quantization_annotation: [{tensor_name: "z"}, {tensor_name: "x"}]} (float[2] x) => (float[2] y) { y = Abs(x) }',
        'g @{quantization_annotation: [{tensor_name: "x"}]} (float[2] x) => (float[2] y) { y = Abs(x) }',
    ),
    (
        "SX513",
        'g @{quantization_annotation: [{tensor_name: "x", quant_parameter_tensor_names: ["SCALE_TENSOR": "s", "SCALE_TENSOR": "s"]}]} (float[2] x) => (float[2] y) <float s = {0.5}> { y = Mul(x, s) }',
        'g @{quantization_annotation: [{tensor_name: "x", quant_parameter_tensor_names: ["SCALE_TENSOR": "s"]}]} (float[2] x) => (float[2] y) <float s = {0.5}> { y = Mul(x, s) }',
    ),
    ("SX523", DEVICES % "{}", DEVICES % '{configuration_id: "c"}'),
    (
        "SX530",
        DEVICES.replace('"c", num_devices: 2}', '"c", num_devices: 2}, {name: "c", num_devices: 2}')
        % '{configuration_id: "c"}',
        DEVICES % '{configuration_id: "c"}',
    ),
    (
        "SX531",
        DEVICES
        % '{configuration_id: "c", sharding_spec: [{tensor_name: "x", device: [-1], index_to_device_group_map: [{key: -1, value: [0]}, {key: -1, value: [0]}]}]}',
        DEVICES
        % '{configuration_id: "c", sharding_spec: [{tensor_name: "x", device: [-1], index_to_device_group_map: [{key: -1, value: [0]}]}]}',
    ),
    # --- operator-set documents and stored data --------------------------------------------------
    ("SX600", f"operator-set {DOCUMENT.replace('ONNXOPSET', 'ONNX')}}}", f"operator-set {DOCUMENT}}}"),
    (
        "SX601",
        f"operator-set {DOCUMENT.replace('ir_version: 10, ', '')}}}",
        f"operator-set {DOCUMENT.replace('ir_version: 10', 'ir_version: 4')}}}",
    ),
    (
        "SX606",
        f'operator-set {DOCUMENT}, operator: [{{op_type: "F", since_version: 1}}, {{op_type: "F", since_version: 1}}]}}',
        f'operator-set {DOCUMENT}, operator: [{{op_type: "F", since_version: 1}}]}}',
    ),
    (
        "SX620",
        "sequence {tensor_values: [float[1] {1}]}",
        "sequence {elem_type: 1, tensor_values: [float[1] {1}]}",
    ),
    (
        "SX621",
        "sequence {elem_type: 4, tensor_values: [float[1] {1}]}",
        "sequence {elem_type: 1, tensor_values: [float[1] {1}]}",
    ),
    (
        "SX623",
        'map {string_keys: ["a"], values: {elem_type: 1, tensor_values: [float[1] {1}]}}',
        'map {key_type: 8, string_keys: ["a"], values: {elem_type: 1, tensor_values: [float[1] {1}]}}',
    ),
    (
        "SX624",
        'map {key_type: 7, string_keys: ["a"], values: {elem_type: 1, tensor_values: [float[1] {1}]}}',
        'map {key_type: 8, string_keys: ["a"], values: {elem_type: 1, tensor_values: [float[1] {1}]}}',
    ),
    (
        "SX627",
        "optional {elem_type: 3, tensor_value: float[1] {1}}",
        "optional {elem_type: 1, tensor_value: float[1] {1}}",
    ),
    (
        "SX628",
        "optional {elem_type: 99, tensor_value: float[1] {1}}",
        "optional {elem_type: 1, tensor_value: float[1] {1}}",
    ),
]
