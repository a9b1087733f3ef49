"""Everything that training needs from the data: sources in, a `Corpus` of split token ids out.

The ids stay on disk, memory-mapped as raw ids; `remap` turns those into the ids of the vocabulary
when a row is asked for. So the vocabulary and the split can change without another look at the
text.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from unspool.config import DataConfig, TokenizerConfig
from unspool.data.bytepairs import encode_bytepairs, fit_cached
from unspool.data.encode import Encoded, Progress, Rules, encode_source
from unspool.data.fit import choose_vocab, count_types, open_tokenizer, resolve_kind
from unspool.data.parts import DocumentPart, StreamPart
from unspool.data.readers import Source
from unspool.data.split import check_shares, stratified, stream_cuts
from unspool.data.store import Store
from unspool.errors import DataError
from unspool.text.tokenizers import BPETokenizer, Tokenizer

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
    given = {name: source for name, source in (("valid", valid), ("test", test)) if source}
    for source in given.values():
        _same_task(train, source)
    shares = {
        "valid": 0.0 if valid else data.valid_share,
        "test": 0.0 if test else data.test_share,
    }
    check_shares(shares["valid"], shares["test"])
    settings = resolve_kind(tokenizer, train)
    rules = Rules.of(settings, stream=train.task == "generate")
    sources = {"train": train, **given}
    encoded = {name: encode_source(source, rules, progress) for name, source in sources.items()}
    notes = [
        f"{source.path}: tokenised before, read from the cache"
        for name, source in sources.items()
        if encoded[name].hit
    ]
    load = _load_documents if train.task == "classify" else _load_stream
    corpus = load(sources, encoded, shares, data, settings, seed, progress)
    corpus.notes = [*_split_note(corpus, sources, train.task), *corpus.notes, *notes]
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
    if source.task == "generate":
        store = _token_store(encoded, tokenizer, _pieces(encoded.store), progress)
        return StreamPart(store, 0, store.tokens, remap=_remap(store, tokenizer))
    rows = np.arange(len(encoded.store))
    return _document_part(source, encoded, rows, tokenizer, labels, data, progress)


def _load_documents(
    sources: dict[str, Source],
    encoded: dict[str, Encoded],
    shares: dict[str, float],
    data: DataConfig,
    settings: TokenizerConfig,
    seed: int,
    progress: Progress | None,
) -> Corpus:
    rows, notes = {}, []
    for name, source in sources.items():
        store = encoded[name].store
        _refuse_no_text(source, store)
        rows[name] = np.flatnonzero(store.characters)
        if empty := len(store) - len(rows[name]):
            notes.append(f"{source.path}: {empty:,} rows with an empty text dropped")
    train, store = sources["train"], encoded["train"].store
    found = _require_labels(train, store)[rows["train"]]
    names = _names_of(train, store, found)
    split = stratified(found, **shares, seed=seed, where=train.path)
    notes += _single_note(store, found)
    homes = dict.fromkeys(split, "train") | {name: name for name in sources}
    chosen = {name: rows["train"][part] for name, part in split.items()}
    chosen |= {name: rows[name] for name in sources if name != "train"}

    spans = _pieces(store)[chosen["train"]]
    tokenizer, told = _fit(encoded["train"], spans, settings, progress, stream=False)
    parts: dict[str, DocumentPart | StreamPart] = {}
    cut = 0
    for name, part_rows in chosen.items():
        home = homes[name]
        part = _document_part(
            sources[home], encoded[home], part_rows, tokenizer, names, data, progress
        )
        parts[name], cut = part, cut + part.cut
    if cut:
        notes.append(f"{cut:,} documents cut to their first {data.max_length:,} tokens")
    return Corpus(tokenizer, names, parts, [told, *notes])


def _load_stream(
    sources: dict[str, Source],
    encoded: dict[str, Encoded],
    shares: dict[str, float],
    data: DataConfig,
    settings: TokenizerConfig,
    seed: int,
    progress: Progress | None,
) -> Corpus:
    for name, source in sources.items():
        _refuse_no_text(source, encoded[name].store)
    cuts = stream_cuts(encoded["train"].store.tokens, **shares, where=sources["train"].path)
    homes = dict.fromkeys(cuts, "train")
    for name in sources:
        if name != "train":
            homes[name], cuts[name] = name, (0, encoded[name].store.tokens)
    inner = sorted({cut for name, pair in cuts.items() if homes[name] == "train" for cut in pair})
    spans = {name: _pieces(encoded[name].store) for name in sources}
    spans["train"] = _pieces(encoded["train"].store, also_at=inner)
    fitted_on = spans["train"][spans["train"][:, 1] <= cuts["train"][1]]
    tokenizer, told = _fit(encoded["train"], fitted_on, settings, progress, stream=True)

    parts: dict[str, DocumentPart | StreamPart] = {}
    for name, (start, stop) in cuts.items():
        home = homes[name]
        store = _token_store(encoded[home], tokenizer, spans[home], progress)
        if isinstance(tokenizer, BPETokenizer):  # from characters to byte pairs
            edges = np.append(spans[home][:, 0], encoded[home].store.tokens)
            start, stop = store.offsets[np.searchsorted(edges, [start, stop])].tolist()
        parts[name] = StreamPart(store, start, stop, remap=_remap(store, tokenizer))
    return Corpus(tokenizer, None, parts, [told])


def _fit(
    encoded: Encoded,
    spans: np.ndarray,
    settings: TokenizerConfig,
    progress: Progress | None,
    *,
    stream: bool,
) -> tuple[Tokenizer, str]:
    """The tokenizer of the training stretches, and a line about its vocabulary."""
    unit = UNITS[settings.kind]
    if settings.kind == "bpe":
        pairs = fit_cached(encoded, spans, settings, progress)
        return pairs, f"vocabulary: {len(pairs):,} {unit}"
    counts = count_types(encoded.store, spans)
    vocab = choose_vocab(encoded.store, counts, settings)
    tokenizer = open_tokenizer(vocab, settings, stream=stream)
    known = _remap(encoded.store, tokenizer) > 1
    share = counts[known].sum() / max(1, counts.sum())
    told = f"vocabulary: {int(known.sum()):,} of {int((counts > 0).sum()):,} {unit} in train"
    return tokenizer, f"{told}, {100 * share:.1f} % of its text"


def _pieces(store: Store, *, also_at: list[int] | None = None) -> np.ndarray:
    """(N, 2) stretches of the pieces of a store, cut at further places as well."""
    edges = store.offsets
    if also_at:
        edges = np.union1d(edges, also_at)
    return np.stack([edges[:-1], edges[1:]], axis=1)


def _token_store(
    encoded: Encoded, tokenizer: Tokenizer, spans: np.ndarray, progress: Progress | None
) -> Store:
    """The store whose ids `_remap` turns into those of the tokenizer."""
    if isinstance(tokenizer, BPETokenizer):
        return encode_bytepairs(encoded, spans, tokenizer, progress)
    return encoded.store


def _remap(store: Store, tokenizer: Tokenizer) -> np.ndarray:
    """(types,) raw id -> id of the vocabulary; a store of byte pairs has the ids already."""
    if isinstance(tokenizer, BPETokenizer):
        return np.arange(len(tokenizer), dtype=np.int64)
    return np.array([tokenizer.vocab.id(token) for token in store.types], dtype=np.int64)


def _document_part(
    source: Source,
    encoded: Encoded,
    rows: np.ndarray,
    tokenizer: Tokenizer,
    names: list[str] | None,
    data: DataConfig,
    progress: Progress | None,
) -> DocumentPart:
    chars = encoded.store
    labels = None
    if names is not None:
        labels = _numbered(source, chars, _require_labels(source, chars), rows, names)
    store = _token_store(encoded, tokenizer, _pieces(chars), progress)
    return DocumentPart(
        store,
        rows,
        remap=_remap(store, tokenizer),
        lines=chars.lines[rows],
        labels=labels,
        max_length=data.max_length,
    )


def _numbered(
    source: Source, store: Store, found: np.ndarray, rows: np.ndarray, names: list[str]
) -> np.ndarray:
    """(rows,) indices into `names`; a label that is not there is refused with its place."""
    index = {name: i for i, name in enumerate(names)}
    numbers = np.array([index.get(name, -1) for name in store.names], dtype=np.int64)
    labels = numbers[found[rows]]
    if (labels < 0).any():
        row = rows[int(np.argmax(labels < 0))]
        label = store.names[found[row]]
        raise DataError(
            f"label {label!r} does not occur in the training data",
            where=source.where(int(store.lines[row]), label),
            remedy="the known labels are " + _listed(names),
        )
    return labels


def _listed(names: list[str], most: int = 10) -> str:
    shown = ", ".join(map(repr, names[:most]))
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def _same_task(train: Source, other: Source) -> None:
    if other.task != train.task:
        raise DataError(
            f"is read for {other.task}, the training data for {train.task}",
            where=other.path,
            remedy="give both in the same format, or name the task",
        )


def _refuse_no_text(source: Source, store: Store) -> None:
    if not store.characters.any() or not any(token.strip() for token in store.types):
        raise DataError(
            "every text is empty",
            where=source.path,
            got=f"{len(store):,} rows",
            remedy="name the column that holds the text with --text",
        )


def _require_labels(source: Source, store: Store) -> np.ndarray:
    if store.labels is None:
        raise DataError(
            "holds no labels, which classify needs",
            where=source.path,
            remedy="name their column with --label, or use --task generate",
        )
    return store.labels


def _names_of(source: Source, store: Store, found: np.ndarray) -> list[str]:
    """The labels of the training source, sorted; at least two."""
    names = sorted(store.names[i] for i in np.unique(found))
    if len(names) < 2:
        raise DataError(
            "all rows have the same label, so there is nothing to tell apart",
            where=source.path,
            got=names[0],
            remedy="add rows of another class, or name the label column with --label",
        )
    return names


def _single_note(store: Store, found: np.ndarray) -> list[str]:
    single = sorted(store.names[i] for i in np.flatnonzero(np.bincount(found) == 1))
    if not single:
        return []
    return [f"labels with one example, which stays in train: {_listed(single)}"]


def _split_note(corpus: Corpus, sources: dict[str, Source], task: str) -> list[str]:
    unit = "rows" if task == "classify" else "tokens"
    how = "seeded hold-out, stratified by label" if task == "classify" else "the end of the text"
    said = [
        f"{name} {len(part):,}" + ("" if name in sources else f" ({how})")
        for name, part in corpus.parts.items()
    ]
    return [f"{unit}: " + ", ".join(said)]
