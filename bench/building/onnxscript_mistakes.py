"""The twelve mistakes in onnxscript, in the order of `mistakes.KINDS`.

A script is translated when it is defined; its errors quote the line.
"""

import numpy as np
import onnx
from onnxscript import FLOAT, script
from onnxscript import opset21 as op

WIDE = onnx.numpy_helper.from_array(np.zeros(4), "wide")
TALL = onnx.numpy_helper.from_array(np.zeros((3, 2), np.float32), "tall")
SHORT = onnx.numpy_helper.from_array(np.zeros(3, np.float32), "short")


def misspelled_operator():
    @script()
    def main(x: FLOAT["N", 4]):
        y = op.Rellu(x)  # mistake
        return y

    return main.to_model_proto()


def newer_operator():
    @script()
    def main(x: FLOAT["N", 4]):
        y = op.Swish(x)  # mistake
        return y

    return main.to_model_proto()


def missing_input():
    @script()
    def main(x: FLOAT["N", 4]):
        y = op.Add(x)  # mistake
        return y

    return main.to_model_proto()


def misspelled_attribute():
    @script()
    def main(x: FLOAT["N", 4]):
        y = op.Softmax(x, axes=1)  # mistake
        return y

    return main.to_model_proto()


def attribute_type():
    @script()
    def main(x: FLOAT["N", 4]):
        y = op.Softmax(x, axis="1")  # mistake
        return y

    return main.to_model_proto()


def missing_attribute():
    @script()
    def main(x: FLOAT["N", 4]):
        y = op.Cast(x)  # mistake
        return y

    return main.to_model_proto()


def element_types():
    @script()
    def main(x: FLOAT["N", 4]):
        y = x + op.Constant(value=WIDE)  # mistake
        return y

    return main.to_model_proto()


def product_sizes():
    @script()
    def main(x: FLOAT["N", 4]):
        y = op.MatMul(x, op.Constant(value=TALL))  # mistake
        return y

    return main.to_model_proto()


def broadcast_sizes():
    @script()
    def main(x: FLOAT["N", 4]):
        y = x + op.Constant(value=SHORT)  # mistake
        return y

    return main.to_model_proto()


def axis_beyond_rank():
    @script()
    def main(x: FLOAT["N", 4]):
        y = op.Softmax(x, axis=2)  # mistake
        return y

    return main.to_model_proto()


two_names = None  # variables are Python's: a second assignment is another value


def value_of_branch():
    @script()
    def main(x: FLOAT["N", 4]):
        if op.ReduceMax(x, keepdims=0) > 0.0:
            inner = op.Relu(x)
            z = inner
        else:
            z = x
        y = op.Add(z, inner)  # mistake
        return y

    return main.to_model_proto()
