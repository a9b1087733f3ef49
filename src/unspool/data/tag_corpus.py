"""Tagged sentences: the words and the tags of sources in, a vocabulary and split parts out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unspool.config import DataConfig, TokenizerConfig
from unspool.data.encode import Encoded, Progress, Rules, encode_source
from unspool.data.fit import count_types, select_tokenizer
from unspool.data.plan import Plan
from unspool.data.schemes import Asked
from unspool.data.source import Source
from unspool.data.split import HoldOut, choose_rows, stratified
from unspool.data.store import Store
from unspool.data.tag_column import TagColumn, read_tags
from unspool.data.tagged import Spellings, TaggedPart, word_ids
from unspool.data.tokens import spans_of
from unspool.errors import DataError
from unspool.text.normalize import Normalizer
from unspool.text.tokenizers import CharTokenizer, Tokenizer
from unspool.text.vocab import Vocab

RAREST_CHARACTER = 2  # times in train; a rarer one is <unk>, which is learnt in this way


class Sentences(NamedTuple):
    """A source, its words and its tags."""

    source: Source
    words: Encoded
    tags: TagColumn


class TagCorpus(NamedTuple):
    """The tokenizers of words and of their characters, the tags that occur in train, the parts."""

    tokenizer: Tokenizer
    spelling: CharTokenizer
    labels: list[str]
    parts: dict[str, TaggedPart]
    notes: list[str]


def split_tagged(
    sources: dict[str, Source],
    *,
    data: DataConfig,
    settings: TokenizerConfig,
    fitted: Tokenizer | None,
    hold_out: HoldOut,
    progress: Progress | None,
) -> TagCorpus:
    """Parts of the training source, or of sources of their own; sentences that are too long are
    left out of the training part."""
    read = {
        name: read_sentences(source, settings.normalize, data.scheme, progress)
        for name, source in sources.items()
    }
    usable = {name: np.arange(len(found.words.store)) for name, found in read.items()}
    split = stratified(
        np.zeros(len(usable["train"]), dtype=np.int64), hold_out, where=sources["train"].name
    )
    chosen = choose_rows(split, usable)
    store = read["train"].words.store
    rows, notes = short_enough(read["train"], chosen["train"].rows, data.max_length)
    chosen["train"] = chosen["train"]._replace(rows=rows)
    spans = spans_of(store)[rows]
    counts = count_types(store, spans)
    told = "vocabulary: that of the model it starts from"
    tokenizer = fitted
    if tokenizer is None:
        folded = fold(store.types, counts, Normalizer(settings.normalize, settings.lowercase))
        tokenizer, told = select_tokenizer(*folded, settings)
    spelling = fit_spelling(store.types, counts, settings)
    labels = tag_names(read["train"], rows)
    tables = {name: Table.of(found, tokenizer, spelling, labels) for name, found in read.items()}
    parts = {name: tables[home].part(own) for name, (home, own) in chosen.items()}
    about = [f"tags of {found.source.name}: {found.tags.summary}" for found in read.values()]
    notes = [told, *about, *notes]
    for name, part in parts.items():
        notes += unknown_tags(name, part, labels)
    return TagCorpus(tokenizer, spelling, labels, parts, notes)


def short_enough(train: Sentences, rows: np.ndarray, most: int) -> tuple[np.ndarray, list[str]]:
    """The rows of at most so many words (0: all), and a note about the others."""
    lengths = np.diff(train.words.store.offsets)[rows]
    kept = rows[lengths <= most] if most else rows
    if not len(kept):
        raise DataError(
            "no sentence is left for train",
            where=train.source.path,
            remedy="give a larger max_length (0: no limit)",
        )
    if len(kept) == len(rows):
        return rows, []
    left = len(rows) - len(kept)
    return kept, [f"{left:,} sentences of more than {most:,} words left out of training"]


def encode_tagged(
    plan: Plan,
    tokenizer: Tokenizer,
    spelling: CharTokenizer | None,
    labels: list[str],
    data: DataConfig,
    progress: Progress | None = None,
) -> tuple[TaggedPart, list[str]]:
    """A whole file for a model that has been trained before, as for evaluation, and notes."""
    form = tokenizer.normalizer.form
    read = read_sentences(Source(plan), form, data.scheme, progress)
    part = Table.of(read, tokenizer, spelling, labels).part(np.arange(len(read.words.store)))
    return part, [f"tags: {read.tags.summary}", *unknown_tags(plan.table.name, part, labels)]


def read_sentences(
    source: Source, form: str, scheme: Asked, progress: Progress | None = None
) -> Sentences:
    """Both sides of a source, from the cache or into it."""
    if source.target is None:
        raise DataError("holds no tags", where=source.name, remedy="name their column with --label")
    words = encode_source(source, Rules("word", form, False, "space", False), progress)
    tags = encode_source(source.target, Rules("word", "none", False, "space", False), progress)
    if not len(words.store):
        raise DataError(
            "holds no sentence", where=source.name, remedy="name a file with words and their tags"
        )
    if not np.array_equal(words.store.offsets, tags.store.offsets):
        raise DataError("words and tags are not as many", where=source.name)
    return Sentences(source, words, read_tags(source, tags.store, scheme))


def fold(
    types: list[str], counts: np.ndarray, normalizer: Normalizer
) -> tuple[list[str], np.ndarray]:
    """Words that are the same in normal form become one."""
    index: dict[str, int] = {}
    places = [index.setdefault(normalizer(word), len(index)) for word in types]
    return list(index), np.bincount(places, weights=counts).astype(np.int64)


def fit_spelling(types: list[str], counts: np.ndarray, settings: TokenizerConfig) -> CharTokenizer:
    """The characters of the training words, with their case."""
    seen: dict[str, int] = {}
    for raw in np.flatnonzero(counts):
        for char in types[raw]:
            seen[char] = seen.get(char, 0) + int(counts[raw])
    often = [char for char, count in seen.items() if count >= RAREST_CHARACTER]
    chars = Vocab.of(sorted(often, key=lambda char: (-seen[char], char)))
    return CharTokenizer(chars, normalizer=Normalizer(settings.normalize))


def tag_names(train: Sentences, rows: np.ndarray) -> list[str]:
    """The tags that occur in training, sorted; at least two."""
    store, column = train.words.store, train.tags
    spans = spans_of(store)[rows]
    found = np.unique(np.concatenate([column.ids[a:b] for a, b in spans]))
    names = sorted(column.names[i] for i in found)
    if len(names) < 2:
        raise DataError(
            "all words have the same tag, so there is nothing to tell apart",
            where=train.source.name,
            got=names[0],
            remedy="name the column of the tags with --label, or add sentences",
        )
    return names


class Table(NamedTuple):
    """What the parts of one source share: see `TaggedPart`."""

    store: Store
    remap: np.ndarray
    spellings: Spellings | None
    tags: np.ndarray
    names: list[str]

    @classmethod
    def of(
        cls,
        read: Sentences,
        tokenizer: Tokenizer,
        spelling: CharTokenizer | None,
        labels: list[str],
    ) -> Table:
        """Tags are numbered as `labels`; others, which the model cannot give, after them."""
        index = {name: i for i, name in enumerate(labels)}
        numbers = np.array([index.setdefault(name, len(index)) for name in read.tags.names])
        store = read.words.store
        spellings = None if spelling is None else Spellings(store.types, spelling)
        remap = word_ids(store.types, tokenizer)
        return cls(store, remap, spellings, numbers[read.tags.ids], list(index))

    def part(self, rows: np.ndarray) -> TaggedPart:
        return TaggedPart(
            self.store,
            rows,
            remap=self.remap,
            spellings=self.spellings,
            tags=self.tags,
            names=self.names,
        )


def unknown_tags(name: str, part: TaggedPart, labels: list[str]) -> list[str]:
    """A note about tags that do not occur in training."""
    if len(part.names) == len(labels):
        return []
    found = np.unique(np.concatenate([part.tags(row) for row in range(len(part))]))
    found = found[found >= len(labels)]
    if not len(found):
        return []
    shown = ", ".join(repr(part.names[i]) for i in found[:8])
    return [f"{name}: tags that do not occur in training, and so are never found: {shown}"]
