import numpy as np
import pytest

from ops.microsoft.judge import VendorCase, assert_agrees, assert_native_agrees

RNG = np.random.default_rng(3)


def draw(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


IMAGE, FILTERS, BIAS, ADDEND = draw(1, 4, 6, 6), draw(8, 4, 3, 3), draw(8), draw(1, 8, 4, 4)
WINDOW = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}

CASES = [
    VendorCase("FusedMatMul", [draw(2, 3, 4), draw(4, 5)], {"alpha": 0.5}),
    VendorCase("FusedMatMul", [draw(2, 4, 3), draw(2, 4, 5)], {"transA": 1}, label="transA"),
    VendorCase("FusedMatMul", [draw(2, 3, 4), draw(2, 5, 4)], {"transB": 1, "alpha": 0.125}, label="transB"),
    VendorCase("FusedMatMul", [draw(4), draw(4, 5)], {"transA": 1}, label="vector"),
    VendorCase("FusedMatMul", [draw(3, 2, 6, 4), draw(2, 6, 4, 5)], {"transBatchA": 1}, label="transBatchA"),
    VendorCase(
        "FusedMatMul",
        [draw(4, 2, 6, 3), draw(5, 2, 6, 4)],
        {"transA": 1, "transB": 1, "transBatchA": 1, "transBatchB": 1},
        label="all",
    ),
    VendorCase("TransposeMatMul", [draw(4, 3), draw(4, 5)], {"transA": 1, "alpha": 2.0}),
    VendorCase("FusedGemm", [draw(3, 4), draw(4, 5), draw(5)], {"activation": "Relu", "alpha": 0.5}),
    VendorCase(
        "FusedGemm",
        [draw(4, 3), draw(5, 4)],
        {"activation": "LeakyRelu", "activation_alpha": 0.1, "transA": 1, "transB": 1},
        label="LeakyRelu",
    ),
    *(
        VendorCase(
            "FusedGemm", [draw(3, 4), draw(4, 5), draw(3, 5)], {"activation": name, **more}, label=name
        )
        for name, more in {
            "Sigmoid": {},
            "Tanh": {},
            "Elu": {"activation_alpha": 0.7},
            "HardSigmoid": {"activation_alpha": 0.3, "activation_beta": 0.4},
            "Softplus": {},
            "Selu": {"activation_alpha": 1.6, "activation_gamma": 1.05},
            "ThresholdedRelu": {"activation_alpha": 0.5},
            "Softsign": {},
        }.items()
    ),
    VendorCase("FusedConv", [IMAGE, FILTERS], {"activation": "Relu", **WINDOW}),
    VendorCase(
        "FusedConv",
        [IMAGE, FILTERS, BIAS, ADDEND],
        {"activation": "Relu", "kernel_shape": [3, 3]},
        label="addend",
    ),
    VendorCase("FusedConv", [IMAGE, FILTERS, BIAS, ADDEND], {"kernel_shape": [3, 3]}, label="plain"),
    VendorCase(
        "FusedConv",
        [IMAGE, FILTERS, BIAS],
        {"activation": "Clip", "activation_params": [0.0, 1.5], **WINDOW},
        label="Clip",
    ),
    VendorCase(
        "FusedConv",
        [IMAGE, draw(8, 1, 3, 3)],
        {"activation": "LeakyRelu", "activation_params": [0.2], "group": 4, "strides": [2, 2], **WINDOW},
        label="LeakyRelu",
    ),
    VendorCase(
        "FusedConv",
        [IMAGE, FILTERS],
        {"activation": "HardSigmoid", "activation_params": [0.3, 0.4], "auto_pad": "SAME_UPPER"},
        label="HardSigmoid",
    ),
    VendorCase(
        "FusedConv", [IMAGE, FILTERS, BIAS], {"activation": "Tanh", "dilations": [2, 2]}, label="Tanh"
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_agrees(case: VendorCase) -> None:
    assert_agrees(case)


@pytest.mark.parametrize("case", CASES[1::5], ids=str)
def test_native(case: VendorCase) -> None:
    assert_native_agrees(case)
