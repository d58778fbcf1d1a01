"""The five models in onnx.helper."""

from __future__ import annotations

import onnx
from onnx import TensorProto, helper, numpy_helper

from building import weights as w

FLOAT = TensorProto.FLOAT


def mlp() -> onnx.ModelProto:
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["a"]),
        helper.make_node("Add", ["a", "b1"], ["b"]),
        helper.make_node("Relu", ["b"], ["c"]),
        helper.make_node("MatMul", ["c", "w2"], ["d"]),
        helper.make_node("Add", ["d", "b2"], ["e"]),
        helper.make_node("Softmax", ["e"], ["y"], axis=-1),
    ]
    weights = {"w1": w.W1, "b1": w.B1, "w2": w.W2, "b2": w.B2}
    graph = helper.make_graph(
        nodes,
        "mlp",
        [helper.make_tensor_value_info("x", FLOAT, ["N", 64])],
        [helper.make_tensor_value_info("y", FLOAT, ["N", 10])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])


def cnn() -> onnx.ModelProto:
    nodes = [
        helper.make_node("Conv", ["x", "kernel"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["a", "scale", "shift", "mean", "variance"], ["b"]),
        helper.make_node("Relu", ["b"], ["c"]),
        helper.make_node("Add", ["c", "x"], ["d"]),
        helper.make_node("GlobalAveragePool", ["d"], ["e"]),
        helper.make_node("Flatten", ["e"], ["y"]),
    ]
    weights = {"kernel": w.KERNEL, "scale": w.SCALE, "shift": w.SHIFT, "mean": w.MEAN, "variance": w.VARIANCE}
    graph = helper.make_graph(
        nodes,
        "cnn",
        [helper.make_tensor_value_info("x", FLOAT, ["N", 8, "H", "W"])],
        [helper.make_tensor_value_info("y", FLOAT, ["N", 8])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])


def attention() -> onnx.ModelProto:
    nodes = []
    for name in "qkv":
        nodes += [
            helper.make_node("MatMul", ["x", f"w{name}"], [f"{name}1"]),
            helper.make_node("Reshape", [f"{name}1", "split"], [f"{name}2"]),
            helper.make_node("Transpose", [f"{name}2"], [f"{name}3"], perm=[0, 2, 1, 3]),
        ]
    nodes += [
        helper.make_node("Concat", ["past_k", "k3"], ["k"], axis=2),
        helper.make_node("Concat", ["past_v", "v3"], ["v"], axis=2),
        helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 1, 3, 2]),
        helper.make_node("MatMul", ["q3", "kt"], ["a"]),
        helper.make_node("Div", ["a", "root"], ["b"]),
        helper.make_node("Softmax", ["b"], ["c"], axis=-1),
        helper.make_node("MatMul", ["c", "v"], ["d"]),
        helper.make_node("Transpose", ["d"], ["e"], perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["e", "join"], ["f"]),
        helper.make_node("MatMul", ["f", "wo"], ["y"]),
    ]
    weights = {"wq": w.WQ, "wk": w.WK, "wv": w.WV, "wo": w.WO}
    constants = [numpy_helper.from_array(value, name) for name, value in weights.items()] + [
        helper.make_tensor("split", TensorProto.INT64, [4], [0, 1, 4, 8]),
        helper.make_tensor("join", TensorProto.INT64, [3], [0, 1, 32]),
        helper.make_tensor("root", FLOAT, [], [8**0.5]),
    ]
    graph = helper.make_graph(
        nodes,
        "attention",
        [
            helper.make_tensor_value_info("x", FLOAT, ["B", 1, 32]),
            helper.make_tensor_value_info("past_k", FLOAT, ["B", 4, "P", 8]),
            helper.make_tensor_value_info("past_v", FLOAT, ["B", 4, "P", 8]),
        ],
        [
            helper.make_tensor_value_info("y", FLOAT, ["B", 1, 32]),
            helper.make_tensor_value_info("k", FLOAT, ["B", 4, "P1", 8]),
            helper.make_tensor_value_info("v", FLOAT, ["B", 4, "P1", 8]),
        ],
        constants,
    )
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])


def lstm() -> onnx.ModelProto:
    body = helper.make_graph(
        [
            helper.make_node("Gather", ["x", "t"], ["xt"], axis=0),
            helper.make_node("MatMul", ["xt", "wx"], ["a"]),
            helper.make_node("MatMul", ["h", "wh"], ["b"]),
            helper.make_node("Add", ["a", "b"], ["ab"]),
            helper.make_node("Add", ["ab", "bias"], ["gates"]),
            helper.make_node("Split", ["gates"], ["i", "f", "o", "g"], axis=1, num_outputs=4),
            helper.make_node("Sigmoid", ["f"], ["sf"]),
            helper.make_node("Sigmoid", ["i"], ["si"]),
            helper.make_node("Sigmoid", ["o"], ["so"]),
            helper.make_node("Tanh", ["g"], ["tg"]),
            helper.make_node("Mul", ["sf", "c"], ["kept"]),
            helper.make_node("Mul", ["si", "tg"], ["added"]),
            helper.make_node("Add", ["kept", "added"], ["next_c"]),
            helper.make_node("Tanh", ["next_c"], ["tc"]),
            helper.make_node("Mul", ["so", "tc"], ["next_h"]),
            helper.make_node("Identity", ["next_h"], ["out"]),
            helper.make_node("Identity", ["condition"], ["go_on"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("t", TensorProto.INT64, []),
            helper.make_tensor_value_info("condition", TensorProto.BOOL, []),
            helper.make_tensor_value_info("h", FLOAT, ["B", 8]),
            helper.make_tensor_value_info("c", FLOAT, ["B", 8]),
        ],
        [
            helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("next_h", FLOAT, ["B", 8]),
            helper.make_tensor_value_info("next_c", FLOAT, ["B", 8]),
            helper.make_tensor_value_info("out", FLOAT, ["B", 8]),
        ],
    )
    nodes = [
        helper.make_node("Shape", ["x"], ["length"], end=1),
        helper.make_node("Squeeze", ["length"], ["steps"]),
        helper.make_node("Loop", ["steps", "", "h0", "c0"], ["h_last", "c_last", "y"], body=body),
    ]
    weights = {"wx": w.WX, "wh": w.WH, "bias": w.BIAS}
    graph = helper.make_graph(
        nodes,
        "lstm",
        [
            helper.make_tensor_value_info("x", FLOAT, ["T", "B", 16]),
            helper.make_tensor_value_info("h0", FLOAT, ["B", 8]),
            helper.make_tensor_value_info("c0", FLOAT, ["B", 8]),
        ],
        [
            helper.make_tensor_value_info("y", FLOAT, ["T", "B", 8]),
            helper.make_tensor_value_info("h_last", FLOAT, ["B", 8]),
        ],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])


def pipeline() -> onnx.ModelProto:
    nodes = [
        helper.make_node(
            "Scaler",
            ["x"],
            ["scaled"],
            domain="ai.onnx.ml",
            offset=w.OFFSET.tolist(),
            scale=w.FACTOR.tolist(),
        ),
        helper.make_node(
            "OneHotEncoder", ["color"], ["hot"], domain="ai.onnx.ml", cats_strings=["red", "green", "blue"]
        ),
        helper.make_node("Squeeze", ["hot", "axes"], ["colors"]),
        helper.make_node("Concat", ["scaled", "colors"], ["features"], axis=1),
        helper.make_node(
            "LinearClassifier",
            ["features"],
            ["label", "scores"],
            domain="ai.onnx.ml",
            coefficients=w.COEFFICIENTS.reshape(-1).tolist(),
            intercepts=w.INTERCEPTS.tolist(),
            classlabels_ints=[0, 1, 2],
            post_transform="SOFTMAX",
        ),
    ]
    graph = helper.make_graph(
        nodes,
        "pipeline",
        [
            helper.make_tensor_value_info("x", FLOAT, ["N", 3]),
            helper.make_tensor_value_info("color", TensorProto.STRING, ["N", 1]),
        ],
        [
            helper.make_tensor_value_info("label", TensorProto.INT64, ["N"]),
            helper.make_tensor_value_info("scores", FLOAT, ["N", 3]),
        ],
        [helper.make_tensor("axes", TensorProto.INT64, [1], [1])],
    )
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, ir_version=10, opset_imports=imports)
