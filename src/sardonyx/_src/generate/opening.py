"""What a generator opens: the session, the tokenizer, the chat template and the draft."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from sardonyx._src.arguments import require_choice, require_type
from sardonyx._src.errors import InputError
from sardonyx._src.generate.decoder.cache_room import has_edited_caches, writes_in_place
from sardonyx._src.generate.decoder.decoder import TokenDecoder
from sardonyx._src.generate.decoder.encoder import PromptEncoder
from sardonyx._src.generate.drafts.draft import Draft
from sardonyx._src.generate.drafts.lookup import LookupDraft
from sardonyx._src.generate.drafts.model import ModelDraft
from sardonyx._src.generate.folders.contents import FolderContents
from sardonyx._src.generate.text.chat_template import ChatTemplate
from sardonyx._src.generate.text.tokenizer import FILE, Tokenizer
from sardonyx._src.io.loading.model_sources import DecoderEdit, DecoderFile
from sardonyx._src.ir import Model
from sardonyx._src.rewrite.decoder_edit import edit_decoder
from sardonyx._src.runtime.session.session import Session


def open_decoder_session(
    source: object, options: dict[str, Any], last_output: str, *, has_encoder: bool
) -> Session:
    """The session of a decoder, whose growing caches have room if runs then write them in place.

    last_output: the output that is computed at the last position alone, if the source is a path or a model; empty for none.
    """
    session = open_session(source, options, DecoderEdit(last_output))
    if isinstance(source, Session) or not has_edited_caches(session):
        return session
    if not has_encoder and writes_in_place(session):
        return session
    return open_session(source, options, DecoderEdit(last_output, has_room=False))


def open_session(source: object, options: dict[str, Any], edit: DecoderEdit | None = None) -> Session:
    """The session of a model.  edit: of the model, if the source is a path or a model."""
    if edit is not None and isinstance(source, str | os.PathLike) and not os.fspath(source).endswith(".sdx"):
        source = DecoderFile(source, edit)
    elif isinstance(source, Model):
        source = edit_decoder(source, edit)
    if not isinstance(source, Session):
        # Files declare that a cache ends with the last token, which one with room for more does not.
        options = {"shapes": "off", **options}
        return Session(source, **options)  # type: ignore[arg-type]  # a path or a model, by the type of the caller
    if options:
        raise TypeError(f"a session has been opened already; got options for it: {', '.join(options)}")
    return source


def open_decoder(
    session: Session,
    contents: FolderContents,
    encoder: PromptEncoder | None,
    first: Session | None,
    roles: Mapping[str, str],
    sizes: Mapping[str, int],
) -> TokenDecoder:
    """The decoder of a session, by what its folder and the caller say."""
    return TokenDecoder(
        session,
        {**contents.roles, **roles},
        {**contents.sizes, **sizes},
        context=encoder.context if encoder is not None else (),
        first=first,
    )


def open_encoder(
    source: str | os.PathLike[str] | Session | None,
    contents: FolderContents,
    decoder: Session,
    options: dict[str, Any],
) -> PromptEncoder | None:
    """The encoder that a caller gives, or the one of the folder; None if there is none.

    decoder: the session that reads the first tokens.
    """
    if source is not None:
        require_type("encoder", source, (str, os.PathLike, Session), "a path or a session")
    if source is None and contents.encoder is None:
        return None
    session = source if isinstance(source, Session) else Session(source or contents.encoder, **options)  # type: ignore[arg-type]  # one of them is a path
    return PromptEncoder(session, decoder.inputs, contents.encoder_outputs)


def open_tokenizer(given: Tokenizer | str | os.PathLike[str] | None, folder: Path | None) -> Tokenizer | None:
    """The tokenizer that a caller gives, or the one of the folder; None if there is none."""
    if isinstance(given, Tokenizer):
        return given
    if given is not None:
        require_type("tokenizer", given, (str, os.PathLike), "a path or a Tokenizer")
        return Tokenizer.open(Path(given))
    return Tokenizer.open(folder) if folder is not None and (folder / FILE).exists() else None


def open_template(
    source: str | None, folder: Path | None, tokenizer: Tokenizer | None
) -> ChatTemplate | None:
    """The chat template that a caller gives, or the one of the folder; None if there is none."""
    special = tokenizer.special if tokenizer is not None else {}
    if source is not None:
        require_type("chat_template", source, str, "a str")
        return ChatTemplate(source, special)
    return ChatTemplate.open(folder, special) if folder is not None else None


def open_draft(draft: TokenDecoder | Literal["lookup"] | None, decoder: TokenDecoder) -> Draft | None:
    """What proposes tokens to a decoder; raises InputError where it cannot read several and keep some of them."""
    if draft is None:
        return None
    if not (decoder.can_cut and decoder.has_every_logit):
        raise InputError(
            "drafts require a decoder with logits of every token, and caches that can be cut; got a model with logits of the "
            "last token alone, or with a recurrent state",
            name="draft",
        )
    if isinstance(draft, TokenDecoder):
        if draft.context:
            raise InputError("a draft must be a decoder without an encoder", name="draft")
        known = {draft.vocabulary, decoder.vocabulary} - {None}  # of models that declare it
        if len(known) > 1:
            raise InputError(
                f"a draft must have the tokens of the model, {decoder.vocabulary}; got {draft.vocabulary}",
                name="draft",
            )
        return ModelDraft(draft)
    require_choice("draft", draft, ["lookup"])
    return LookupDraft()
