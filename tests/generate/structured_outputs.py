"""Outputs of drawn forms, JSON schemas, regular expressions and grammars, by a model that knows nothing: each must be valid.

PYTHONPATH=tests python -m generate.structured_outputs 10000
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import jsonschema
import numpy as np

from generate.decoders import chain_decoder
from generate.folders import byte_tokenizer, write_folder
from sardonyx.generate import Generator

MAX_DEPTH, MAX_TOKENS, END = 3, 4000, 257
Schema: TypeAlias = dict[str, Any]
NAMES = ("a", "name", "größe", "x y", 'quo"te', "items")
GRAMMARS: dict[str, tuple[str, Callable[[str], object]]] = {
    "parentheses": (
        'start: "(" a ")" a | "x"\na: "(" b ")" b | "x"\nb: "(" c ")" c | "x"\nc: "x"',
        lambda text: check_parentheses(text),
    ),
    "sum": (
        'start: term (("+" | "-") term){0,6}\nterm: NUMBER | "(" NUMBER "*" NUMBER ")"\nNUMBER: /[1-9][0-9]{0,3}/',
        lambda text: ast.parse(text, mode="eval"),
    ),
    "list": (
        'start: "[" (item ("," item){0,5})? "]"\nitem: /[0-9]/ | "\\"" /[a-zà-ÿ]{0,5}/ "\\"" | "[" "]"',
        lambda text: check(isinstance(ast.literal_eval(text), list), text),
    ),
    "lines": (
        'start: (KEY " = " VALUE "\\n"){1,4}\nKEY: /[a-z_]{1,6}/\nVALUE: "on" | "off" | /-?[0-9]{1,5}/',
        lambda text: check(re.fullmatch(r"([a-z_]{1,6} = (on|off|-?[0-9]{1,5})\n){1,4}", text), text),
    ),
}


def check(holds: object, text: str) -> None:
    assert holds, text


def check_parentheses(text: str) -> None:
    """Every prefix has at least as many opening ones, and one more x than pairs."""
    depth = 0
    for letter in text:
        check(letter in "()x", text)
        depth += {"(": 1, ")": -1, "x": 0}[letter]
        check(depth >= 0, text)
    check(depth == 0 and text.count("x") == text.count("(") + 1, text)


# --- drawn forms -------------------------------------------------------------------------------


def draw_schema(random: Random, depth: int = 0) -> Schema:
    leaves = [draw_integer, draw_number, draw_string, draw_choice]
    nested: list[Callable[[Random, int], Schema]] = [draw_array, draw_object, draw_union]
    if depth == 0 or (depth < MAX_DEPTH and random.random() < 0.4):
        return random.choice(nested)(random, depth + 1)
    return random.choice(leaves)(random)


def draw_integer(random: Random) -> Schema:
    low = random.randint(-1000, 1000)
    bounds = {"minimum": low, random.choice(["maximum", "exclusiveMaximum"]): low + random.randint(1, 500)}
    return {"type": "integer", **random.choice([bounds, {"minimum": low, "maximum": low}])}


def draw_number(random: Random) -> Schema:
    low = random.randint(-50, 50)
    return {"type": "number", "minimum": low, "maximum": low + random.randint(1, 40)}


def draw_string(random: Random) -> Schema:
    low = random.randint(0, 4)
    kinds: list[Schema] = [
        {"minLength": low, "maxLength": low + random.randint(0, 8)},
        {"pattern": f"^{draw_expression(random)}$"},
        {"format": random.choice(["date", "uuid", "ipv4"])},
    ]
    return {"type": "string", **random.choice(kinds)}


def draw_choice(random: Random) -> Schema:
    values = random.sample(
        [None, True, False, 0, -3, 2.5, "", "red", "grün", '"\\', "\n"], random.randint(1, 4)
    )
    return random.choice([{"enum": values}, {"const": values[0]}, {"type": "boolean"}, {"type": "null"}])


def draw_array(random: Random, depth: int) -> Schema:
    low = random.randint(0, 2)
    bounds = {"minItems": low, "maxItems": low + random.randint(0, 3)}
    if random.random() < 0.3:
        items = [draw_schema(random, depth) for _ in range(random.randint(1, 3))]
        return {"type": "array", "prefixItems": items, "items": False, "minItems": len(items)}
    return {"type": "array", "items": draw_schema(random, depth), **bounds}


def draw_object(random: Random, depth: int) -> Schema:
    names = random.sample(NAMES, random.randint(1, 4))
    properties = {name: draw_schema(random, depth) for name in names}
    required = [name for name in names if random.random() < 0.7]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def draw_union(random: Random, depth: int) -> Schema:
    parts = [draw_schema(random, depth) for _ in range(random.randint(1, 3))]
    if random.random() < 0.3:
        return {"$ref": "#/$defs/part", "$defs": {"part": parts[0]}} if depth == 1 else parts[0]
    return {"anyOf": parts}


def draw_expression(random: Random, depth: int = 0) -> str:
    """A regular expression of ASCII whose matches are short."""
    if depth == MAX_DEPTH or random.random() < 0.4:
        return random.choice(["[a-f]", "[0-9]{1,3}", "ab?", "x", "[^a-y]z", "-", "\\.", "[A-Z][a-z]{0,5}q"])
    parts = [draw_expression(random, depth + 1) for _ in range(random.randint(1, 3))]
    joined = random.choice(["".join(parts), f"({'|'.join(parts)})"])
    return random.choice([joined, f"({joined}){{1,2}}", f"({joined})?k"])


# --- outputs -----------------------------------------------------------------------------------


def open_bytes(folder: Path) -> Generator:
    """A model of bytes with drawn logits."""
    library = byte_tokenizer()
    library.add_special_tokens(["<s>", "</s>"])
    size = library.get_vocab_size()
    chain = np.random.default_rng(0).standard_normal((size, size)).astype(np.float32)
    write_folder(folder, chain_decoder(chain), library=library)
    return Generator(folder, end_tokens=[END])


def check_output(generator: Generator, number: int) -> str:
    """Draws a form and an output; returns the kind of the form.  Raises AssertionError or ValidationError if it is invalid."""
    random = Random(number)
    kind = random.choice(["schema", "schema", "regex", "grammar"])
    settings: dict[str, Any] = {
        "temperature": random.choice([1.0, 1.5, 2.0]),
        "seed": number,
        "max_tokens": MAX_TOKENS,
    }
    if kind == "schema":
        schema = draw_schema(random)
        text = complete_text(generator, json_schema=schema, **settings)
        jsonschema.validate(json.loads(text), schema, format_checker=jsonschema.FormatChecker())
    elif kind == "regex":
        pattern = draw_expression(random)
        text = complete_text(generator, regex=pattern, **settings)
        check(re.fullmatch(pattern, text, re.DOTALL), f"{pattern}: {text}")
    else:
        kind = random.choice(sorted(GRAMMARS))
        source, is_valid = GRAMMARS[kind]
        is_valid(complete_text(generator, grammar=source, **settings))
    return kind


def complete_text(generator: Generator, **settings: Any) -> str:
    result = generator.generate("a", **settings)
    assert result.finish_reason == "stop", f"{len(result.tokens)} tokens: {settings}"
    return result.text


def main() -> None:
    first, count = 0, int(sys.argv[1])
    with TemporaryDirectory() as folder:
        generator = open_bytes(Path(folder))
        kinds = Counter(check_output(generator, number) for number in range(first, first + count))
    sys.stdout.write(f"{kinds.total()} outputs, all valid: {dict(kinds)}\n")


if __name__ == "__main__":
    main()
