import numpy as np
import pytest

from ops.microsoft.judge import VendorCase, assert_agrees

TEXTS = np.array(["Hello big World", "I love computer science!", "", "ab  cd"], object)
BASE = {"mark": 0, "pad_value": "#", "mincharnum": 1}
CASES = [
    VendorCase("Tokenizer", [TEXTS], {**BASE, "separators": [" "]}, standard=False),
    VendorCase(
        "Tokenizer", [TEXTS.reshape(2, 2)], {**BASE, "separators": [" "]}, standard=False, label="rank 2"
    ),
    VendorCase(
        "Tokenizer", [TEXTS], {**BASE, "separators": [" ", "l+"]}, standard=False, label="two separators"
    ),
    VendorCase("Tokenizer", [TEXTS], {**BASE, "separators": [""]}, standard=False, label="characters"),
    VendorCase(
        "Tokenizer",
        [TEXTS],
        {**BASE, "separators": [""], "pad_value": "<pad>"},
        standard=False,
        label="characters, a long padding",
    ),
    VendorCase(
        "Tokenizer",
        [TEXTS],
        {**BASE, "separators": [""], "mark": 1},
        standard=False,
        label="characters, marks",
    ),
    VendorCase(
        "Tokenizer", [TEXTS[2:3]], {**BASE, "separators": [""]}, standard=False, label="characters of no text"
    ),
    VendorCase("Tokenizer", [TEXTS], {**BASE, "separators": ["[ !]", "l"]}, standard=False, label="classes"),
    VendorCase("Tokenizer", [TEXTS], {**BASE, "tokenexp": "[a-zA-Z0-9_]+"}, standard=False, label="words"),
    VendorCase(
        "Tokenizer",
        [TEXTS],
        {**BASE, "tokenexp": "[a-z]+", "mincharnum": 3},
        standard=False,
        label="long words",
    ),
    VendorCase("Tokenizer", [TEXTS], {**BASE, "tokenexp": "."}, standard=False, label="any character"),
    VendorCase("Tokenizer", [TEXTS], {**BASE, "mark": 1, "separators": [" "]}, standard=False, label="marks"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_agrees(case: VendorCase) -> None:
    assert_agrees(case)
