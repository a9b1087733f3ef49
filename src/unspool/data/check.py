"""A look at the data before training: sources in, a `CheckReport` for people and programs out.

Texts are compared by their tokens, as the model would see them: two texts are the same if they
differ only in what the tokenizer leaves out (white space between words, case if it is folded).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise

import numpy as np

from unspool.config import DataConfig, TokenizerConfig
from unspool.data.advice import about_pairs, about_size, advise
from unspool.data.check_pairs import check_pairs
from unspool.data.check_tags import check_tags
from unspool.data.corpus import Corpus, DocumentPart, PairPart, StreamPart, load_corpus
from unspool.data.encode import Rules, encode_source
from unspool.data.fit import UNITS, count_types
from unspool.data.plan import Plan
from unspool.data.report import CheckReport, Finding, PartReport, percentiles
from unspool.data.source import UNLABELLED, Source
from unspool.data.store import Store
from unspool.data.tagged import TaggedPart
from unspool.text.tokenizers import SubwordTokenizer
from unspool.text.words import NEWLINE

__all__ = ["CheckReport", "check"]

SHOWN = 5  # line numbers named in a finding


def check(
    plan: Plan,
    *,
    valid: Plan | None = None,
    test: Plan | None = None,
    data: DataConfig,
    tokenizer: TokenizerConfig,
) -> CheckReport:
    """Count, measure and compare; the split is the one that training would make."""
    corpus = load_corpus(
        plan,
        valid=valid,
        test=test,
        data=data.model_copy(update={"max_length": 0}),
        tokenizer=tokenizer,
        seed=data.split_seed,
    )
    unit = UNITS[corpus.tokenizer.kind]
    if corpus.target_tokenizer is not None:
        pairs = {name: p for name, p in corpus.parts.items() if isinstance(p, PairPart)}
        parts, findings = check_pairs(pairs, (corpus.tokenizer, corpus.target_tokenizer))
        lengths = np.concatenate([part.lengths.max(1) for part in pairs.values()])
        suggestions = list(about_pairs(lengths, data.max_length, len(pairs["train"])))
    elif plan.task == "tag":
        sentences = {name: p for name, p in corpus.parts.items() if isinstance(p, TaggedPart)}
        plain = data.scheme == "none"
        parts, findings = check_tags(sentences, corpus.labels or [], plain=plain)
        suggestions = list(about_size(len(sentences["train"])))
    else:
        given = {"train": plan, "valid": valid, "test": test}
        sources = {name: Source(one) for name, one in given.items() if one is not None}
        rules = Rules.of_tokenizer(corpus.tokenizer)
        stores = {name: encode_source(s, rules).store for name, s in sources.items()}
        if plan.task in ("classify", *UNLABELLED):
            parts, findings = _documents(corpus, sources, stores)
        else:
            parts, findings = _stream(corpus, stores), []
        suggestions = advise(
            task=plan.task,
            kind=corpus.tokenizer.kind,
            lowercase=corpus.tokenizer.normalizer.lowercase,
            max_length=data.max_length,
            lengths=_all_lengths(corpus),
            labels=parts[0].labels,
            unknown=max((part.unknown for part in parts[1:]), default=0.0),
            types=stores["train"].types,
            counts=count_types(stores["train"], _spans(corpus, stores, "train")),
            tokens=parts[0].tokens,
        )
    return CheckReport(
        plan.summary,
        plan.task,
        unit,
        len(corpus.tokenizer),
        parts,
        [found for found in findings if found.count],
        suggestions,
        [note for note in corpus.notes if "cache" not in note],
    )


def _home(name: str, stores: dict[str, Store]) -> str:
    return name if name in stores else "train"


def _spans(corpus: Corpus, stores: dict[str, Store], name: str) -> np.ndarray:
    """(N, 2) stretches of a part in its store of characters or words.

    A stream of byte pairs has other places than the characters it was made from: none are given.
    """
    part, store = corpus.parts[name], stores[_home(name, stores)]
    if isinstance(part, DocumentPart):
        return np.stack([store.offsets[part.rows], store.offsets[part.rows + 1]], axis=1)
    if isinstance(corpus.tokenizer, SubwordTokenizer):
        return np.empty((0, 2), dtype=np.int64)
    assert isinstance(part, StreamPart)
    return np.array([[part.start, part.stop]])


def _all_lengths(corpus: Corpus) -> np.ndarray:
    found = [part.lengths for part in corpus.parts.values() if isinstance(part, DocumentPart)]
    return np.concatenate(found) if found else np.empty(0, dtype=np.int64)


def _unknown(corpus: Corpus, stores: dict[str, Store], name: str) -> float:
    if isinstance(corpus.tokenizer, SubwordTokenizer):
        return 0.0
    store = stores[_home(name, stores)]
    counts = count_types(store, _spans(corpus, stores, name))
    vocab = corpus.tokenizer.vocab
    unknown = np.array([token not in vocab for token in store.types])
    return float(counts[unknown].sum() / max(1, counts.sum()))


def _documents(
    corpus: Corpus, sources: dict[str, Source], stores: dict[str, Store]
) -> tuple[list[PartReport], list[Finding]]:
    prints = dict(zip(stores, fingerprints(list(stores.values()))))
    parts, own = [], {}
    findings: list[Finding] = []
    labels = corpus.labels or []
    for name, part in corpus.parts.items():
        assert isinstance(part, DocumentPart)
        home = _home(name, stores)
        own[name] = prints[home][part.rows]
        own_labels = np.empty(0, dtype=np.int64) if part.labels is None else part.labels
        counts = np.bincount(own_labels, minlength=len(labels))
        characters = stores[home].characters[part.rows]
        parts.append(
            PartReport(
                name,
                rows=len(part),
                tokens=int(part.lengths.sum()),
                characters=int(characters.sum()),
                labels=dict(zip(labels, counts.tolist())),
                token_lengths=percentiles(part.lengths),
                character_lengths=percentiles(characters),
                unknown=_unknown(corpus, stores, name),
            )
        )
    for name in stores:
        findings += _doubtful_rows(name, sources[name], stores[name], prints[name])
    for a, b in combinations(corpus.parts, 2):
        part, home = corpus.parts[b], _home(b, stores)
        assert isinstance(part, DocumentPart)
        again = part.rows[np.isin(own[b], own[a])]
        what = f"rows of {b} have a text that is also in {a}"
        findings.append(_finding(what, sources[home], stores[home], again))
    return parts, findings


def _doubtful_rows(
    name: str, source: Source, store: Store, prints: np.ndarray
) -> Iterator[Finding]:
    """Rows of one file that are empty, that came before, or that contradict another."""
    where = "" if name == "train" else f" of the {name} file"
    empty = np.flatnonzero(store.characters == 0)
    yield _finding(f"rows{where} have an empty text", source, store, empty)
    full = np.flatnonzero(store.characters)
    _, first, group = np.unique(prints[full], return_index=True, return_inverse=True)
    again = np.ones(len(full), dtype=bool)
    again[first] = False
    yield _finding(f"rows{where} repeat the text of an earlier row", source, store, full[again])
    if store.labels is not None:
        labels = store.labels[full]
        differs = np.zeros(len(first), dtype=bool)
        np.logical_or.at(differs, group, labels != labels[first][group])
        what = f"rows{where} share their text with a row of another label"
        yield _finding(what, source, store, full[differs[group]])


def _finding(what: str, source: Source, store: Store, rows: np.ndarray) -> Finding:
    lines = [str(line) for line in store.lines[rows[:SHOWN]]]
    if source.format == "folder" and store.labels is not None:
        files = [store.names[i] for i in store.labels[rows[:SHOWN]]]
        lines = [f"{name}:{line}" for name, line in zip(files, lines)]
    return Finding(what, len(rows), lines)


def fingerprints(stores: list[Store]) -> list[np.ndarray]:
    """(N,) for each store: a number for each piece, equal where the tokens are equal."""
    index: dict[str, int] = {}
    found = []
    for store in stores:
        common = np.array(
            [index.setdefault(token, len(index)) for token in store.types], dtype=np.uint32
        )
        ends = store.offsets.tolist()
        found.append(
            np.array(
                [hash(common[store.ids[a:b]].tobytes()) for a, b in pairwise(ends)],
                dtype=np.int64,
            )
        )
    return found


def _stream(corpus: Corpus, stores: dict[str, Store]) -> list[PartReport]:
    parts = []
    for name, part in corpus.parts.items():
        assert isinstance(part, StreamPart)
        lengths = np.empty(0, dtype=np.int64)
        for start, stop in _spans(corpus, stores, name):
            lengths = np.diff(_line_ends(stores[_home(name, stores)], start, stop), prepend=-1) - 1
        parts.append(
            PartReport(
                name,
                rows=len(lengths),
                tokens=len(part),
                characters=part.characters,
                token_lengths=percentiles(lengths),
                unknown=_unknown(corpus, stores, name),
            )
        )
    return parts


def _line_ends(store: Store, start: int, stop: int) -> np.ndarray:
    """Places of the line ends within a stretch, counted from its start; its end is one too."""
    if NEWLINE not in store.types:
        return np.array([stop - start])
    ends = np.flatnonzero(store.ids[start:stop] == store.types.index(NEWLINE))
    rest = stop - start - 1
    return ends if len(ends) and ends[-1] == rest else np.append(ends, rest + 1)
