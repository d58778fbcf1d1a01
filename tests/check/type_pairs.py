"""Models with type errors, each with its corrected twin; models that an operator rejects; and valid models."""

from __future__ import annotations

# Code of the rule -> pairs of a bad model and its corrected twin.
PAIRS: dict[str, list[tuple[str, str]]] = {
    "SX062": [
        (
            '<ir_version: 8, opset_import: ["": 19]> g (float[2] x) => (float[2] y) { z = Cast <to = 17> (x) y = Cast <to = 1> (z) }',
            '<ir_version: 9, opset_import: ["": 19]> g (float[2] x) => (float[2] y) { z = Cast <to = 17> (x) y = Cast <to = 1> (z) }',
        ),
    ],
    "SX137": [
        (
            "g (float[2] x) => (float[2] y, int64[3] w) <int64[2] w = {1, 2}> { y = Abs(x) }",
            "g (float[2] x) => (float[2] y, int64[2] w) <int64[2] w = {1, 2}> { y = Abs(x) }",
        ),
    ],
    "SX208": [
        (
            '<ir_version: 10, opset_import: ["": 6]> g (float[2] x) => (float[2] y, float[2] m) { y, m = Dropout <is_test=1> (x) }',
            '<ir_version: 10, opset_import: ["": 6]> g (float[2] x) => (float[2] y, float[2] m) { y, m = Dropout <is_test=0> (x) }',
        ),
    ],
    "SX218": [
        (
            "g (float[2] x) => (float[2] y) { y = Cast <to = 0> (x) }",
            "g (float[2] x) => (float[2] y) { y = Cast <to = 1> (x) }",
        ),
        (
            "g () => (float[2] y) { y = RandomNormal <dtype = 7, shape = [2]> () }",
            "g () => (float[2] y) { y = RandomNormal <dtype = 1, shape = [2], seed = 1.0> () }",
        ),
        (
            "g () => (seq(float[2]) y) { y = SequenceEmpty <dtype = 77> () }",
            "g () => (seq(float[2]) y) { y = SequenceEmpty <dtype = 1> () }",
        ),
        (
            "g (float[2,2] x) => (string[2,2] y) { y = EyeLike <dtype = 8> (x) }",
            "g (float[2,2] x) => (int64[2,2] y) { y = EyeLike <dtype = 7> (x) }",
        ),
        (
            '<ir_version: 10, opset_import: ["": 5]> g (float[2] x) => (int64[2] y) { y = Cast <to = "INT65"> (x) }',
            '<ir_version: 10, opset_import: ["": 5]> g (float[2] x) => (int64[2] y) { y = Cast <to = "INT64"> (x) }',
        ),
        (
            '<ir_version: 10, opset_import: ["": 13]> g (float[2] x) => (float8e4m3fn[2] y) { y = Cast <to = 17> (x) }',
            '<ir_version: 10, opset_import: ["": 19]> g (float[2] x) => (float8e4m3fn[2] y) { y = Cast <to = 17> (x) }',
        ),
        (
            "g (int64 n) => (float[M] y) { y = HannWindow <output_datatype = 8> (n) }",
            "g (int64 n) => (float[M] y) { y = HannWindow <output_datatype = 1> (n) }",
        ),
        (
            "g (float[2,3] x, float[3] s) => (float[2,3] y) { y = LayerNormalization <stash_type = 7> (x, s) }",
            "g (float[2,3] x, float[3] s) => (float[2,3] y) { y = LayerNormalization <stash_type = 1> (x, s) }",
        ),
        (
            "g (float[2,3] x, float s) => (uint8[2,3] y) { y = QuantizeLinear <output_dtype = 1> (x, s) }",
            "g (float[2,3] x, float s) => (uint8[2,3] y) { y = QuantizeLinear <output_dtype = 2> (x, s) }",
        ),
    ],
    "SX219": [
        (
            "g (float[2,3,4] x) => (float[M,N,K] y) { y = Transpose <perm = [0, 1, 3]> (x) }",
            "g (float[2,3,4] x) => (float[M,N,K] y) { y = Transpose <perm = [0, 2, 1]> (x) }",
        ),
        (
            "g (float[2,3] x) => (float[M,N] y) { y = Transpose <perm = [-1, 0]> (x) }",
            "g (float[2,3] x) => (float[M,N] y) { y = Transpose <perm = [1, 0]> (x) }",
        ),
        (
            "g (float[2,3,4] x) => (float[M,N,K] y) { y = Transpose <perm = [0, 1, 1]> (x) }",
            "g (float[2,3,4] x) => (float[M,N,K] y) { y = Transpose (x) }",
        ),
    ],
    "SX220": [
        (
            "g () => (float y) { y = Constant () }",
            "g () => (float y) { y = Constant <value = float {1}> () }",
        ),
        (
            "g () => (float[2] y) { y = Constant <value_floats = [1.0, 2.0], value = float[2] {1, 2}> () }",
            "g () => (float[2] y) { y = Constant <value_floats = [1.0, 2.0]> () }",
        ),
        (
            "g (float[2] x, bool c) => (float y) { y = If <then_branch = t () => (float p) { p = Constant <value_float=1.0, value_int=2> () }, else_branch = e () => (float q) { q = Constant <value_float=1.0> () }> (c) }",
            "g (float[2] x, bool c) => (float y) { y = If <then_branch = t () => (float p) { p = Constant <value_float=1.0> () }, else_branch = e () => (float q) { q = Constant <value_float=1.0> () }> (c) }",
        ),
    ],
    "SX221": [
        (
            'g (float[2,2] x) => (float[M,N] y) { p = Constant <value_ints=[0,0,1,1]> () y = Pad <mode="mirror"> (x, p) }',
            'g (float[2,2] x) => (float[M,N] y) { p = Constant <value_ints=[0,0,1,1]> () y = Pad <mode="edge"> (x, p) }',
        ),
        (
            '<ir_version: 10, opset_import: ["": 18]> g (float[2,2] x) => (float[M,N] y) { p = Constant <value_ints=[0,0,1,1]> () y = Pad <mode="wrap"> (x, p) }',
            '<ir_version: 10, opset_import: ["": 19]> g (float[2,2] x) => (float[M,N] y) { p = Constant <value_ints=[0,0,1,1]> () y = Pad <mode="wrap"> (x, p) }',
        ),
        (
            'g (uint8[2] x, uint8[2] z) => (uint8[2] y) { y = BitShift <direction="left"> (x, z) }',
            'g (uint8[2] x, uint8[2] z) => (uint8[2] y) { y = BitShift <direction="LEFT"> (x, z) }',
        ),
        (
            'g (float[1,1,2,2] x) => (float[1,1,M,N] y) { s = Constant <value_floats=[1.0,1.0,2.0,2.0]> () y = Resize <coordinate_transformation_mode="center"> (x, , s) }',
            'g (float[1,1,2,2] x) => (float[1,1,M,N] y) { s = Constant <value_floats=[1.0,1.0,2.0,2.0]> () y = Resize <coordinate_transformation_mode="asymmetric"> (x, , s) }',
        ),
        (
            'g (float[3,1,2] x, float[1,8,2] w, float[1,8,2] r) => (float[3,1,1,2] y) { y = LSTM <hidden_size=2, direction="backward"> (x, w, r) }',
            'g (float[3,1,2] x, float[1,8,2] w, float[1,8,2] r) => (float[3,1,1,2] y) { y = LSTM <hidden_size=2, direction="reverse"> (x, w, r) }',
        ),
        (
            'g (float[3,1,2] x, float[1,2,2] w, float[1,2,2] r) => (float[3,1,1,2] y) { y = RNN <hidden_size=2, activations=["Tan"]> (x, w, r) }',
            'g (float[3,1,2] x, float[1,2,2] w, float[1,2,2] r) => (float[3,1,1,2] y) { y = RNN <hidden_size=2, activations=["Tanh"]> (x, w, r) }',
        ),
        (
            'g (float[2] x) => (float[2] y) { y = Gelu <approximate="erf"> (x) }',
            'g (float[2] x) => (float[2] y) { y = Gelu <approximate="tanh"> (x) }',
        ),
        (
            'g (float[2,3] x, int64[2] t) => (float y) { y = SoftmaxCrossEntropyLoss <reduction="avg"> (x, t) }',
            'g (float[2,3] x, int64[2] t) => (float y) { y = SoftmaxCrossEntropyLoss <reduction="mean"> (x, t) }',
        ),
        (
            '<opset_import: ["": 21, "ai.onnx.ml": 3]> g (float[2,3] x) => (float[2,1] y) { y = ai.onnx.ml.LinearRegressor <coefficients=[1.0,2.0,3.0], post_transform="RELU"> (x) }',
            '<opset_import: ["": 21, "ai.onnx.ml": 3]> g (float[2,3] x) => (float[2,1] y) { y = ai.onnx.ml.LinearRegressor <coefficients=[1.0,2.0,3.0], post_transform="NONE"> (x) }',
        ),
        (
            '<opset_import: ["": 21, "ai.onnx.ml": 3]> g (float[2,3] x) => (float[2,3] y) { y = ai.onnx.ml.Normalizer <norm="L3"> (x) }',
            '<opset_import: ["": 21, "ai.onnx.ml": 3]> g (float[2,3] x) => (float[2,3] y) { y = ai.onnx.ml.Normalizer <norm="L2"> (x) }',
        ),
        (
            'g (float[1,4,2,2] x) => (float[1,1,4,4] y) { y = DepthToSpace <blocksize=2, mode="XYZ"> (x) }',
            'g (float[1,4,2,2] x) => (float[1,1,4,4] y) { y = DepthToSpace <blocksize=2, mode="CRD"> (x) }',
        ),
        (
            'g (float[2,3] x, int64[2,3] i, float[2,3] u) => (float[2,3] y) { y = ScatterElements <reduction="sum"> (x, i, u) }',
            'g (float[2,3] x, int64[2,3] i, float[2,3] u) => (float[2,3] y) { y = ScatterElements <reduction="add"> (x, i, u) }',
        ),
    ],
    "SX700": [
        (
            "g (float[2,3] x) => (float[M,N] y) { i = Constant <value_ints=[3]> () y = Gather <axis=1> (x, i) }",
            "g (float[2,3] x) => (float[M,N] y) { i = Constant <value_ints=[-3]> () y = Gather <axis=1> (x, i) }",
        ),
        (
            "g (float[2,3] x, float[2,4] z) => (float[M,N] y) { y = Concat <axis=0> (x, z) }",
            "g (float[2,3] x, float[2,4] z) => (float[M,N] y) { y = Concat <axis=1> (x, z) }",
        ),
        (
            "g (float[2,3] x, float[2] z) => (float[M,N] y) { y = Concat <axis=0> (x, z) }",
            "g (float[2,3] x, float[2,3] z) => (float[M,N] y) { y = Concat <axis=0> (x, z) }",
        ),
        (
            "g (float[5] x) => (float[M] a, float[N] b) { s = Constant <value_ints=[2,2]> () a, b = Split (x, s) }",
            "g (float[5] x) => (float[M] a, float[N] b) { s = Constant <value_ints=[2,3]> () a, b = Split (x, s) }",
        ),
        (
            "g (float[4] x) => (float[M] y) { p = Constant <value_ints=[-3,-2]> () y = Pad (x, p) }",
            "g (float[4] x) => (float[M] y) { p = Constant <value_ints=[-3,-1]> () y = Pad (x, p) }",
        ),
        (
            "g (float[4] x) => (float[M] y) { p = Constant <value_ints=[1,2,3]> () y = Pad (x, p) }",
            "g (float[4] x) => (float[M] y) { p = Constant <value_ints=[1,2]> () y = Pad (x, p) }",
        ),
        (
            "g (float[4] x) => (float[M] y) { s = Constant <value_ints=[0]> () e = Constant <value_ints=[3]> () t = Constant <value_ints=[0]> () y = Slice (x, s, e, , t) }",
            "g (float[4] x) => (float[M] y) { s = Constant <value_ints=[0]> () e = Constant <value_ints=[3]> () t = Constant <value_ints=[2]> () y = Slice (x, s, e, , t) }",
        ),
        (
            "g (float[4] x) => (float[M] y) { s = Constant <value_ints=[0,0]> () e = Constant <value_ints=[3]> () y = Slice (x, s, e) }",
            "g (float[4] x) => (float[M] y) { s = Constant <value_ints=[0]> () e = Constant <value_ints=[3]> () y = Slice (x, s, e) }",
        ),
        (
            "g (float[2,3] x) => (float[N] y) { a = Constant <value_ints=[0]> () y = Squeeze (x, a) }",
            "g (float[1,3] x) => (float[N] y) { a = Constant <value_ints=[0]> () y = Squeeze (x, a) }",
        ),
        (
            "g (float[2,3] x) => (float[M,N] y) { y = Transpose <perm=[0]> (x) }",
            "g (float[2,3] x) => (float[M,N] y) { y = Transpose <perm=[0,1]> (x) }",
        ),
        (
            "g (float[2,3] x, int64[2,3,1] i) => (float[M,N] y) { y = GatherElements (x, i) }",
            "g (float[2,3] x, int64[2,3] i) => (float[M,N] y) { y = GatherElements (x, i) }",
        ),
        (
            "g (float[2,3] x) => (float[M,N] y) { s = Constant <value_ints=[0, -2]> () y = Tile (x, s) }",
            "g (float[2,3] x) => (float[M,N] y) { s = Constant <value_ints=[0, 2]> () y = Tile (x, s) }",
        ),
        (
            "g (float[1,3,4,4] x) => (float[1,3,M,N] y) { y = MaxPool <kernel_shape=[2,2,2]> (x) }",
            "g (float[1,3,4,4] x) => (float[1,3,M,N] y) { y = MaxPool <kernel_shape=[2,2]> (x) }",
        ),
        (
            "g (float[1,3,4,4] x, float[3] s, float[4] b) => (float[1,3,4,4] y) { y = BatchNormalization (x, s, b, s, s) }",
            "g (float[1,3,4,4] x, float[3] s, float[3] b) => (float[1,3,4,4] y) { y = BatchNormalization (x, s, b, s, s) }",
        ),
        (
            "g (float[2,3] x) => (float[M,N] v, int64[M,N] i) { k = Constant <value_ints=[4]> () v, i = TopK (x, k) }",
            "g (float[2,3] x) => (float[M,N] v, int64[M,N] i) { k = Constant <value_ints=[3]> () v, i = TopK (x, k) }",
        ),
        (
            "g (float[1,3,2,2] x) => (float[1,M,4,4] y) { y = DepthToSpace <blocksize=2> (x) }",
            "g (float[1,4,2,2] x) => (float[1,M,4,4] y) { y = DepthToSpace <blocksize=2> (x) }",
        ),
        (
            "g () => (int64[M] y) { a = Constant <value_int=0> () b = Constant <value_int=4> () c = Constant <value_int=0> () y = Range (a, b, c) }",
            "g () => (int64[M] y) { a = Constant <value_int=0> () b = Constant <value_int=4> () c = Constant <value_int=1> () y = Range (a, b, c) }",
        ),
        (
            'g (float[2,3] x, float[3,2] z) => (float[M,N] y) { y = Einsum <equation="ij,jk,kl->il"> (x, z) }',
            'g (float[2,3] x, float[3,2] z) => (float[M,N] y) { y = Einsum <equation="ij,jk->ik"> (x, z) }',
        ),
        (
            "g (float[2,3] x, int64[2,3] i) => (float[M,N] y) { y = GatherND (x, i) }",
            "g (float[2,3] x, int64[2,2] i) => (float[M] y) { y = GatherND (x, i) }",
        ),
        (
            "g () => (float[M] y) { s = Constant <value_ints=[-1]> () y = ConstantOfShape (s) }",
            "g () => (float[M] y) { s = Constant <value_ints=[2]> () y = ConstantOfShape (s) }",
        ),
        (
            "g (float[3,1,2] x, float[1,8,3] w, float[1,8,2] r) => (float[3,1,1,2] y) { y = LSTM <hidden_size=2> (x, w, r) }",
            "g (float[3,1,2] x, float[1,8,2] w, float[1,8,2] r) => (float[3,1,1,2] y) { y = LSTM <hidden_size=2> (x, w, r) }",
        ),
    ],
    "SX701": [
        (
            "g (float[2, 3] x) => (int64[2, 3] y) { y = Abs(x) }",
            "g (float[2, 3] x) => (float[2, 3] y) { y = Abs(x) }",
        ),
        (
            "g (float[2, 3] x) => (float[6] y) { y = Abs(x) }",
            "g (float[2, 3] x) => (float[6] y) { s = Constant <value_ints=[6]> () y = Reshape(x, s) }",
        ),
        (
            "g (float[2, 3] x) => (float[2, 3] y) <float[2, 4] a> { a = Abs(x) y = Neg(a) }",
            "g (float[2, 3] x) => (float[2, 3] y) <float[2, N] a> { a = Abs(x) y = Neg(a) }",
        ),
        (
            "g (float[2] x) => (seq(float[2]) y) { y = Abs(x) }",
            "g (float[2] x) => (seq(float[2]) y) { y = SequenceConstruct(x) }",
        ),
        (
            "g (float[2] x) => (float[2] y) { y = Shape(x) }",
            "g (float[2] x) => (int64[1] y) { y = Shape(x) }",
        ),
        (
            "g (float[N, 4] x) => (float[N, 5] y) { y = Relu(x) }",
            "g (float[N, 4] x) => (float[M, 4] y) { y = Relu(x) }",
        ),
        (
            "g (float[2] x, bool c) => (float[2] y) { y = If <then_branch = t () => (int64[2] p) { p = Abs(x) }, else_branch = e () => (float[2] q) { q = Neg(x) }> (c) }",
            "g (float[2] x, bool c) => (float[2] y) { y = If <then_branch = t () => (float[2] p) { p = Abs(x) }, else_branch = e () => (float[2] q) { q = Neg(x) }> (c) }",
        ),
        (
            "g (float[1,3,8,8] x, float[4,3,3,3] w) => (float[1,4,8,8] y) { y = Conv(x, w) }",
            "g (float[1,3,8,8] x, float[4,3,3,3] w) => (float[1,4,8,8] y) { y = Conv <pads=[1,1,1,1]> (x, w) }",
        ),
        (
            "g (float[2] x) => (float[2] y) <float[3] w = {1,2,3}> { y = Add(w, w) }",
            "g (float[2] x) => (float[3] y) <float[3] w = {1,2,3}> { y = Add(w, w) }",
        ),
        (
            "g () => (float[3] y) { y = Constant <value = float[2] {1, 2}> () }",
            "g () => (float[2] y) { y = Constant <value = float[2] {1, 2}> () }",
        ),
        (
            '<opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (int64[2] y) { y = com.example.F (x) } <domain: "com.example", opset_import: ["": 21]> F (a) => (c) { c = Abs(a) }',
            '<opset_import: ["": 21, "com.example": 1]> g (float[2] x, int64[2] z) => (float[2] y, int64[2] w) { y = com.example.F (x) w = com.example.F (z) } <domain: "com.example", opset_import: ["": 21]> F (a) => (c) { c = Abs(a) }',
        ),
        (
            "g (int64 n, bool c, float[2] x) => (float[2] y, float[N] z) { y, z = Loop <body = b (int64 i, bool k, float[2] v) => (bool k2, float[2] w, float[2] u) { k2 = Identity(k) w = Abs(v) u = Neg(v) }> (n, c, x) }",
            "g (int64 n, bool c, float[2] x) => (float[2] y, float[N,2] z) { y, z = Loop <body = b (int64 i, bool k, float[2] v) => (bool k2, float[2] w, float[2] u) { k2 = Identity(k) w = Abs(v) u = Neg(v) }> (n, c, x) }",
        ),
    ],
    "SX702": [
        (
            "g (float[1,N] x) => (float[1,1] y, float[1,1] z) <float[3,1] a={1,2,3}, float[4,1] b={1,2,3,4}> { y = MatMul(x, a) z = MatMul(x, b) }",
            "g (float[1,N] x, float[1,M] u) => (float[1,1] y, float[1,1] z) <float[3,1] a={1,2,3}, float[4,1] b={1,2,3,4}> { y = MatMul(x, a) z = MatMul(u, b) }",
        ),
        (
            "g (float[N,1] x, float[N,1] u) => (float[M,2] y, float[L,2] z) <float[3,1] a={1,2,3}, float[4,1] b={1,2,3,4}> { y = Concat<axis=1>(x, a) z = Concat<axis=1>(u, b) }",
            "g (float[N,1] x, float[M,1] u) => (float[N,2] y, float[M,2] z) <float[3,1] a={1,2,3}, float[4,1] b={1,2,3,4}> { y = Concat<axis=1>(x, a) z = Concat<axis=1>(u, b) }",
        ),
        (
            "g (float[N] x, bool c) => (float[M] y) { y = If <then_branch = t () => (float[N] p) { o = Constant<value_floats=[1.0,2.0]>() p = Concat<axis=0>(x, o) }, else_branch = e () => (float[N] q) { q = Neg(x) }> (c) }",
            "g (float[N] x, bool c) => (float[M] y) { y = If <then_branch = t () => (float[L] p) { o = Constant<value_floats=[1.0,2.0]>() p = Concat<axis=0>(x, o) }, else_branch = e () => (float[N] q) { q = Neg(x) }> (c) }",
        ),
        (
            "g (float[N] x, float[3] z) => (float[N] y, float[N] w, float[N] v) { y = Abs(x) w = Abs(z) v = Concat <axis=0> (z, z) }",
            "g (float[N] x, float[3] z) => (float[N] y, float[N] w, float[M] v) { y = Abs(x) w = Abs(z) v = Concat <axis=0> (z, z) }",
        ),
        (
            "g (float[N] x, float[1] z) => (float[N] y) { y = Concat <axis=0> (x, z) }",
            "g (float[N] x, float[1] z) => (float[M] y) { y = Concat <axis=0> (x, z) }",
        ),
        (
            "g (float[2, 3] x) => (float[N, N] y) { y = Abs(x) }",
            "g (float[2, 2] x) => (float[N, N] y) { y = Abs(x) }",
        ),
        (
            "g (float[2, 3] x, float[4,3] z) => (float[K, 3] y) <float[K, 3] a> { a = Abs(x) y = Concat<axis=0>(z, a) }",
            "g (float[2, 3] x, float[4,3] z) => (float[L, 3] y) <float[K, 3] a> { a = Abs(x) y = Concat<axis=0>(z, a) }",
        ),
    ],
    "SX703": [
        (
            "g (int64[2] x) => (int64[2] y) { y = Sqrt(x) }",
            "g (double[2] x) => (double[2] y) { y = Sqrt(x) }",
        ),
        (
            "g (float[2] x, int32[1] s) => (float[2, 1] y) { y = Reshape(x, s) }",
            "g (float[2] x, int64[2] s) => (float[M, N] y) { y = Reshape(x, s) }",
        ),
        (
            "g (float[2] x, float[1] s) => (float[1] y) { y = Gather(x, s) }",
            "g (float[2] x, int32[1] s) => (float[1] y) { y = Gather(x, s) }",
        ),
        (
            "g (float[2] x, float c) => (float[2] y) { y = If <then_branch = t () => (float[2] p) { p = Abs(x) }, else_branch = e () => (float[2] q) { q = Neg(x) }> (c) }",
            "g (float[2] x, bool c) => (float[2] y) { y = If <then_branch = t () => (float[2] p) { p = Abs(x) }, else_branch = e () => (float[2] q) { q = Neg(x) }> (c) }",
        ),
        (
            '<ir_version: 10, opset_import: ["": 11]> g (bfloat16[2] x) => (bfloat16[2] y) { y = Relu(x) }',
            '<ir_version: 10, opset_import: ["": 14]> g (bfloat16[2] x) => (bfloat16[2] y) { y = Relu(x) }',
        ),
        (
            "g (seq(float[2]) x) => (float[2] y) { y = Abs(x) }",
            "g (seq(float[2]) x, int64 i) => (float[2] y) { y = SequenceAt(x, i) }",
        ),
        (
            "g (float[2] x, bool[2] z) => (bool[2] y) { y = And(x, z) }",
            "g (bool[2] x, bool[2] z) => (bool[2] y) { y = And(x, z) }",
        ),
        (
            '<opset_import: ["": 21, "ai.onnx.ml": 3]> g (double[2, 2] x) => (int64[2, 2] y) { y = ai.onnx.ml.LabelEncoder <keys_strings=["a"], values_int64s=[1]> (x) }',
            '<opset_import: ["": 21, "ai.onnx.ml": 3]> g (string[2, 2] x) => (int64[2, 2] y) { y = ai.onnx.ml.LabelEncoder <keys_strings=["a"], values_int64s=[1]> (x) }',
        ),
        (
            "g (int64 n, int64 c, float[2] x) => (float[2] y) { y = Loop <body = b (int64 i, bool k, float[2] v) => (bool k2, float[2] w) { k2 = Identity(k) w = Abs(v) }> (n, c, x) }",
            "g (int64 n, bool c, float[2] x) => (float[2] y) { y = Loop <body = b (int64 i, bool k, float[2] v) => (bool k2, float[2] w) { k2 = Identity(k) w = Abs(v) }> (n, c, x) }",
        ),
        (
            '<opset_import: ["": 21, "com.example": 1]> g (string[2] x) => (string[2] y) { y = com.example.F (x) } <domain: "com.example", opset_import: ["": 21]> F (a) => (c) { c = Abs(a) }',
            '<opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F (x) } <domain: "com.example", opset_import: ["": 21]> F (a) => (c) { c = Abs(a) }',
        ),
        (
            '<opset_import: ["": 21, "com.example": 1]> g (string[2] x) => (string[2] y) { y = com.example.G (x) } <domain: "com.example", opset_import: ["": 21]> F (a) => (c) { c = Abs(a) } <domain: "com.example", opset_import: ["": 21, "com.example": 1]> G (a) => (c) { c = com.example.F(a) }',
            '<opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.G (x) } <domain: "com.example", opset_import: ["": 21]> F (a) => (c) { c = Abs(a) } <domain: "com.example", opset_import: ["": 21, "com.example": 1]> G (a) => (c) { c = com.example.F(a) }',
        ),
    ],
    "SX704": [
        (
            "g (float[2,3] x, double[3,4] z) => (float[2,4] y) { y = MatMul(x, z) }",
            "g (float[2,3] x, float[3,4] z) => (float[2,4] y) { y = MatMul(x, z) }",
        ),
        (
            "g (bool[2] c, float[2] x, int64[2] z) => (float[2] y) { y = Where(c, x, z) }",
            "g (bool[2] c, float[2] x, float[2] z) => (float[2] y) { y = Where(c, x, z) }",
        ),
        (
            "g (float[2] x) => (float[2] y) { l = Constant <value_int = 0> () y = Clip(x, l) }",
            "g (float[2] x) => (float[2] y) { l = Constant <value_float = 0.0> () y = Clip(x, l) }",
        ),
        (
            "g (float16[1,3,4,4] x) => (float16[1,1,M,N] y) <float[1,3,1,1] w = {1,2,3}> { y = Conv(x, w) }",
            "g (float[1,3,4,4] x) => (float[1,1,M,N] y) <float[1,3,1,1] w = {1,2,3}> { y = Conv(x, w) }",
        ),
        (
            "g (float[2] x) => (bool[2] y) { n = Shape(x) y = Equal(x, n) }",
            "g (int64[2] x) => (bool[2] y) { n = Shape(x) y = Equal(x, n) }",
        ),
        (
            '<opset_import: ["": 21, "com.example": 1]> g (float[2] x, int64[2] z) => (float[2] y) { y = com.example.F (x, z) } <domain: "com.example", opset_import: ["": 21]> F (a, b) => (c) { c = Add(a, b) }',
            '<opset_import: ["": 21, "com.example": 1]> g (float[2] x, float[2] z) => (float[2] y) { y = com.example.F (x, z) } <domain: "com.example", opset_import: ["": 21]> F (a, b) => (c) { c = Add(a, b) }',
        ),
        (
            '<training_info: [{algorithm: a (float[2] k) => (float[2] n) { i = Cast <to=7> (k) n = Add(w, i) }, update_binding: ["w": "n"]}]> g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }',
            '<training_info: [{algorithm: a (float[2] k) => (float[2] n) { n = Add(w, k) }, update_binding: ["w": "n"]}]> g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }',
        ),
    ],
    "SX705": [
        (
            "g (float[2] x, double[2] z) => (float[2] y) { y = Sum(x, z) }",
            "g (float[2] x, float[2] z) => (float[2] y) { y = Sum(x, z) }",
        ),
        (
            "g (float[2] x, float16[2] z, float[2] a) => (float[2] y) { y = Max(x, a, z) }",
            "g (float[2] x, float[2] z, float[2] a) => (float[2] y) { y = Max(x, a, z) }",
        ),
        (
            "g (float[2] x, int32[2] z) => (seq(float[2]) y) { y = SequenceConstruct(x, z) }",
            "g (float[2] x, float[2] z) => (seq(float[2]) y) { y = SequenceConstruct(x, z) }",
        ),
    ],
    "SX706": [
        (
            "g (float[2,3] x, float[4,3] w, float[4] b) => (float[2,4] y) { y = Gemm (x, w, b) }",
            "g (float[2,3] x, float[4,3] w, float[4] b) => (float[2,4] y) { y = Gemm <transB=1> (x, w, b) }",
        ),
        (
            "g (float[1,4,8,8] x, float[2,3,3,3] w) => (float[1,2,6,6] y) { y = Conv (x, w) }",
            "g (float[1,3,8,8] x, float[2,3,3,3] w) => (float[1,2,6,6] y) { y = Conv (x, w) }",
        ),
        (
            "g (float[1,4,8,8] x, float[2,3,3,3] w) => (float[1,M,K,N] y) { y = ConvTranspose (x, w) }",
            "g (float[1,2,8,8] x, float[2,3,3,3] w) => (float[1,M,K,N] y) { y = ConvTranspose (x, w) }",
        ),
        (
            "g (uint8[2,3] x, uint8[4,2] w) => (int32[2,2] y) { y = MatMulInteger (x, w) }",
            "g (uint8[2,3] x, uint8[3,2] w) => (int32[2,2] y) { y = MatMulInteger (x, w) }",
        ),
        (
            "g (float[3] x, float[4] w) => (float y) { y = MatMul (x, w) }",
            "g (float[3] x, float[3] w) => (float y) { y = MatMul (x, w) }",
        ),
        (
            "g (float[N,3] x) => (float[N,2] y) <float[4,2] w = {1,2,3,4,5,6,7,8}> { y = MatMul (x, w) }",
            "g (float[N,4] x) => (float[N,2] y) <float[4,2] w = {1,2,3,4,5,6,7,8}> { y = MatMul (x, w) }",
        ),
        (
            "g (float[1,4,8,8] x, float[4,2,3,3] w) => (float[1,M,K,N] y) { y = Conv <group=3> (x, w) }",
            "g (float[1,4,8,8] x, float[4,2,3,3] w) => (float[1,M,K,N] y) { y = Conv <group=2> (x, w) }",
        ),
        (
            '<opset_import: ["": 21, "com.example": 1]> g (float[2,3] x) => (float[2,3] y) { y = com.example.F (x, x) } <domain: "com.example", opset_import: ["": 21]> F (a, b) => (c) { c = MatMul(a, b) }',
            '<opset_import: ["": 21, "com.example": 1]> g (float[3,3] x) => (float[3,3] y) { y = com.example.F (x, x) } <domain: "com.example", opset_import: ["": 21]> F (a, b) => (c) { c = MatMul(a, b) }',
        ),
    ],
    "SX707": [
        (
            "g (float[4] x, float[3] z) => (float[4] y) { y = Mul (x, z) }",
            "g (float[4] x, float[1] z) => (float[4] y) { y = Mul (x, z) }",
        ),
        (
            "g (float[2,3] x, float[4,1] z) => (float[M,N] y) { y = Pow (x, z) }",
            "g (float[2,3] x, float[2,1] z) => (float[M,N] y) { y = Pow (x, z) }",
        ),
        (
            "g (bool[5] c, float[2,3] x, float[3] z) => (float[M,N] y) { y = Where (c, x, z) }",
            "g (bool[3] c, float[2,3] x, float[3] z) => (float[M,N] y) { y = Where (c, x, z) }",
        ),
        (
            "g (float[2] x, float[3] z, float[1] a) => (float[M] y) { y = Max (x, a, z) }",
            "g (float[2] x, float[2] z, float[1] a) => (float[M] y) { y = Max (x, a, z) }",
        ),
        (
            "g (float[2,3] x) => (float[M,N] y) { s = Constant <value_ints=[2,4]> () y = Expand (x, s) }",
            "g (float[2,3] x) => (float[M,N] y) { s = Constant <value_ints=[2,1]> () y = Expand (x, s) }",
        ),
        (
            '<ir_version: 10, opset_import: ["": 6]> g (float[2,3] x, float[3] z) => (float[2,3] y) { y = Add (x, z) }',
            '<ir_version: 10, opset_import: ["": 6]> g (float[2,3] x, float[3] z) => (float[2,3] y) { y = Add <broadcast=1> (x, z) }',
        ),
        (
            "g (float[2,4,3] x, float[3,3,5] z) => (float[M,N,K] y) { y = MatMul (x, z) }",
            "g (float[2,4,3] x, float[2,3,5] z) => (float[M,N,K] y) { y = MatMul (x, z) }",
        ),
        (
            "g (float[2,3] x, float[2,3] s) => (float[2,3] y) { z = Transpose <perm=[1,0]> (s) y = PRelu (x, z) }",
            "g (float[2,3] x, float[2,3] s) => (float[2,3] y) { y = PRelu (x, s) }",
        ),
        (
            'g (float[2,3] x, float[4,2] z) => (float[M,N] y) { y = Einsum <equation="ij,jk->ik"> (x, z) }',
            'g (float[2,3] x, float[3,2] z) => (float[M,N] y) { y = Einsum <equation="ij,jk->ik"> (x, z) }',
        ),
        (
            '<training_info: [{initialization: a () => (float[2] n) { p = Constant <value_floats=[1.0,2.0,3.0]> () q = Constant <value_floats=[1.0,2.0]> () n = Add(p, q) }, initialization_binding: ["w": "n"]}]> g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }',
            '<training_info: [{initialization: a () => (float[2] n) { p = Constant <value_floats=[1.0,2.0]> () q = Constant <value_floats=[1.0,2.0]> () n = Add(p, q) }, initialization_binding: ["w": "n"]}]> g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }',
        ),
    ],
    "SX708": [
        (
            "g (float[2,3] x) => (float[M,N] y) { y = Concat <axis=2> (x, x) }",
            "g (float[2,3] x) => (float[M,N] y) { y = Concat <axis=-2> (x, x) }",
        ),
        (
            "g (float[2,3] x) => (int64[M,N] y) { y = ArgMax <axis=-3> (x) }",
            "g (float[2,3] x) => (int64[M,N] y) { y = ArgMax <axis=-2> (x) }",
        ),
        (
            "g (float[2,3] x) => (float[M,N] y) { a = Constant <value_ints=[2]> () y = ReduceSum (x, a) }",
            "g (float[2,3] x) => (float[M,N] y) { a = Constant <value_ints=[1]> () y = ReduceSum (x, a) }",
        ),
        (
            "g (float[2,3] x, int64[1] i) => (float[M,N] y) { y = Gather <axis=2> (x, i) }",
            "g (float[2,3] x, int64[1] i) => (float[M,N] y) { y = Gather <axis=1> (x, i) }",
        ),
        (
            "g (float[2,3] x) => (float[M,N] y) { y = Flatten <axis=3> (x) }",
            "g (float[2,3] x) => (float[M,N] y) { y = Flatten <axis=2> (x) }",
        ),
        (
            "g (float[2,3] x) => (float[M,N,K] y) { a = Constant <value_ints=[3]> () y = Unsqueeze (x, a) }",
            "g (float[2,3] x) => (float[M,N,K] y) { a = Constant <value_ints=[2]> () y = Unsqueeze (x, a) }",
        ),
        (
            "g (float[2,1] x) => (float[M] y) { a = Constant <value_ints=[2]> () y = Squeeze (x, a) }",
            "g (float[2,1] x) => (float[M] y) { a = Constant <value_ints=[1]> () y = Squeeze (x, a) }",
        ),
        (
            "g (float[2,3] x) => (float[M,N] a, float[M2,N2] b) { a, b = Split <axis=2, num_outputs=2> (x) }",
            "g (float[2,4] x) => (float[M,N] a, float[M,N] b) { a, b = Split <axis=1, num_outputs=2> (x) }",
        ),
        (
            "g (float[2,3] x, int64[1] k) => (float[M,N] v, int64[M,N] i) { v, i = TopK <axis=5> (x, k) }",
            "g (float[2,3] x, int64[1] k) => (float[M,N] v, int64[M,N] i) { v, i = TopK <axis=1> (x, k) }",
        ),
        (
            "g (float[2,3] x, int64[2,3] i) => (float[2,3] y) { y = GatherElements <axis=2> (x, i) }",
            "g (float[2,3] x, int64[2,3] i) => (float[2,3] y) { y = GatherElements <axis=1> (x, i) }",
        ),
        (
            "g (float[2,3] x) => (float[2,3] y) { a = Constant <value_int=2> () y = CumSum (x, a) }",
            "g (float[2,3] x) => (float[2,3] y) { a = Constant <value_int=1> () y = CumSum (x, a) }",
        ),
        (
            "g (float[2,3] x) => (float[M,N] y) { s = Constant <value_ints=[0]> () e = Constant <value_ints=[1]> () a = Constant <value_ints=[2]> () y = Slice (x, s, e, a) }",
            "g (float[2,3] x) => (float[M,N] y) { s = Constant <value_ints=[0]> () e = Constant <value_ints=[1]> () a = Constant <value_ints=[1]> () y = Slice (x, s, e, a) }",
        ),
        (
            '<ir_version: 10, opset_import: ["": 11]> g (float[2,3] x) => (float[M,N] y) { y = ReduceMean <axes=[2]> (x) }',
            '<ir_version: 10, opset_import: ["": 11]> g (float[2,3] x) => (float[M,N] y) { y = ReduceMean <axes=[-1]> (x) }',
        ),
        (
            "g (float[2,3] x, float[3] s) => (float[2,3] y) { y = LayerNormalization <axis=2> (x, s) }",
            "g (float[2,3] x, float[3] s) => (float[2,3] y) { y = LayerNormalization <axis=1> (x, s) }",
        ),
        (
            "g (int64[3] i, int64 d, float[2] v) => (float[M,N] y) { y = OneHot <axis=2> (i, d, v) }",
            "g (int64[3] i, int64 d, float[2] v) => (float[M,N] y) { y = OneHot <axis=1> (i, d, v) }",
        ),
        (
            "g (float[2,3] x, bool[2] c) => (float[M,N] y) { y = Compress <axis=2> (x, c) }",
            "g (float[2,3] x, bool[2] c) => (float[M,N] y) { y = Compress <axis=0> (x, c) }",
        ),
        (
            "g (float[2,3] x) => (float[2,3] y) { y = LpNormalization <axis=2> (x) }",
            "g (float[2,3] x) => (float[2,3] y) { y = LpNormalization <axis=1> (x) }",
        ),
        (
            "g (float[2,3] x) => (float[M] y) { y = Unique <axis=2, sorted=1> (x) }",
            "g (float[2,3] x) => (float[M,N] y) { y = Unique <axis=1, sorted=1> (x) }",
        ),
        (
            "g (float[2,3] x, float[3] s) => (uint8[2,3] y) { y = QuantizeLinear <axis=2> (x, s) }",
            "g (float[2,3] x, float[3] s) => (uint8[2,3] y) { y = QuantizeLinear <axis=1> (x, s) }",
        ),
        (
            "g (seq(float[2,3]) x) => (float[M,N] y) { y = ConcatFromSequence <axis=2> (x) }",
            "g (seq(float[2,3]) x) => (float[M,N] y) { y = ConcatFromSequence <axis=1> (x) }",
        ),
        (
            "g (float[2,3] x) => (seq(float[2,1]) y) { y = SplitToSequence <axis=2> (x) }",
            "g (float[2,3] x) => (seq(float[2,1]) y) { y = SplitToSequence <axis=1> (x) }",
        ),
        (
            "g (float[2,3] x) => (float[M,N] y) { p = Constant <value_ints=[1,1]> () v = Constant <value_float=0.0> () a = Constant <value_ints=[2]> () y = Pad (x, p, v, a) }",
            "g (float[2,3] x) => (float[M,N] y) { p = Constant <value_ints=[1,1]> () v = Constant <value_float=0.0> () a = Constant <value_ints=[1]> () y = Pad (x, p, v, a) }",
        ),
        (
            "g (float[2,3] x, int64[2,3] i, float[2,3] u) => (float[2,3] y) { y = ScatterElements <axis=-3> (x, i, u) }",
            "g (float[2,3] x, int64[2,3] i, float[2,3] u) => (float[2,3] y) { y = ScatterElements <axis=-2> (x, i, u) }",
        ),
        (
            "g (float[2,3] x) => (float[2,3] y) { y = Hardmax <axis=2> (x) }",
            "g (float[2,3] x) => (float[2,3] y) { y = Hardmax (x) }",
        ),
        (
            "g (float[2,3,4] x) => (float[2,3,4] y) { y = MeanVarianceNormalization <axes=[0,3]> (x) }",
            "g (float[2,3,4] x) => (float[2,3,4] y) { y = MeanVarianceNormalization <axes=[0,2]> (x) }",
        ),
        (
            '<opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F <k = 3> (x) } <domain: "com.example", opset_import: ["": 21]> F <k> (a) => (c) { c = Softmax <axis: int = @k> (a) }',
            '<opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F <k = 0> (x) } <domain: "com.example", opset_import: ["": 21]> F <k> (a) => (c) { c = Softmax <axis: int = @k> (a) }',
        ),
    ],
    "SX709": [
        (
            "g (float[2,3] x) => (float[5] y) { s = Constant <value_ints=[5]> () y = Reshape (x, s) }",
            "g (float[2,3] x) => (float[6] y) { s = Constant <value_ints=[6]> () y = Reshape (x, s) }",
        ),
        (
            "g (float[2,3] x) => (float[M,4] y) { s = Constant <value_ints=[-1,4]> () y = Reshape (x, s) }",
            "g (float[2,3] x) => (float[M,2] y) { s = Constant <value_ints=[-1,2]> () y = Reshape (x, s) }",
        ),
        (
            '<ir_version: 10, opset_import: ["": 4]> g (float[2,3] x) => (float[M,N] y) { y = Reshape <shape=[2,2]> (x) }',
            '<ir_version: 10, opset_import: ["": 4]> g (float[2,3] x) => (float[M,N] y) { y = Reshape <shape=[3,2]> (x) }',
        ),
        (
            "g (float[2,3] x) => (float[M,N] y) <int64[2] s = {7, 1}> { y = Reshape (x, s) }",
            "g (float[2,3] x) => (float[M,N] y) <int64[2] s = {0, 3}> { y = Reshape (x, s) }",
        ),
        (
            "g (float[2,3] x) => (float[M,N] y) <int64[2] s = {-1, -1}> { y = Reshape (x, s) }",
            "g (float[2,3] x) => (float[M,N] y) <int64[2] s = {-1, 1}> { y = Reshape (x, s) }",
        ),
    ],
    "SX710": [
        (
            "g (bool c, float[2] x) => (float[2] y) { y = If <then_branch = t () => (float[2] p) { p = Identity(x) }, else_branch = e () => (seq(float[2]) q) { q = SequenceConstruct(x) }> (c) }",
            "g (bool c, float[2] x) => (float[2] y) { y = If <then_branch = t () => (float[2] p) { p = Identity(x) }, else_branch = e () => (float[2] q) { q = Abs(x) }> (c) }",
        ),
    ],
    "SX711": [
        (
            "g (int64 n, bool c, float[2] x) => (float[2] y) { y = Loop <body = b (int32 i, bool k, float[2] v) => (bool k2, float[2] w) { k2 = Identity(k) w = Abs(v) }> (n, c, x) }",
            "g (int64 n, bool c, float[2] x) => (float[2] y) { y = Loop <body = b (int64 i, bool k, float[2] v) => (bool k2, float[2] w) { k2 = Identity(k) w = Abs(v) }> (n, c, x) }",
        ),
        (
            "g (int64 n, bool c, float[2] x) => (float[2] y) { y = Loop <body = b (int64 i, bool k, float[2] v) => (int64 k2, float[2] w) { k2 = Identity(i) w = Abs(v) }> (n, c, x) }",
            "g (int64 n, bool c, float[2] x) => (float[2] y) { y = Loop <body = b (int64 i, bool k, float[2] v) => (bool k2, float[2] w) { k2 = Identity(k) w = Abs(v) }> (n, c, x) }",
        ),
        (
            "g (int64 n, bool c, float[2] x) => (float[2] y) { y = Loop <body = b (int64 i, bool k, int64[2] v) => (bool k2, int64[2] w) { k2 = Identity(k) w = Abs(v) }> (n, c, x) }",
            "g (int64 n, bool c, int64[2] x) => (int64[2] y) { y = Loop <body = b (int64 i, bool k, int64[2] v) => (bool k2, int64[2] w) { k2 = Identity(k) w = Abs(v) }> (n, c, x) }",
        ),
        (
            "g (float[2] s, float[3,2] x) => (float[2] t, float[3,2] y) { t, y = Scan <num_scan_inputs=1, body = b (float[2] a, float[2] v) => (int64[2] c, float[2] w) { w = Add(a, v) c = Cast <to=7> (w) }> (s, x) }",
            "g (float[2] s, float[3,2] x) => (float[2] t, float[3,2] y) { t, y = Scan <num_scan_inputs=1, body = b (float[2] a, float[2] v) => (float[2] c, float[2] w) { w = Add(a, v) c = Identity (w) }> (s, x) }",
        ),
    ],
}

# One error each.
REFUSED = [
    "g (float[1,3,8,8] x, float[4,3,3,3] w) => (float[1,4,M,N] y) { y = Conv <kernel_shape=[5,5]> (x, w) }",
    "g (float[1,3,8,8] x, float[4,3,3,3] w) => (float[1,4,M,N] y) { y = Conv <pads=[1,1]> (x, w) }",
    "g (float[1,3,8,8] x, float[4,3,3,3] w) => (float[1,4,M,N] y) { y = Conv <strides=[1,1,1]> (x, w) }",
    "g (float[1,3,8,8] x, float[4,3,3,3] w) => (float[1,4,M,N] y) { y = Conv <strides=[0,1]> (x, w) }",
    "g (float[1,3,8,8] x, float[4,3,3,3] w, float[5] b) => (float[1,4,M,N] y) { y = Conv (x, w, b) }",
    "g (float[1,3,8,8] x, float[4,3,3] w) => (float[1,4,M,N] y) { y = Conv (x, w) }",
    "g (float[2,3] x, float[4,3,3,3] w) => (float[1,4,M,N] y) { y = Conv (x, w) }",
    "g (float[1,3,8,8] x) => (float[1,3,M,N] y) { y = AveragePool <kernel_shape=[3,3], pads=[1,1,1]> (x) }",
    "g (float[3] x) => (float[M] y) { y = GlobalAveragePool (x) }",
    "g (float[2,3,4] x, float[3,5] w) => (float[M,N] y) { y = Gemm (x, w) }",
    "g (float[2,3] x, float[3,5] w, float[4] b) => (float[M,N] y) { y = Gemm (x, w, b) }",
    "g (float[1,3,4,4] x, float[4] s, float[3] b) => (float[1,3,4,4] y) { y = InstanceNormalization (x, s, b) }",
    "g (float[2,3] x, float[4] s) => (float[2,3] y) { y = LayerNormalization (x, s) }",
    "g (float[1,1,2,2] x) => (float[A,B,C,D] y) { s = Constant <value_floats=[1.0,2.0,2.0]> () y = Resize (x, , s) }",
    "g (float[1,1,2,2] x) => (float[A,B,C,D] y) { s = Constant <value_floats=[1.0,1.0,2.0,2.0]> () z = Constant<value_ints=[1,1,4,4]>() y = Resize (x, , s, z) }",
    "g (float[1,1,2,2] x) => (float[A,B,C,D] y) { y = Resize (x) }",
    "g (float[4,5] x, int64[2,2] i, float[3] u) => (float[4,5] y) { y = ScatterND (x, i, u) }",
    "g (float[4,5] x, int64[2,3] i, float[2] u) => (float[4,5] y) { y = ScatterND (x, i, u) }",
    "g (float[4,5] x, int64[2,3] i, float[2,2] u) => (float[4,5] y) { y = ScatterElements (x, i, u) }",
    "g (float[2] v) => (float[M,N] y) { i = Constant<value_ints=[1]>() d = Constant<value_int=-5>() y = OneHot (i, d, v) }",
    "g (float[3] v, int64[3] i) => (float[M,N] y) { d = Constant<value_int=5>() y = OneHot (i, d, v) }",
    "g (float[2,3] x, bool[2,1] b) => (float[M,N] y) { y = Compress<axis=0> (x, b) }",
    "g (float[3] x) => (float[M] y) { y = Trilu (x) }",
    "g (float[1,4] b, float[1,1,4] s) => (int64[M,3] y) { y = NonMaxSuppression (b, s) }",
    "g (float[1,5,4] b, float[1,1,6] s) => (int64[M,3] y) { y = NonMaxSuppression (b, s) }",
    "g (float[1,3,8,8] x, float[2,5] r, int64[2] i) => (float[A,B,C,D] y) { y = RoiAlign (x, r, i) }",
    "g (float[1,3,8,8] x, float[2,4] r, int64[3] i) => (float[A,B,C,D] y) { y = RoiAlign (x, r, i) }",
    "g (float[1,3,8,8] x, float[1,4,4,3] r) => (float[A,B,C,D] y) { y = GridSample (x, r) }",
    "g (float[2,3] x) => (float[A,B] y) { a = Constant <value_ints=[0,0]> () y = ReduceSum(x, a) }",
    "g (float[2,3] x) => (float[A,B,C,D] y) { a = Constant <value_ints=[0,0]> () y = Unsqueeze(x, a) }",
    "g (float[2,3] x) => (float[A,B] v, int64[A,B] i) { k = Constant <value_ints=[-1]> () v, i = TopK(x, k) }",
    "g (float[2,3] x) => (float[A,B] v, int64[A,B] i) { k = Constant <value_ints=[1,2]> () v, i = TopK(x, k) }",
    "g (float[1,3,3,3] x) => (float[A,B,C,D] y) { y = SpaceToDepth<blocksize=2>(x) }",
    "g (float[2] x, float[2] l) => (float[2] y) { y = Clip(x, l) }",
    "g (float[2,3] x, float[4] s) => (uint8[2,3] y) { y = QuantizeLinear<axis=1>(x, s) }",
    "g (float[2,3] x, float[3] s, uint8 z) => (uint8[2,3] y) { y = QuantizeLinear<axis=1>(x, s, z) }",
    "g (float[2,3] x, float s, int8 z) => (int8[2,3] y) { y = QuantizeLinear<output_dtype=2>(x, s, z) }",
    "g (float[2] x) => (float[2] y) { y = EyeLike(x) }",
    "g (float[2,3] x) => (float y) { y = Det(x) }",
    "g (float[4] x) => (float[A] a, float[B] b) { a, b = Split<num_outputs=3>(x) }",
    "g (float[4] x) => (float[A] a, float[B] b) { s = Constant <value_ints=[2,2]> () a, b = Split<num_outputs=2>(x, s) }",
    "g (float[4] x) => (float[A] a, float[B] b) { s = Constant <value_ints=[5,-1]> () a, b = Split(x, s) }",
    "g (float[4] x) => (float[A] a, float[B] b, float[C] d) { s = Constant <value_ints=[2,2]> () a, b, d = Split(x, s) }",
    '<ir_version: 10, opset_import: ["": 11]> g (float[4] x) => (float[A] a, float[B] b) { a, b = Split<split=[1,2]>(x) }',
    "g (float[2,3] x) => (float[M,N] y) { s = Constant <value_ints=[3]> () y = Tile (x, s) }",
    "g (float[2,3] x) => (float[M,N] y) { s = Constant <value_ints=[-3,3]> () y = Expand (x, s) }",
    "g (float[2] x, bool[2] c) => (float[2] y) { y = If <then_branch = t () => (float[2] p) { p = Abs(x) }, else_branch = e () => (float[2] q) { q = Neg(x) }> (c) }",
    "g (int64[2] n, bool c, float[2] x) => (float[2] y) { y = Loop <body = b (int64 i, bool k, float[2] v) => (bool k2, float[2] w) { k2 = Identity(k) w = Abs(v) }> (n, c, x) }",
    "g (int64 n, bool c, float[2] x) => (float[2] y) { y = Loop <body = b (int64 i, bool k, float[3] v) => (bool k2, float[3] w) { k2 = Identity(k) w = Abs(v) }> (n, c, x) }",
    "g (float[3,2] a, float[4,2] x) => (float[3,2] t, float[A,B] y) { t, y = Scan<num_scan_inputs=2, body = b (float[2] p, float[2] v) => (float[2] c, float[2] w) { w = Add(p, v) c = Identity(w) }>(a, x) }",
    "g (float[3,1,2] x, float[1,8,2] w, float[1,8,3] r) => (float[3,1,1,2] y) { y = LSTM <hidden_size=2> (x, w, r) }",
    "g (float[3,1,2] x, float[2,8,2] w, float[2,8,2] r) => (float[A,B,C,D] y) { y = LSTM <hidden_size=2> (x, w, r) }",
    "g (float[3,1,2] x, float[1,8,2] w, float[1,8,2] r) => (float[A,B,C,D] y) { y = LSTM <hidden_size=3> (x, w, r) }",
    "g (float[3,2] x, float[1,8,2] w, float[1,8,2] r) => (float[A,B,C,D] y) { y = LSTM <hidden_size=2> (x, w, r) }",
    "g (seq(float[2]) x) => (float[2] y) { i = Constant<value_float=1.0>() y = SequenceAt(x, i) }",
    "g (seq(float[2]) x, int64[1] z) => (seq(float[2]) y) { y = SequenceInsert(x, z) }",
    "g (float[2,4,16] q, float[2,4,16] k, float[2,4,16] v2) => (float[A,B,C] y) { y = Attention(q, k, v2) }",
    "g (float[2,3] x) => (float[M,N] y) { i = Constant <value_ints=[2]> () y = Gather <axis=0> (x, i) }",
    "g (float[2,3] x) => (float[M,N] y) { i = Constant <value=int64[1,1] {5}> () y = GatherND (x, i) }",
    "g (float[2,3] x) => (float[M,N] y) { i = Constant <value=int64[1,3] {0,1,2}> () y = GatherElements (x, i) }",
    "g (float[2,3] x) => (float[M,N] y) { i = Constant <value=int64[1,3] {0,1,2}> () u = Constant<value=float[1,3] {0,1,2}>() y = ScatterElements (x, i, u) }",
    "g (float[2,3] x) => (float[M,N] y) { i = Constant <value=int64[1,1] {7}> () u = Constant<value=float[1,3] {0,1,2}>() y = ScatterND (x, i, u) }",
    "g (float[2,3] x) => (float[A,B] y) { z = Constant<value=float[2,2] {0,1,2,3}>() y = Concat<axis=0>(x, z) }",
    "g (float[3] x, float[3,1] s) => (float[A] y) { y = BatchNormalization (x, s, s, s, s) }",
    "g (float[2,4] x) => (float[2,4] y) { s = Constant<value_floats=[1.0,1.0]>() y = GroupNormalization<num_groups=3>(x, s, s) }",
    "g (float[1,6,4] x, float[6] s) => (float[1,6,4] y) { y = GroupNormalization<num_groups=4>(x, s, s) }",
    "g (float[2,3] x) => (float[2,3] y) { y = LpNormalization<p=3>(x) }",
    "g (float[1,1,4] x) => (float[A,B,C] y) { y = LpPool<kernel_shape=[0]>(x) }",
    "g () => (float[A] y) { y = RandomNormal<shape=[-2]>() }",
    "g (float[4,2,3] x, int64[3] l) => (float[4,2,3] y) { y = ReverseSequence(x, l) }",
    "g (float[4,2,3] x, int64[2] l) => (float[4,2,3] y) { y = ReverseSequence<batch_axis=0,time_axis=0>(x, l) }",
    '<opset_import: ["": 21, "ai.onnx.ml": 3]> g (float[2,3] x) => (seq(map(int64, float)) y) { y = ai.onnx.ml.ZipMap <classlabels_int64s=[1,2]> (x) }',
    '<opset_import: ["": 21, "ai.onnx.ml": 3]> g (float[2,3] x) => (seq(map(int64, float)) y) { y = ai.onnx.ml.ZipMap (x) }',
    '<opset_import: ["": 21, "ai.onnx.ml": 3]> g (float[2,3] x) => (float[2,3] y) { y = ai.onnx.ml.Scaler <offset=[1.0,2.0], scale=[1.0,2.0]> (x) }',
    '<opset_import: ["": 21, "ai.onnx.ml": 3]> g (float[2,3] x) => (float[2,1] y) { y = ai.onnx.ml.LinearRegressor <coefficients=[1.0,2.0]> (x) }',
    '<opset_import: ["": 21, "ai.onnx.ml": 3]> g (string[2] x) => (int64[2] y) { y = ai.onnx.ml.LabelEncoder <keys_strings=["a","b"], values_int64s=[1]> (x) }',
    '<opset_import: ["": 21, "ai.onnx.ml": 3]> g (int64[2] x) => (float[2,2] y) { y = ai.onnx.ml.OneHotEncoder (x) }',
    '<opset_import: ["": 21, "ai.onnx.ml": 3]> g (float[2,3] x) => (float[A,B] y) { i = Constant<value_ints=[5]>() y = ai.onnx.ml.ArrayFeatureExtractor (x, i) }',
    "g (uint8[2,3] x, uint8[3,4] w, int32 z) => (int32[2,4] y) { y = MatMulInteger(x, w, z) }",
    "g (float[2,3] x) => (float[A,B] y) { s = Constant <value_ints=[1,2,3]> () y = CenterCropPad(x, s) }",
    "g (int64 a, int64 b) => (int64[M] y) { d = Constant<value_float=1.0>() y = Range(a, b, d) }",
    "g (float[5] x) => (float[M] y) { s = Constant <value_ints=[1]> () e = Constant <value_ints=[2]> () a = Constant <value_ints=[0,1]> () y = Slice(x, s, e, a) }",
    '<ir_version: 13, opset_import: ["": 26]> g (int32[2] x) => (float16[2] y) { y = BitCast<to=10>(x) }',
    "g (string[2,3] x) => (string[A,B] y) { y = StringNormalizer(x) }",
    "g (float[2,3] x, int64[3] t) => (float y) { y = SoftmaxCrossEntropyLoss (x, t) }",
    "g (float[2,3] x, int64[2] t, float[4] w) => (float y) { y = NegativeLogLikelihoodLoss (x, t, w) }",
    "g (float[1,7,5] x) => (float[A,B,C,D] y) { i = Constant <value_ints=[5,5]> () b = Constant <value_ints=[1,5]> () y = Col2Im(x, i, b) }",
    "g (float[2,3] x) => (float[2,3] y) { r = Constant<value_floats=[0.5,0.5]>() y = Dropout(x, r) }",
    'g (float[2,3] x, float[2,3] z) => (float[M,N] y) { y = Einsum<equation="ij,jk">(x, z) }',
    'g (float[2,3] x, float[3,2] z) => (float[M,N] y) { y = Einsum<equation="ij,jk->iz">(x, z) }',
    "g (int64[2] s) => (float[A,B,C] y) { y = ConstantOfShape(s) }",
    "g (float[2,3] x, int64[2] s) => (float[A] y) { y = Reshape(x, s) }",
    "g (float[2,3] x) => (float[A,B] y) { s = Constant <value_ints=[-2,3]> () y = Reshape(x, s) }",
    "g (float[2,3] x) => (float[A,B] y) { s = Constant <value_ints=[0,0,0]> () y = Reshape(x, s) }",
    "g (float[2,3] x) => (float[2,3] y) { s = Constant<value=int64[1,2] {2,3}>() y = Reshape(x, s) }",
    "g (float[2,3] x) => (float[2,3] y, float[A] z) { y = Identity(x) a = Constant <value_ints=[2]> () z = Squeeze(x, a) }",
]

VALID = [
    '<ir_version: 3, opset_import: ["": 8]> g (float[3] x, float["*"] w) => (float[2,3] y) <float[2,3] w={1,2,3,4,5,6}> { y = Add(x, w) }',
    '<ir_version: 3, opset_import: ["": 8]> g (float[2,3] x) => (float["*"] y) { y = Abs(x) }',
    '<ir_version: 3, opset_import: ["": 8]> g (float["*"] x) => (float[2,3] y) { y = Abs(x) }',
    '<ir_version: 3, opset_import: ["": 8]> g (float["*", 3] x) => (float["*"] x) { }',
    '<ir_version: 3, opset_import: ["": 8]> g (float["", 3] x) => (float["", 3] y) { y = Abs(x) }',
    '<ir_version: 3, opset_import: ["": 8]> g (float[N] x, float[2] w) => (float[N] y, float[N] z) <float[2] w = {1, 2}> { y = Abs(x) z = Neg(w) }',
    '<ir_version: 3, opset_import: ["": 8]> g (float[N] x, float[3] u, float[2] w) => (float[N] y, float[N] z) <float[2] w = {1, 2}, float[3] u={1,2,3}> { y = Neg(u) z = Neg(w) }',
    '<opset_import: ["": 21, "com.example": 1]> g (float[2] x, int64[3] z) => (float[2] y, int64[3] w) { y = com.example.F (x) w = com.example.F (z) } <domain: "com.example", opset_import: ["": 21]> F (a) => (c) { c = Abs(a) }',
    '<opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = Abs (x) } <domain: "com.example", opset_import: ["": 21]> F (a) => (c) { c = Abs(a) }',
    '<opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F (x) } <domain: "com.example", opset_import: ["": 21]> F (a, b) => (c) { c = Clip(a, b) }',
    '<opset_import: ["": 21, "com.example": 1]> g (float[2,3] x) => (float[2,3] y) { y = com.example.F (x) } <domain: "com.example", opset_import: ["": 21]> F <k: int = 1> (a) => (c) { c = Softmax <axis: int = @k> (a) }',
    '<opset_import: ["": 21, "com.example": 1]> g (float[2,3] x) => (float[2,3] y) { y = com.example.F (x) } <domain: "com.example", opset_import: ["": 21]> F <k> (a) => (c) { c = Softmax <axis: int = @k> (a) }',
    "g (int64 n, bool c, float[0] x) => (float[M] y) { y = Loop <body = b (int64 i, bool k, float[A] v) => (bool k2, float[B] w) { k2 = Identity(k) o = Constant <value_floats=[1.0]>() w = Concat<axis=0>(v, o) }> (n, c, x) }",
    "g (bool c, float[0] x) => (float[M] y) { n = Constant <value_int=3> () y = Loop <body = b (int64 i, bool k, float[A] v) => (bool k2, float[B] w) { k2 = Identity(k) o = Constant <value_floats=[1.0]>() w = Concat<axis=0>(v, o) }> (n, c, x) }",
    "g (float[2] x, bool c) => (float[N] y) { y = If <then_branch = t () => (float[2] p) { p = Abs(x) }, else_branch = e () => (float[4] q) { q = Concat <axis = 0> (x, x) }> (c) }",
    "g (float[2] x, bool c) => (float[N] y) { y = If <then_branch = t () => (float[M] p) { p = Abs(x) }, else_branch = e () => (float[M] q) { q = Concat <axis = 0> (x, x) }> (c) }",
    "g (float[2,3] x) => (float[M,N] y) { c = Constant <value=bool {0}> () y = If <then_branch = t () => (float[K] p) { a = Constant <value_ints=[1]>() p = Squeeze(x, a) }, else_branch = e () => (float[2,3] q) { q = Identity(x) }> (c) }",
    "g (float[2,3] x) => (float[M,N] y) { s = Shape(x) i = Constant<value_int=1>() d = Gather(s, i) one = Constant<value_int=1>() c = Equal(d, one) y = If <then_branch = t () => (float[K] p) { a = Constant <value_ints=[1]>() p = Squeeze(x, a) }, else_branch = e () => (float[2,3] q) { q = Identity(x) }> (c) }",
    "g (float[0,3] x) => (float[A,B] y) { s = Constant <value_ints=[-1,3]>() y = Reshape(x, s) }",
    "g (float[0,3] x) => (float[0,5] y) { s = Constant <value_ints=[0,5]>() y = Reshape<allowzero=1>(x, s) }",
    "g (float[2,3] x) => (float[2,3] y) { s = Constant <value_ints=[0,-1]>() y = Reshape(x, s) }",
    "g (float x) => (float[1] y) { s = Constant <value_ints=[-1]>() y = Reshape(x, s) }",
    "g (float[1] x) => (float y) { s = Constant <value=int64[0] {}>() y = Reshape(x, s) }",
    "g (float[N] x, float[M] z) => (float[K] y) { y = Add(x, z) }",
    "g (float[N] x, float[M] z) => (float[N] y) { y = Add(x, z) }",
    "g (float[N] x, float[3] z) => (float[N] y) { y = Add(x, z) }",
    "g (float[N] x, float[3] z) => (float[3] y) { y = Add(x, z) }",
    "g (float[N,M] x) => (float[M,N] y) { y = Transpose(x) }",
    "g (float[2,3] x, int64[3] s) => (float[A,B,C] y) { y = Reshape(x, s) }",
    "g (float[2,3] x, int64[2] s) => (float[A,B] y) <int64[2] s={5,5}> { y = Reshape(x, s) }",
    "g (float[5] x) => (float[0] y) { s = Constant<value_ints=[4]>() e = Constant<value_ints=[2]>() y = Slice(x, s, e) }",
    "g (float[5] x) => (float[5] y) { s = Constant<value_ints=[-1]>() e = Constant<value_ints=[-9223372036854775808]>() a = Constant<value_ints=[0]>() t = Constant<value_ints=[-1]>() y = Slice(x, s, e, a, t) }",
    "g (float[N] x, int64[1] i) => (float[1] y) { y = Gather(x, i) }",
    "g (float[N] x) => (float[1] y) { i = Constant<value_ints=[77]>() y = Gather(x, i) }",
    "g (seq(float[2]) x, int64 i) => (float[A] y) { y = SequenceAt(x, i) }",
    "g (float[2] x, float[3] z) => (seq(float[N]) y) { y = SequenceConstruct(x, z) }",
    "g (float[2] x) => (seq(float[2]) y) { e = SequenceEmpty() y = SequenceInsert(e, x) }",
    "g (optional(float[2]) x) => (float[2] y) { y = OptionalGetElement(x) }",
    "g (optional(seq(float[2])) x) => (bool y) { y = OptionalHasElement(x) }",
    "g (float[2] x) => (optional(float[2]) y) { y = Optional(x) }",
    "g () => (optional(float[2]) y) { y = Optional <type=float[2]> () }",
    "g (float[2] x) => (bool y) { y = OptionalHasElement(x) }",
    '<ir_version: 10, opset_import: ["": 21, "ai.onnx.ml": 3]> g (map(int64, float) x) => (float[A,B] y) { y = ai.onnx.ml.CastMap <cast_to="TO_FLOAT"> (x) }',
    '<ir_version: 10, opset_import: ["": 21, "ai.onnx.ml": 3]> g (float[2,3] x) => (seq(map(int64, float)) y) { y = ai.onnx.ml.ZipMap <classlabels_int64s=[1,2,3]> (x) }',
    "g (float[2,3] x) => (float[2] y) { w = Constant<value_floats=[1.0,2.0,3.0]>() y = MatMul(x, w) }",
    "g (float[2,3] x, float[3,4] z) => (float[2,4] y) { c = Constant<value_float=1.0>() y = Gemm(x, z, c) }",
    "g (float[2,0] x, float[0,4] z) => (float[2,4] y) { y = MatMul(x, z) }",
    "g (float[0,3] x, float[2,3] z) => (float[2,3] y) { y = Concat<axis=0>(x, z) }",
    "g (float[0] x) => (float y) { y = ReduceSum<keepdims=0>(x) }",
    "g (float[2] x) => (float y) { y = ReduceSum<keepdims=0>(x) }",
    "g (float[2,3] x) => (float[2,3] y) { a = Constant<value=int64[0] {}>() y = ReduceSum<noop_with_empty_axes=1>(x, a) }",
    "g (float[3,4] x, float[3] s) => (uint8[3,4] y) { y = QuantizeLinear<axis=0>(x, s) }",
    "g (int8[3,4] x, float s, int8 z) => (float[3,4] y) { y = DequantizeLinear(x, s, z) }",
    "g (float[3,4] x, float s) => (int8[3,4] y) { z = Constant<value=int8 {0}>() y = QuantizeLinear(x, s, z) }",
    "g (int4[4] x, float[2] s) => (float[4] y) { y = DequantizeLinear<axis=0, block_size=2>(x, s) }",
    'g (float[1,3,8,8] x, float[4,3,3,3] w) => (float[1,4,8,8] y) { y = Conv<auto_pad="SAME_UPPER">(x, w) }',
    "g (float[N,C,H,W] x, float[4,3,3,3] w) => (float[N,4,H2,W2] y) { y = Conv(x, w) }",
    "g (float[1,4,8,8] x, float[4,1,3,3] w) => (float[1,4,6,6] y) { y = Conv<group=4>(x, w) }",
    'g (float[3,1,2] x, float[1,8,2] w, float[1,8,2] r) => (float[1,1,2] h) { "", h = LSTM<hidden_size=2>(x, w, r) }',
    "g (float[N,2] x) => (float[N,2] y) { s = Shape(x) y = Reshape(x, s) }",
    "g (float[N,2] x) => (float[K] y) { nz = NonZero(x) t = Transpose(nz) y = GatherND(x, t) }",
    "g (float[N,M] x) => (int64[2,K] y) { y = NonZero(x) }",
    "g (float[4] x) => (float[2] a, float[2] b) { a, b = Split<num_outputs=2>(x) }",
    "g (float[5] x) => (float[3] a, float[2] b) { a, b = Split<num_outputs=2>(x) }",
    '<ir_version: 10, opset_import: ["": 11]> g (float[5] x) => (float[3] a, float[2] b) { a, b = Split<split=[3,2]>(x) }',
    '<ir_version: 10, opset_import: ["": 11]> g (float[1,5] x) => (float[5] a) { a = Squeeze(x) }',
    '<ir_version: 10, opset_import: ["": 12]> g (float[2,3,4] x) => (float[2,3,4] a) { a = Softmax(x) }',
    "g (float[2,3] x) => (float[1,6] a) { a = Flatten<axis=0>(x) }",
    "g (float x) => (float[1,1] a) { a = Flatten<axis=0>(x) }",
    "g (float[2,3] x) => (float[3] a) { i = Constant<value_int=-2>() a = Gather(x, i) }",
    "g (float[2,3] x) => (float[2,3] a, float[2,3] b) { a = Dropout(x) b = Identity(a) }",
    "g (float[2,3] x) => (float[2,3] a, bool[2,3] m) { a, m = Dropout(x) }",
    "g (float[4] x) => (float[1] y) { p = Constant<value_ints=[-1,-2]>() y = Pad(x, p) }",
    "g (float[4] x) => (float[0] y) { p = Constant<value_ints=[-2,-2]>() y = Pad(x, p) }",
    "g (bool[2] c, float[2,1] x, float z) => (float[2,2] y) { y = Where(c, x, z) }",
    "g (int64[3] i) => (float[3,5] y) { d = Constant<value_int=5>() v = Constant<value_floats=[0.0,1.0]>() y = OneHot(i, d, v) }",
    "g (float[2] x) => (string[2] y) { y = Cast<to=8>(x) }",
    "g (float[2] x, int64[2] e) => (float[2] y) { y = Pow(x, e) }",
    "g (float[2] x, int64[2] e) => (float[2] y) { y = CastLike(e, x) }",
    "g (float[2] x) => (float[2] y, float[2] x) { y = Abs(x) }",
    "g (float[N] x) => (float[N] y, float[M] x) { y = Abs(x) }",
    "g (float[2] x) => (float[2] y, float[2] w) <float[2] w={1,2}> { y = Abs(x) }",
    "g (float[2] x) => (float[2] y) <float[P] a> { a = Abs(x) y = Neg(a) }",
    '<ir_version: 3, opset_import: ["": 9]> g (float x, float[2] w) => (float[2] y) <float[2] w={1,2}> { y = Add(x, w) }',
    '<ir_version: 10, opset_import: ["": 6]> g (float[2,3,4] x, float[3] z) => (float[2,3,4] y) { y = Add<broadcast=1, axis=1>(x, z) }',
    '<ir_version: 10, opset_import: ["": 6]> g (float[2] x) => (double[2] y) { y = Cast<to=11>(x) }',
    '<ir_version: 3, opset_import: ["": 1]> g (float[2] x) => (double[2] y) { y = Cast<to="DOUBLE">(x) }',
    "g (float[2] x) => (float[2] y) { y = Max(x) }",
    "g (float[2,3] s, float[4,2,3] x) => (float[2,3] t, float[4,2,3] y) { t, y = Scan<num_scan_inputs=1, body = b (float[2,3] a, float[2,3] v) => (float[2,3] c, float[2,3] w) { w = Add(a, v) c = Identity(w) }>(s, x) }",
    "g (int64 n, float[2] x) => (float[A,2] z) { c = Constant<value=bool {1}>() y, z = Loop <body = b (int64 i, bool k, float[2] v) => (bool k2, float[2] w, float[2] u) { k2 = Identity(k) w = Abs(v) u = Neg(v) }> (n, c, x) }",
    "g (int64 n, float[2] x) => (float[2] y) { y = Loop <body = b (int64 i, bool k, float[2] v) => (bool k2, float[2] w) { k2 = Identity(k) f = Cast<to=1>(i) w = Add(v, f) }> (n, , x) }",
    "g (int64[1] n, bool[1] c, float[2] x) => (float[2] y) { y = Loop <body = b (int64[1] i, bool[1] k, float[2] v) => (bool[1] k2, float[2] w) { k2 = Identity(k) w = Abs(v) }> (n, c, x) }",
    "g (int64 n, bool[1] c, float[2] x) => (float[2] y) { y = Loop <body = b (int64 i, bool k, float[2] v) => (bool k2, float[2] w) { k2 = Identity(k) w = Abs(v) }> (n, c, x) }",
    '<training_info: [{initialization: a () => (float[2] n) { n = RandomNormal <shape=[2], seed=1.0> () }, initialization_binding: ["w": "n"], algorithm: b (float[2] t) => (float[2] m) { d = Sub(y, t) m = Sub(w, d) }, update_binding: ["w": "m"]}]> g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }',
    "g (float[1,3,N,M] x) => (float[1,3,K,L] y) { y = MaxPool<kernel_shape=[2,2], strides=[2,2]>(x) }",
    "g (float[1,1,2,2] x) => (float[1,1,4,4] y) { s = Constant <value_floats=[1.0,1.0,2.0,2.0]> () y = Resize (x, , s) }",
    "g (float[1,1,2,2] x) => (float[1,1,4,4] y) { e = Constant<value=float[0] {}>() s = Constant <value_ints=[1,1,4,4]> () y = Resize (x, e, , s) }",
    '<ir_version: 10, opset_import: ["": 11]> g (float[1,1,2,2] x) => (float[1,1,4,4] y) { e = Constant<value=float[0] {}>() s = Constant <value = int64[4] {1,1,4,4}> () y = Resize (x, e, e, s) }',
    '<ir_version: 10, opset_import: ["": 17]> g (float[2,3,4] x, float[4] s) => (float[2,3,4] y, float[2,3,1] m) { y, m = LayerNormalization (x, s) }',
    "g (complex64[2] x) => (complex64[2] y) { y = Identity(x) }",
    "g (string[2] x, string[2] z) => (bool[2] y) { y = Equal(x, z) }",
    "g (uint8[2] x) => (uint8[2] y) { y = BitwiseNot(x) }",
]
