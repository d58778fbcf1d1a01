"""The twelve mistakes in spox, in the order of `mistakes.KINDS`."""

from __future__ import annotations

import numpy as np
import spox.opset.ai.onnx.v21 as op
from spox import Tensor, argument, build


def start():
    return argument(Tensor(np.float32, ("N", 4)))


def finish(x, y):
    return build({"x": x}, {"y": y})


def misspelled_operator():
    x = start()
    y = op.rellu(x)  # mistake
    return finish(x, y)


def newer_operator():
    x = start()
    y = op.swish(x)  # mistake
    return finish(x, y)


def missing_input():
    x = start()
    y = op.add(x)  # mistake
    return finish(x, y)


def misspelled_attribute():
    x = start()
    y = op.softmax(x, axes=1)  # mistake
    return finish(x, y)


def attribute_type():
    x = start()
    y = op.softmax(x, axis="1")  # mistake
    return finish(x, y)


def missing_attribute():
    x = start()
    y = op.cast(x)  # mistake
    return finish(x, y)


def element_types():
    x = start()
    y = op.add(x, op.const(np.zeros(4)))  # mistake
    return finish(x, y)


def product_sizes():
    x = start()
    y = op.matmul(x, op.const(np.zeros((3, 2), np.float32)))  # mistake
    return finish(x, y)


def broadcast_sizes():
    x = start()
    y = op.add(x, op.const(np.zeros(3, np.float32)))  # mistake
    return finish(x, y)


def axis_beyond_rank():
    x = start()
    y = op.softmax(x, axis=2)  # mistake
    return finish(x, y)


two_names = None  # names are given to inputs and outputs only, as keys of dicts


def value_of_branch():
    x = start()
    inner = []

    def branch():
        inner.append(op.add(x, op.const(np.float32(1))))
        return [inner[0]]

    op.if_(op.const(np.array(True)), then_branch=branch, else_branch=lambda: [x])
    y = op.relu(inner[0])  # mistake
    return finish(x, y)
