"""Pairs of texts: two sources side by side in, tokenizers and split `PairPart`s out.

Each side is stored, cached and given its vocabulary as a source of its own; only rows join them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unspool.config import DataConfig, TokenizerConfig
from unspool.data.bytepairs import Stretches
from unspool.data.encode import Encoded, Progress, Rules, encode_source
from unspool.data.fit import fit_tokenizer
from unspool.data.parts import DocumentPart, PairPart
from unspool.data.plan import Plan
from unspool.data.source import Source
from unspool.data.split import HoldOut, choose_rows, stratified
from unspool.data.tokens import Tokens, spans_of, tokens_of
from unspool.errors import ConfigError, DataError
from unspool.text.tokenizers import Frame, Tokenizer
from unspool.text.vocab import BEGIN_ID, END, END_ID, SENTENCE_SPECIALS, UNK_ID

MOST_HELD_OUT = 5000  # pairs of a share: more cost time to translate and tell no more

Tokenizers = tuple[Tokenizer, Tokenizer]


class Paired(NamedTuple):
    """The tokenizers of both sides, the same one where the vocabulary is joint; parts; notes."""

    tokenizers: Tokenizers
    parts: dict[str, PairPart]
    notes: list[str]


def source_frame(tokenizer: Tokenizer) -> Frame:
    """A source ends with </s>, which gives attention a place to rest; a vocabulary that was made
    for another task has none."""
    return Frame(after=(END_ID,) if END in tokenizer.vocab.specials else ())


TARGET_FRAME = Frame(before=(BEGIN_ID,), after=(END_ID,))  # a target is written from <s> on


def split_pairs(
    sources: dict[str, Source],
    *,
    data: DataConfig,
    settings: TokenizerConfig,
    fitted: Tokenizer | None,
    hold_out: HoldOut,
    progress: Progress | None,
) -> Paired:
    """Parts of the training source, or of sources of their own; pairs with an empty side are left
    out of all of them, pairs with a side that is too long out of the training part. A `fitted`
    tokenizer, of the model to start from, reads the source side."""
    written_by = Rules.of(settings, stream=False)
    rules = (written_by if fitted is None else Rules.of_tokenizer(fitted), written_by)
    sides = {name: _encode(source, rules, progress) for name, source in sources.items()}
    notes, usable = [], {}
    for name, (read, written) in sides.items():
        whole = (read.store.characters > 0) & (written.store.characters > 0)
        usable[name] = np.flatnonzero(whole)
        if count := int((~whole).sum()):
            place = sources[name].where(int(read.store.lines[np.argmin(whole)]))
            notes.append(f"{count:,} pairs with an empty side left out, the first at {place}")
    count = max(1, len(usable["train"]))
    split = stratified(
        np.zeros(count, dtype=np.int64),
        hold_out.at_most(MOST_HELD_OUT / count),
        where=sources["train"].name,
    )
    chosen = choose_rows(split, usable)
    stretches = [
        Stretches(side, spans_of(side.store)[chosen["train"].rows]) for side in sides["train"]
    ]
    tokenizers, told = _fit(stretches, settings, fitted, progress)
    tokens = {name: _tokens(pair, tokenizers, progress) for name, pair in sides.items()}
    parts = {}
    for name, (home, rows) in chosen.items():
        fits = _within(tokens[home], rows, data.max_length)
        if name == "train" and not fits.all():
            place = sources[home].where(int(sides[home][0].store.lines[rows[np.argmin(fits)]]))
            notes.append(
                f"{int((~fits).sum()):,} pairs with a side of more than {data.max_length:,} tokens"
                f" left out of training, the first at {place}"
            )
            rows = rows[fits]
        if len(rows) == 0:
            raise DataError(
                f"no pair is left for {name}",
                where=sources[home].path,
                remedy="give more pairs, or a larger max_length (0: no limit)",
            )
        parts[name] = pair_part(
            sources[home], sides[home], tokens[home], rows, data.max_length, tokenizers
        )
        if cut := parts[name].source.cut:
            notes.append(f"{name}: {cut:,} sources cut to {data.max_length:,} tokens")
    return Paired(tokenizers, parts, [*told, *notes])


def encode_pairs(
    plan: Plan, tokenizers: Tokenizers, data: DataConfig, progress: Progress | None
) -> tuple[PairPart, list[str]]:
    """A whole source for tokenizers that have been fitted before, as for evaluation; no pair is
    left out. The notes say what the model cannot read or write as it stands."""
    source = Source(plan)
    if source.target is None:
        raise DataError("holds no targets to compare with", where=source.name)
    rules = [Rules.of_tokenizer(tokenizer) for tokenizer in tokenizers]
    pair = tuple(encode_source(s, r, progress) for s, r in zip(source.sides, rules))
    _check_rows(source, pair)
    tokens = _tokens(pair, tokenizers, progress)
    rows = np.arange(len(pair[0].store))
    part = pair_part(source, pair, tokens, rows, data.max_length, tokenizers)
    notes = []
    for side, (store, remap), what in zip(source.sides, tokens, ("sources", "targets")):
        unknown = remap[store.ids] == UNK_ID
        if count := int(unknown.sum()):
            row = int(np.searchsorted(store.offsets, np.argmax(unknown), "right")) - 1
            place = side.where(int(part.lines[row]))
            notes.append(
                f"{count:,} tokens of the {what} are unknown to the vocabulary, the first at"
                f" {place}"
            )
    if part.source.cut:
        notes.append(f"{part.source.cut:,} sources cut to {data.max_length:,} tokens")
    return part, notes


def pair_part(
    source: Source,
    pair: tuple[Encoded, ...],
    tokens: tuple[Tokens, ...],
    rows: np.ndarray,
    max_length: int,
    tokenizers: Tokenizers,
) -> PairPart:
    frames = (source_frame(tokenizers[0]), TARGET_FRAME)
    read, written = (
        DocumentPart(
            store,
            rows,
            remap=remap,
            lines=encoded.store.lines[rows],
            labels=None,
            max_length=max_length + frame.size if max_length else 0,
            frame=frame,
        )
        for encoded, (store, remap), frame in zip(pair, tokens, frames)
    )
    return PairPart(read, written, source)


def _encode(
    source: Source, rules: tuple[Rules, Rules], progress: Progress | None
) -> tuple[Encoded, ...]:
    pair = tuple(encode_source(side, rule, progress) for side, rule in zip(source.sides, rules))
    _check_rows(source, pair)
    return pair


def _check_rows(source: Source, pair: tuple[Encoded, ...]) -> None:
    sizes = [len(side.store) for side in pair]
    if sizes[0] != sizes[1]:
        longer = source.sides[int(sizes[1] > sizes[0])]
        raise DataError(
            f"this line has no partner: {source.sides[0].name} has {sizes[0]:,} lines and"
            f" {source.sides[1].name} {sizes[1]:,}",
            where=longer.where(min(sizes) + 1),
            remedy="give files in which line n of one is the translation of line n of the other",
        )
    for side, encoded in zip(source.sides, pair):
        if not encoded.store.characters.any():
            raise DataError(
                f"all {len(encoded.store):,} lines of one side are empty",
                where=side.name,
                remedy="give a file, or with --source and --target columns, that hold text",
            )


def is_joint(settings: TokenizerConfig) -> bool:
    """Whether both sides get one vocabulary; unless it is said, byte pairs do."""
    return settings.kind in ("auto", "bpe") if settings.joint is None else settings.joint


def _fit(
    stretches: list[Stretches],
    settings: TokenizerConfig,
    fitted: Tokenizer | None,
    progress: Progress | None,
) -> tuple[Tokenizers, list[str]]:
    """One tokenizer for both sides, or one for each; and what is to be said about them."""
    if fitted is not None:
        if settings.joint:
            raise ConfigError(
                "a model that starts from another reads with the vocabulary of that one, and writes"
                " with one of its own",
                got="tokenizer.joint=true",
                remedy="leave it out",
            )
        written, told = fit_tokenizer(stretches[1:], settings, progress, specials=SENTENCE_SPECIALS)
        return (fitted, written), [f"target {told}"]
    if is_joint(settings):
        both, told = fit_tokenizer(stretches, settings, progress, specials=SENTENCE_SPECIALS)
        return (both, both), [f"{told}, both sides together"]
    (read, told_read), (written, told_written) = (
        fit_tokenizer([side], settings, progress, specials=SENTENCE_SPECIALS) for side in stretches
    )
    return (read, written), [f"source {told_read}", f"target {told_written}"]


def _tokens(
    pair: tuple[Encoded, ...], tokenizers: Tokenizers, progress: Progress | None
) -> tuple[Tokens, ...]:
    return tuple(
        tokens_of(side, tokenizer, spans_of(side.store), progress)
        for side, tokenizer in zip(pair, tokenizers)
    )


def _within(tokens: tuple[Tokens, ...], rows: np.ndarray, most: int) -> np.ndarray:
    """Which rows have at most so many tokens on both sides (0: all)."""
    if not most:
        return np.ones(len(rows), dtype=bool)
    lengths = [store.offsets[rows + 1] - store.offsets[rows] for store, _ in tokens]
    return np.maximum(*lengths) <= most
