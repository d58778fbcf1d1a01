"""The twelve mistakes in Sardonyx, in the order of `mistakes.KINDS`."""

from __future__ import annotations

import numpy as np

import sardonyx as sx


def start():
    b = sx.Builder(opset=21)
    return b, b.input("x", "float32", ["N", 4])


def finish(b, y):
    return sx.to_onnx(b.model(y=y))


def misspelled_operator():
    b, x = start()
    y = b.Rellu(x)  # mistake
    return finish(b, y)


def newer_operator():
    b, x = start()
    y = b.Swish(x)  # mistake
    return finish(b, y)


def missing_input():
    b, x = start()
    y = b.Add(x)  # mistake
    return finish(b, y)


def misspelled_attribute():
    b, x = start()
    y = b.Softmax(x, axes=1)  # mistake
    return finish(b, y)


def attribute_type():
    b, x = start()
    y = b.Softmax(x, axis="1")  # mistake
    return finish(b, y)


def missing_attribute():
    b, x = start()
    y = b.Cast(x)  # mistake
    return finish(b, y)


def element_types():
    b, x = start()
    y = x + np.zeros(4)  # mistake
    return finish(b, y)


def product_sizes():
    b, x = start()
    y = x @ np.zeros((3, 2), np.float32)  # mistake
    return finish(b, y)


def broadcast_sizes():
    b, x = start()
    y = x + np.zeros(3, np.float32)  # mistake
    return finish(b, y)


def axis_beyond_rank():
    b, x = start()
    y = b.Softmax(x, axis=2)  # mistake
    return finish(b, y)


def two_names():
    b, x = start()
    b.constant("w", np.zeros(4, np.float32))
    y = x + b.constant("w", np.ones(4, np.float32))  # mistake
    return finish(b, y)


def value_of_branch():
    b, x = start()
    inner = []
    b.if_(True, lambda: inner.append(x + 1) or inner[0], lambda: x)
    y = b.Relu(inner[0])  # mistake
    return finish(b, y)
