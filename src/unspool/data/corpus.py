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
from unspool.data.bytepairs import Stretches
from unspool.data.encode import Encoded, Progress, Rules, encode_source
from unspool.data.fit import UNITS, fit_tokenizer, resolve_kind
from unspool.data.labels import (
    class_indices,
    class_names,
    listed,
    require_labels,
    single_examples,
)
from unspool.data.paired import split_pairs
from unspool.data.parts import DocumentPart, PairPart, StreamPart
from unspool.data.plan import Plan
from unspool.data.source import UNLABELLED, Source
from unspool.data.split import HoldOut, check_shares, choose_rows, stratified, stream_cuts
from unspool.data.store import Store
from unspool.data.tag_corpus import split_tagged
from unspool.data.tagged import TaggedPart
from unspool.data.tokens import Tokens, spans_of, tokens_of
from unspool.errors import DataError
from unspool.text.tokenizers import CharTokenizer, Frame, SubwordTokenizer, Tokenizer
from unspool.text.vocab import MASK_SPECIALS, SENTENCE_SPECIALS, SPECIALS

__all__ = ["Corpus", "DocumentPart", "PairPart", "StreamPart", "encode_part", "load_corpus"]


@dataclass
class Corpus:
    """Parts "train", "valid" unless its share is 0, perhaps "test"; notes say what was done."""

    tokenizer: Tokenizer
    labels: list[str] | None
    parts: dict[str, DocumentPart | StreamPart | PairPart | TaggedPart]
    notes: list[str] = field(default_factory=list)
    target_tokenizer: Tokenizer | None = None  # of pairs; the same one for a joint vocabulary
    spelling: CharTokenizer | None = None  # of tagged words: their characters


def load_corpus(
    plan: Plan,
    *,
    valid: Plan | None = None,
    test: Plan | None = None,
    data: DataConfig,
    tokenizer: TokenizerConfig,
    seed: int,
    fitted: Tokenizer | None = None,
    progress: Progress | None = None,
) -> Corpus:
    """Read, split and number the data; a second time it comes from the cache.

    classify: documents, the hold-out seeded and stratified. pretrain: documents, translate: pairs,
    and tag: sentences, the hold-out seeded. generate: one stream, whose last share is held out. The
    vocabulary is made from the training part alone, unless a `fitted` tokenizer is given, as for a
    model that is trained further.
    """
    hold_out = HoldOut(
        valid=0.0 if valid else data.valid_share, test=0.0 if test else data.test_share, seed=seed
    )
    check_shares(hold_out)
    given = {"train": plan, "valid": valid, "test": test}
    sources = {name: Source(plan) for name, plan in given.items() if plan is not None}
    train = sources["train"]
    for source in sources.values():
        _same_task(train, source)
    settings = resolve_kind(tokenizer, train)
    if train.task == "translate":
        both, pairs, notes = split_pairs(
            sources, data=data, settings=settings, fitted=fitted, hold_out=hold_out,
            progress=progress,
        )  # fmt: skip
        corpus = Corpus(both[0], None, dict(pairs), notes, target_tokenizer=both[1])
    elif train.task == "tag":
        words, spelling, tags, sentences, notes = split_tagged(
            sources, data=data, settings=settings, fitted=fitted, hold_out=hold_out,
            progress=progress,
        )  # fmt: skip
        corpus = Corpus(words, tags, dict(sentences), notes, spelling=spelling)
    else:
        material = Material.of(sources, settings, fitted, progress)
        if train.task == "generate":
            corpus = _stream(material, hold_out)
        else:
            corpus = _documents(material, hold_out, _limit(train, data))
        corpus.notes += material.from_cache()
    corpus.notes.insert(0, _split_note(corpus, sources, train.task))
    return corpus


def encode_part(
    plan: Plan,
    tokenizer: Tokenizer,
    labels: list[str] | None,
    data: DataConfig,
    progress: Progress | None = None,
) -> DocumentPart | StreamPart:
    """A whole file for a tokenizer that has been fitted before, as for evaluation.

    With `labels` every row must carry one of them; without, rows need none. No row is dropped: an
    empty document is one <unk>.
    """
    source = Source(plan)
    encoded = encode_source(source, Rules.of_tokenizer(tokenizer), progress)
    _refuse_no_text(source, encoded.store)
    tokens = tokens_of(encoded, tokenizer, spans_of(encoded.store), progress)
    if source.task == "generate":
        return StreamPart(tokens.store, 0, tokens.store.tokens, remap=tokens.remap)
    rows = np.arange(len(encoded.store))
    return _document_part(
        source, encoded.store, tokens, rows, labels, _limit(source, data), tokenizer.frame
    )


def _limit(source: Source, data: DataConfig) -> int:
    """Where documents are cut. Pretraining reads all of them, in pieces that its task makes."""
    return 0 if source.task in UNLABELLED else data.max_length


TASK_SPECIALS = {"pretrain": MASK_SPECIALS, "elmo": SENTENCE_SPECIALS}


class Material(NamedTuple):
    """What a corpus is made from: each source by the name of its part, read and encoded."""

    sources: dict[str, Source]
    encoded: dict[str, Encoded]
    settings: TokenizerConfig
    fitted: Tokenizer | None
    progress: Progress | None

    @classmethod
    def of(
        cls,
        sources: dict[str, Source],
        settings: TokenizerConfig,
        fitted: Tokenizer | None,
        progress: Progress | None,
    ) -> Material:
        """Sources read by the rules of `fitted` or of the settings; one without text is refused."""
        rules = Rules.of(settings, stream=sources["train"].task == "generate")
        if fitted is not None:
            rules = Rules.of_tokenizer(fitted)
        encoded = {name: encode_source(one, rules, progress) for name, one in sources.items()}
        for name, source in sources.items():
            _refuse_no_text(source, encoded[name].store)
        return cls(sources, encoded, settings, fitted, progress)

    def from_cache(self) -> list[str]:
        """A line for each source that had been read before."""
        return [
            f"{source.name}: tokenised before, read from the cache"
            for name, source in self.sources.items()
            if self.encoded[name].hit
        ]

    def tokenizer(self, spans: np.ndarray, *, stream: bool = False) -> tuple[Tokenizer, str]:
        """The tokenizer, fitted to stretches of the training source, and a line about it."""
        if self.fitted is not None:
            return self.fitted, f"vocabulary: {len(self.fitted):,} {UNITS[self.fitted.kind]}, given"
        stretches = [Stretches(self.encoded["train"], spans)]
        specials = TASK_SPECIALS.get(self.sources["train"].task, SPECIALS)
        return fit_tokenizer(
            stretches, self.settings, self.progress, stream=stream, specials=specials
        )


def _documents(material: Material, hold_out: HoldOut, max_length: int) -> Corpus:
    sources, encoded = material.sources, material.encoded
    train, store = sources["train"], encoded["train"].store
    rows = {name: np.flatnonzero(encoded[name].store.characters) for name in sources}
    found, names = np.zeros(len(rows["train"]), dtype=np.int64), None
    if train.task == "classify":
        found = require_labels(train, store)[rows["train"]]
        names = class_names(train, store, found)
    split = stratified(found, hold_out, where=train.name)
    chosen = choose_rows(split, rows)
    tokenizer, told = material.tokenizer(spans_of(store)[chosen["train"].rows])
    tokens = {
        name: tokens_of(encoded[name], tokenizer, spans_of(encoded[name].store), material.progress)
        for name in sources
    }
    parts = {
        name: _document_part(
            sources[home],
            encoded[home].store,
            tokens[home],
            own,
            names,
            max_length,
            tokenizer.frame,
        )
        for name, (home, own) in chosen.items()
    }
    notes = [told, *_row_notes(material, rows)]
    if names is not None and (single := single_examples(store, found)):
        notes.append(f"labels with one example, which stays in train: {listed(single)}")
    if cut := sum(part.cut for part in parts.values()):
        notes.append(f"{cut:,} documents cut to their first {max_length:,} tokens")
    return Corpus(tokenizer, names, dict(parts), notes)


def _stream(material: Material, hold_out: HoldOut) -> Corpus:
    stores = {name: encoded.store for name, encoded in material.encoded.items()}
    cuts = stream_cuts(stores["train"].tokens, hold_out, where=material.sources["train"].name)
    spans = {name: spans_of(store) for name, store in stores.items()}
    spans["train"] = spans_of(
        stores["train"], cuts=sorted({c for pair in cuts.values() for c in pair})
    )
    in_train = spans["train"][:, 1] <= cuts["train"][1]
    tokenizer, told = material.tokenizer(spans["train"][in_train], stream=True)
    tokens = {
        name: tokens_of(encoded, tokenizer, spans[name], material.progress)
        for name, encoded in material.encoded.items()
    }
    store, remap = tokens["train"]
    if isinstance(tokenizer, SubwordTokenizer):  # places among characters to those among pieces
        edges = np.append(spans["train"][:, 0], stores["train"].tokens)
        cuts = {name: tuple(store.offsets[np.searchsorted(edges, cuts[name])]) for name in cuts}
    parts = {name: StreamPart(store, *cuts[name], remap=remap) for name in cuts}
    for name, (store, remap) in tokens.items():
        if name != "train":
            parts[name] = StreamPart(store, 0, store.tokens, remap=remap)
    return Corpus(tokenizer, None, {name: parts[name] for name in sorted(parts, key=_rank)}, [told])


def _document_part(
    source: Source,
    read: Store,
    tokens: Tokens,
    rows: np.ndarray,
    names: list[str] | None,
    max_length: int,
    frame: Frame,
) -> DocumentPart:
    return DocumentPart(
        tokens.store,
        rows,
        remap=tokens.remap,
        lines=read.lines[rows],
        labels=None if names is None else class_indices(source, read, rows, names),
        max_length=max_length,
        frame=frame,
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
    units = {"translate": "pairs", "tag": "sentences", "generate": "tokens"}
    how = {
        "classify": "seeded hold-out, stratified by label",
        "generate": "the end of the text",
    }.get(task, "seeded hold-out")
    said = [
        f"{name} {len(part):,}" + ("" if name in sources else f" ({how})")
        for name, part in corpus.parts.items()
    ]
    return f"{units.get(task, 'rows')}: " + ", ".join(said)
