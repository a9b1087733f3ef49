"""Everything that training needs from the data: sources in, a `Corpus` of split token ids out.

The ids stay on disk, memory-mapped as raw ids; `remap` turns those into the ids of the vocabulary
when a row is asked for. So the vocabulary and the split can change without another look at the
text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from unspool.config import DataConfig, TokenizerConfig
from unspool.data.bytepairs import encode_bytepairs, fit_cached
from unspool.data.encode import Encoded, Progress, Rules, encode_source
from unspool.data.fit import choose_vocab, count_types, open_tokenizer, resolve_kind
from unspool.data.labels import (
    class_indices,
    class_names,
    listed,
    require_labels,
    single_examples,
)
from unspool.data.parts import DocumentPart, StreamPart
from unspool.data.readers import Source
from unspool.data.split import check_shares, stratified, stream_cuts
from unspool.data.store import Store
from unspool.errors import DataError
from unspool.text.tokenizers import BPETokenizer, Tokenizer
from unspool.text.vocab import UNK_ID

__all__ = ["Corpus", "DocumentPart", "StreamPart", "encode_part", "load_corpus"]

UNITS = {"char": "characters", "word": "words", "bpe": "byte pairs"}


@dataclass
class Corpus:
    """Parts "train", "valid" unless its share is 0, perhaps "test"; notes say what was done."""

    tokenizer: Tokenizer
    labels: list[str] | None
    parts: dict[str, DocumentPart | StreamPart]
    notes: list[str] = field(default_factory=list)


def load_corpus(
    train: Source,
    *,
    valid: Source | None = None,
    test: Source | None = None,
    data: DataConfig,
    tokenizer: TokenizerConfig,
    seed: int,
    progress: Progress | None = None,
) -> Corpus:
    """Read, split and number the data; a second time it comes from the cache.

    classify: documents, the hold-out seeded and stratified. generate: one stream, whose last share
    is held out. The vocabulary is made from the training part alone.
    """
    valid_share = 0.0 if valid else data.valid_share
    test_share = 0.0 if test else data.test_share
    check_shares(valid_share, test_share)
    given = {"train": train, "valid": valid, "test": test}
    sources = {name: source for name, source in given.items() if source is not None}
    for source in sources.values():
        _same_task(train, source)
    settings = resolve_kind(tokenizer, train)
    rules = Rules.of(settings, stream=train.task == "generate")
    material = Material(
        sources,
        {name: encode_source(source, rules, progress) for name, source in sources.items()},
        settings,
        progress,
    )
    for name, source in sources.items():
        _refuse_no_text(source, material.encoded[name].store)
    if train.task == "classify":
        corpus = _documents(material, valid_share, test_share, seed, data.max_length)
    else:
        corpus = _stream(material, valid_share, test_share)
    corpus.notes = [_split_note(corpus, sources, train.task), *corpus.notes]
    corpus.notes += [
        f"{source.name}: tokenised before, read from the cache"
        for name, source in sources.items()
        if material.encoded[name].hit
    ]
    return corpus


def encode_part(
    source: Source,
    tokenizer: Tokenizer,
    labels: list[str] | None,
    data: DataConfig,
    progress: Progress | None = None,
) -> DocumentPart | StreamPart:
    """A whole source for a tokenizer that has been fitted before, as for evaluation.

    With `labels` every row must carry one of them; without, rows need none. No row is dropped: an
    empty document is one <unk>.
    """
    encoded = encode_source(source, Rules.of_tokenizer(tokenizer), progress)
    _refuse_no_text(source, encoded.store)
    tokens = _tokens(encoded, tokenizer, _pieces(encoded.store), progress)
    if source.task == "generate":
        return StreamPart(tokens.store, 0, tokens.store.tokens, remap=tokens.remap)
    rows = np.arange(len(encoded.store))
    return _document_part(source, encoded.store, tokens, rows, labels, data.max_length)


class Material(NamedTuple):
    """What a corpus is made from: each source by the name of its part, read and encoded."""

    sources: dict[str, Source]
    encoded: dict[str, Encoded]
    settings: TokenizerConfig
    progress: Progress | None


class Tokens(NamedTuple):
    """A store, and its raw ids -> ids of the vocabulary."""

    store: Store
    remap: np.ndarray


def _documents(
    material: Material, valid_share: float, test_share: float, seed: int, max_length: int
) -> Corpus:
    sources, encoded = material.sources, material.encoded
    train, store = sources["train"], encoded["train"].store
    rows = {name: np.flatnonzero(encoded[name].store.characters) for name in sources}
    found = require_labels(train, store)[rows["train"]]
    names = class_names(train, store, found)
    split = stratified(found, valid=valid_share, test=test_share, seed=seed, where=train.name)
    # Where each part comes from: the training source, unless a file of its own was given.
    homes = dict.fromkeys(split, "train") | {name: name for name in sources}
    chosen = {name: rows["train"][part] for name, part in split.items()}
    chosen |= {name: rows[name] for name in sources if name != "train"}

    tokenizer, told = _fit(material, _pieces(store)[chosen["train"]], stream=False)
    tokens = {
        name: _tokens(encoded[name], tokenizer, _pieces(encoded[name].store), material.progress)
        for name in sources
    }
    parts = {
        name: _document_part(
            sources[home], encoded[home].store, tokens[home], chosen[name], names, max_length
        )
        for name, home in homes.items()
    }
    notes = [told, *_row_notes(material, rows)]
    if single := single_examples(store, found):
        notes.append(f"labels with one example, which stays in train: {listed(single)}")
    if cut := sum(part.cut for part in parts.values()):
        notes.append(f"{cut:,} documents cut to their first {max_length:,} tokens")
    return Corpus(tokenizer, names, {name: parts[name] for name in sorted(parts, key=_rank)}, notes)


def _stream(material: Material, valid_share: float, test_share: float) -> Corpus:
    stores = {name: encoded.store for name, encoded in material.encoded.items()}
    cuts = stream_cuts(
        stores["train"].tokens,
        valid=valid_share,
        test=test_share,
        where=material.sources["train"].name,
    )
    spans = {name: _pieces(store) for name, store in stores.items()}
    spans["train"] = _pieces(
        stores["train"], cuts=sorted({c for pair in cuts.values() for c in pair})
    )
    in_train = spans["train"][:, 1] <= cuts["train"][1]
    tokenizer, told = _fit(material, spans["train"][in_train], stream=True)
    tokens = {
        name: _tokens(encoded, tokenizer, spans[name], material.progress)
        for name, encoded in material.encoded.items()
    }
    store, remap = tokens["train"]
    if isinstance(tokenizer, BPETokenizer):  # places among characters to places among byte pairs
        edges = np.append(spans["train"][:, 0], stores["train"].tokens)
        cuts = {name: tuple(store.offsets[np.searchsorted(edges, cuts[name])]) for name in cuts}
    parts = {name: StreamPart(store, *cuts[name], remap=remap) for name in cuts}
    for name, (store, remap) in tokens.items():
        if name != "train":
            parts[name] = StreamPart(store, 0, store.tokens, remap=remap)
    return Corpus(tokenizer, None, {name: parts[name] for name in sorted(parts, key=_rank)}, [told])


def _fit(material: Material, spans: np.ndarray, *, stream: bool) -> tuple[Tokenizer, str]:
    """The tokenizer of the training stretches, and a line about its vocabulary."""
    encoded, settings = material.encoded["train"], material.settings
    unit = UNITS[settings.kind]
    if settings.kind == "bpe":
        pairs = fit_cached(encoded, spans, settings, material.progress)
        return pairs, f"vocabulary: {len(pairs):,} {unit}"
    counts = count_types(encoded.store, spans)
    vocab = choose_vocab(encoded.store, counts, settings)
    types = encoded.store.types
    known = np.fromiter(map(vocab.index.__contains__, types), dtype=bool, count=len(types))
    share = counts[known].sum() / max(1, counts.sum())
    seen, kept = int((counts > 0).sum()), int((known & (counts > 0)).sum())
    told = f"vocabulary: {kept:,} of {seen:,} {unit} in train, {100 * share:.1f} % of its text"
    return open_tokenizer(vocab, settings, stream=stream), told


def _pieces(store: Store, *, cuts: list[int] | None = None) -> np.ndarray:
    """(N, 2) stretches of the pieces of a store, cut at further places as well."""
    edges = store.offsets if cuts is None else np.union1d(store.offsets, cuts)
    return np.stack([edges[:-1], edges[1:]], axis=1)


def _tokens(
    encoded: Encoded, tokenizer: Tokenizer, spans: np.ndarray, progress: Progress | None
) -> Tokens:
    """The store that parts read from; byte pairs have one of their own, with the final ids."""
    if isinstance(tokenizer, BPETokenizer):
        store = encode_bytepairs(encoded, spans, tokenizer, progress)
        return Tokens(store, np.arange(len(tokenizer), dtype=np.int64))
    index, types = tokenizer.vocab.index, encoded.store.types
    ids = (index.get(token, UNK_ID) for token in types)
    return Tokens(encoded.store, np.fromiter(ids, dtype=np.int64, count=len(types)))


def _document_part(
    source: Source,
    read: Store,
    tokens: Tokens,
    rows: np.ndarray,
    names: list[str] | None,
    max_length: int,
) -> DocumentPart:
    return DocumentPart(
        tokens.store,
        rows,
        remap=tokens.remap,
        lines=read.lines[rows],
        labels=None if names is None else class_indices(source, read, rows, names),
        max_length=max_length,
    )


def _rank(name: str) -> int:
    return ("train", "valid", "test").index(name)


def _same_task(train: Source, other: Source) -> None:
    if other.task != train.task:
        raise DataError(
            f"is read for {other.task}, the training data for {train.task}",
            where=other.name,
            remedy="give both in the same format, or name the task",
        )


def _refuse_no_text(source: Source, store: Store) -> None:
    if not store.characters.any() or not any(token.strip() for token in store.types):
        raise DataError(
            f"all {len(store):,} rows have an empty text",
            where=source.name,
            remedy="name the column that holds the text with --text",
        )


def _row_notes(material: Material, rows: dict[str, np.ndarray]) -> list[str]:
    empty = {name: len(material.encoded[name].store) - len(kept) for name, kept in rows.items()}
    return [
        f"{material.sources[name].name}: {count:,} rows with an empty text dropped"
        for name, count in empty.items()
        if count
    ]


def _split_note(corpus: Corpus, sources: dict[str, Source], task: str) -> str:
    unit = "rows" if task == "classify" else "tokens"
    how = "seeded hold-out, stratified by label" if task == "classify" else "the end of the text"
    said = [
        f"{name} {len(part):,}" + ("" if name in sources else f" ({how})")
        for name, part in corpus.parts.items()
    ]
    return f"{unit}: " + ", ".join(said)
