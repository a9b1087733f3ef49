"""A look at the data before training: sources in, a `CheckReport` for people and programs out.

Texts are compared by their tokens, as the model would see them: two texts are the same if they
differ only in what the tokenizer leaves out (white space between words, case if it is folded).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from unspool.config import DataConfig, TokenizerConfig
from unspool.data.advice import Suggestion, advise
from unspool.data.corpus import UNITS, Corpus, DocumentPart, load_corpus
from unspool.data.encode import Rules, encode_source
from unspool.data.fit import count_types
from unspool.data.readers import Source
from unspool.data.store import Store
from unspool.text.tokenizers import BPETokenizer
from unspool.text.vocab import UNK_ID
from unspool.text.words import NEWLINE

PERCENTILES = (5, 25, 50, 75, 95, 99, 100)
SHOWN = 5  # line numbers named in a finding


@dataclass(frozen=True)
class PartReport:
    """One split. Lengths are percentiles; of a stream, those of its lines."""

    name: str
    rows: int
    tokens: int
    characters: int
    labels: dict[str, int] = field(default_factory=dict)
    token_lengths: dict[int, int] = field(default_factory=dict)
    character_lengths: dict[int, int] = field(default_factory=dict)
    unknown: float = 0.0  # share of tokens outside the training vocabulary


@dataclass(frozen=True)
class Finding:
    """Doubtful rows: what they are, how many, and the lines of the first ones."""

    what: str
    count: int
    lines: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class CheckReport:
    """What `check` found; `lines` is for people, `to_json` for programs."""

    says: str
    task: str
    unit: str
    vocabulary: int
    parts: list[PartReport]
    findings: list[Finding]
    suggestions: list[Suggestion]
    notes: list[str]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def lines(self) -> list[str]:
        said = [self.says, f"vocabulary: {self.vocabulary:,} {self.unit}, special ones included"]
        for part in self.parts:
            said += _part_lines(part, self.unit)
        said += [f"note: {note}" for note in self.notes]
        said += [_finding_line(found) for found in self.findings] or ["no doubtful rows found"]
        said += [f"suggestion: {suggestion}" for suggestion in self.suggestions]
        return said

    def __str__(self) -> str:
        return "\n".join(self.lines())


def _part_lines(part: PartReport, unit: str) -> list[str]:
    said = [f"{part.name}: " + ", ".join(_sizes(part, unit))]
    if part.name != "train":
        said[0] += f"; {100 * part.unknown:.2f} % of the {unit} are unknown to train"
    if part.labels:
        shares = [
            f"{name} {count:,} ({100 * count / part.rows:.1f} %)"
            for name, count in sorted(part.labels.items(), key=lambda item: -item[1])
        ]
        more = f", and {len(shares) - 12} more" if len(shares) > 12 else ""
        said.append("  labels: " + ", ".join(shares[:12]) + more)
    of_what = "length" if part.labels else "lines"
    for what, lengths in {"characters": part.character_lengths, unit: part.token_lengths}.items():
        if lengths:
            shown = ", ".join(f"{_percentile_name(p)} {n:,}" for p, n in lengths.items())
            said.append(f"  {of_what} in {what}: {shown}")
    return said


def _sizes(part: PartReport, unit: str) -> list[str]:
    sizes = {"rows" if part.labels else "lines": part.rows, unit: part.tokens}
    sizes["characters"] = part.characters
    return [f"{count:,} {what}" for what, count in sizes.items() if count]


def _percentile_name(percentile: int) -> str:
    return {50: "median", 100: "longest"}.get(percentile, f"{percentile} %")


def _finding_line(found: Finding) -> str:
    shown = ", ".join(map(str, found.lines))
    more = ", ..." if found.count > len(found.lines) else ""
    return f"{found.count:,} {found.what}" + (f" (line {shown}{more})" if shown else "")


def check(
    source: Source,
    *,
    valid: Source | None = None,
    test: Source | None = None,
    data: DataConfig,
    tokenizer: TokenizerConfig,
) -> CheckReport:
    """Count, measure and compare; the split is the one that training would make."""
    corpus = load_corpus(
        source,
        valid=valid,
        test=test,
        data=data.model_copy(update={"max_length": 0}),
        tokenizer=tokenizer,
        seed=data.split_seed,
    )
    given = {"train": source, "valid": valid, "test": test}
    rules = Rules.of_tokenizer(corpus.tokenizer)
    stores = {name: encode_source(s, rules).store for name, s in given.items() if s is not None}
    if source.task == "classify":
        parts, findings = _documents(corpus, stores)
    else:
        parts, findings = _stream(corpus, stores), []
    unit = UNITS[corpus.tokenizer.kind]
    suggestions = advise(
        task=source.task,
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
        source.says,
        source.task,
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
    if isinstance(corpus.tokenizer, BPETokenizer):
        return np.empty((0, 2), dtype=np.int64)
    return np.array([[part.start, part.stop]])


def _all_lengths(corpus: Corpus) -> np.ndarray:
    found = [part.lengths for part in corpus.parts.values() if isinstance(part, DocumentPart)]
    return np.concatenate(found) if found else np.empty(0, dtype=np.int64)


def _unknown(corpus: Corpus, stores: dict[str, Store], name: str) -> float:
    if isinstance(corpus.tokenizer, BPETokenizer):
        return 0.0
    store = stores[_home(name, stores)]
    counts = count_types(store, _spans(corpus, stores, name))
    ids = np.array([corpus.tokenizer.vocab.id(token) for token in store.types])
    return float(counts[ids == UNK_ID].sum() / max(1, counts.sum()))


def _percentiles(lengths: np.ndarray) -> dict[int, int]:
    if not len(lengths):
        return {}
    values = np.percentile(lengths, PERCENTILES, method="nearest")
    return {p: int(value) for p, value in zip(PERCENTILES, values)}


def _documents(corpus: Corpus, stores: dict[str, Store]) -> tuple[list[PartReport], list[Finding]]:
    prints = dict(zip(stores, fingerprints(list(stores.values()))))
    parts, own = [], {}
    assert corpus.labels is not None
    for name, part in corpus.parts.items():
        assert isinstance(part, DocumentPart)
        assert part.labels is not None
        home = _home(name, stores)
        own[name] = prints[home][part.rows]
        counts = np.bincount(part.labels, minlength=len(corpus.labels))
        characters = stores[home].characters[part.rows]
        parts.append(
            PartReport(
                name,
                rows=len(part),
                tokens=int(part.lengths.sum()),
                characters=int(characters.sum()),
                labels=dict(zip(corpus.labels, counts.tolist())),
                token_lengths=_percentiles(part.lengths),
                character_lengths=_percentiles(characters),
                unknown=_unknown(corpus, stores, name),
            )
        )
    findings = []
    for name, store in stores.items():
        where = "" if name == "train" else f" of the {name} file"
        findings += _doubtful_rows(store, prints[name], where)
    for a, b in combinations(corpus.parts, 2):
        again = np.isin(own[b], own[a])
        findings.append(
            Finding(
                f"rows of {b} have a text that is also in {a}",
                int(again.sum()),
                _first(corpus.parts[b].lines[again]),  # type: ignore[union-attr]
            )
        )
    return parts, findings


def _doubtful_rows(store: Store, prints: np.ndarray, where: str) -> Iterable[Finding]:
    """Rows of one file that are empty, that came before, or that contradict another."""
    full = store.characters > 0
    yield Finding(f"rows{where} have an empty text", int((~full).sum()), _first(store.lines[~full]))
    lines, prints = store.lines[full], prints[full]
    _, first, group, sizes = np.unique(
        prints, return_index=True, return_inverse=True, return_counts=True
    )
    again = np.ones(len(prints), dtype=bool)
    again[first] = False
    yield Finding(
        f"rows{where} repeat the text of an earlier row", int(again.sum()), _first(lines[again])
    )
    if store.labels is None:
        return
    labels = store.labels[full]
    differs = np.zeros(len(sizes), dtype=bool)
    np.logical_or.at(differs, group, labels != labels[first][group])
    rows = differs[group]
    yield Finding(
        f"rows{where} share their text with a row of another label ({int(differs.sum()):,} texts)",
        int(rows.sum()),
        _first(lines[rows]),
    )


def _first(lines: np.ndarray) -> list[int]:
    return np.sort(lines)[:SHOWN].tolist()


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
                [hash(common[store.ids[a:b]].tobytes()) for a, b in zip(ends, ends[1:])],
                dtype=np.int64,
            )
        )
    return found


def _stream(corpus: Corpus, stores: dict[str, Store]) -> list[PartReport]:
    parts = []
    for name, part in corpus.parts.items():
        assert not isinstance(part, DocumentPart)
        lengths = np.empty(0, dtype=np.int64)
        for start, stop in _spans(corpus, stores, name):
            lengths = np.diff(_line_ends(stores[_home(name, stores)], start, stop), prepend=-1) - 1
        parts.append(
            PartReport(
                name,
                rows=len(lengths),
                tokens=len(part),
                characters=part.characters,
                token_lengths=_percentiles(lengths),
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
