"""What the inputs and outputs of a decoder are for: tokens, mask, positions, lengths, caches, logits."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, TypeAlias, get_args

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.generate.decoder.cache_pairs import CachePair, pair_caches, pair_cross_caches
from sardonyx._src.rewrite.cache_room import PLACES
from sardonyx._src.runtime.session.session import Session
from sardonyx._src.runtime.session.session_values import SessionValue

Role: TypeAlias = Literal[
    "tokens",
    "mask",
    "positions",
    "new_positions",
    "past_length",
    "total_length",
    "has_past",
    "past_places",
    "logits",
]
ROLES: tuple[Role, ...] = get_args(Role)
# Names that exporters give: onnxruntime-genai, optimum, torch, and the models of the specification's examples.
NAMES: Mapping[str, Role] = {
    "input_ids": "tokens",
    "decoder_input_ids": "tokens",
    "tokens": "tokens",
    "token_ids": "tokens",
    "attention_mask": "mask",
    "decoder_attention_mask": "mask",
    "position_ids": "positions",
    "positions": "positions",
    "cache_position": "new_positions",
    "write_indices": "past_length",
    "past_sequence_length": "past_length",
    "past_length": "past_length",
    "nonpad_kv_seqlen": "total_length",
    "total_sequence_length": "total_length",
    "use_cache_branch": "has_past",
    PLACES: "past_places",
    "logits": "logits",
}
NUMBERS = frozenset({"tokens", "mask", "positions", "new_positions", "past_length", "total_length"})


@dataclass(frozen=True, slots=True)
class DecoderRoles:
    """The roles of a decoder's inputs and outputs.

    names: the input or output of each role that the model has.
        tokens: [batch, length], those that are new.  mask: [batch, total], 1 for each token so far.
        positions: [batch, length].  new_positions: [length].
        past_length, total_length: the tokens before and after the run, a number or one for each row.
        has_past: whether caches contain tokens.
        past_places: a vector with as many elements as there are tokens before the run.
        logits: [batch, length, vocabulary], or [batch, vocabulary] of the last token.
    caches: inputs of the past, with the outputs that are fed to them next.
    cross: inputs of caches of what an encoder computed, with the outputs of the first run that are fed to them ever after.
    """

    names: Mapping[Role, str]
    caches: tuple[CachePair, ...]
    cross: tuple[CachePair, ...] = ()


def find_roles(
    session: Session,
    given: Mapping[str, str] | None = None,
    *,
    context: Collection[str] = (),
    first: Session | None = None,
) -> DecoderRoles:
    """The roles of a decoder's inputs and outputs, by their names and by how the graph computes caches.

    given: names of inputs and outputs by role, which take precedence, and for a cache its output by its input.
    context: inputs that an encoder computes.
    first: the decoder that reads the first tokens, if it is another one.
    Raises InputError, naming the cure, if tokens or logits are not evident or an input has no role.
    """
    inputs, outputs = {v.name: v for v in session.inputs}, {v.name: v for v in session.outputs}
    chosen, stated_pairs = read_given(given or {}, inputs, outputs)
    names = {**named_roles(inputs, outputs, chosen), **chosen}
    if "tokens" not in names:
        names["tokens"] = only_tokens(inputs.values())
    known = {*names.values(), *context}
    rest = [v for v in inputs.values() if v.name not in known and not v.has_default]
    results = [v for v in outputs.values() if v.name != names.get("logits")]
    cross = pair_cross_caches(rest, first.outputs if first is not None else results) if context else ()
    crossed = {pair.past for pair in cross}
    caches = pair_caches([v for v in rest if v.name not in crossed], results, stated_pairs, session)
    paired = crossed | {pair.past for pair in caches}
    for value in rest:
        if value.name not in paired:
            raise InputError(
                f"input {value!r} has no role in a decoder: say its role as roles={{role: {value.name!r}}} with one of "
                f"{', '.join(ROLES)}, or the output that is fed to it next as roles={{{value.name!r}: output}}",
                name=value.name,
            )
    presents = {pair.present for pair in (*caches, *cross)}
    if "logits" not in names:
        names["logits"] = only_logits([v for v in results if v.name not in presents])
    return DecoderRoles(names, caches, cross)


def read_given(
    given: Mapping[str, str], inputs: Mapping[str, SessionValue], outputs: Mapping[str, SessionValue]
) -> tuple[dict[Role, str], dict[str, str]]:
    """The roles that a caller states: names by role, and outputs of caches by their inputs."""
    names: dict[Role, str] = {}
    pairs: dict[str, str] = {}
    for key, name in given.items():
        if key not in ROLES and key not in inputs:
            raise InputError(
                f"a role must be one of {', '.join(ROLES)}, or an input of the model; got {key!r}",
                name="roles",
            )
        is_output = key == "logits" or key not in ROLES
        where, kind = (outputs, "an output") if is_output else (inputs, "an input")
        if name not in where:
            raise InputError(
                f"the role {key!r} must be {kind} of the model: {', '.join(where)}; got {name!r}",
                name="roles",
            )
        if key in ROLES:
            names[key] = name
        else:
            pairs[key] = name
    return names, pairs


def named_roles(
    inputs: Mapping[str, SessionValue], outputs: Mapping[str, SessionValue], chosen: Mapping[Role, str]
) -> dict[Role, str]:
    """Roles by the names that exporters give; what a caller chose is left out."""
    roles: dict[Role, str] = {}
    for name, role in NAMES.items():
        where = outputs if role == "logits" else inputs
        value = where.get(name)
        if value is None or name in chosen.values() or role in roles or not is_fit(role, value):
            continue
        roles[role] = name
    return roles


def is_fit(role: Role, value: SessionValue) -> bool:
    """Whether a value's element type is one of the role."""
    return role not in NUMBERS or (
        value.dtype is not None and not value.dtype.is_complex and value.dtype != DataType.STRING
    )


def only_tokens(inputs: Iterable[SessionValue]) -> str:
    """The only input [batch, length] of integers."""
    matching = [
        v.name
        for v in inputs
        if v.dtype is not None and v.dtype.is_integer and v.shape is not None and len(v.shape) == 2
    ]
    if len(matching) != 1:
        raise InputError(
            f"the input of tokens must be evident: an input [batch, length] of integers; got {matching or 'none'}: "
            'name it as roles={"tokens": name}',
            name="roles",
        )
    return matching[0]


def only_logits(outputs: Sequence[SessionValue]) -> str:
    """The only output that is no cache and has the rank of logits."""
    matching = [v.name for v in outputs if v.shape is None or len(v.shape) in (2, 3)]
    if len(matching) != 1:
        raise InputError(
            f"the output of logits must be evident: an output [batch, length, vocabulary]; got {matching or 'none'}: "
            'name it as roles={"logits": name}',
            name="roles",
        )
    return matching[0]
