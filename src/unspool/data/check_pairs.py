"""A look at pairs before training: a corpus of `PairPart`s in, parts and findings out."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from unspool.data.paired import TARGET_FRAME, source_frame
from unspool.data.parts import DocumentPart, PairPart
from unspool.data.report import Finding, PartReport, percentiles
from unspool.text.tokenizers import Frame, Tokenizer
from unspool.text.vocab import UNK_ID

SHOWN = 5  # line numbers named in a finding
RATIO = 3  # a side so many times longer than usual, against the other, is probably another text
LONG = 10  # tokens below which such a ratio means nothing


def check_pairs(
    parts: dict[str, PairPart], tokenizers: tuple[Tokenizer, Tokenizer]
) -> tuple[list[PartReport], list[Finding]]:
    """Both sides of each part, and pairs that look wrong."""
    reports: list[PartReport] = []
    findings: list[Finding] = []
    prints = {name: _prints(part) for name, part in parts.items()}
    joint = tokenizers[0] is tokenizers[1]
    frame = source_frame(tokenizers[0])
    for name, part in parts.items():
        reports += [
            _report(f"{name} source", part.source, frame),
            _report(f"{name} target", part.target, TARGET_FRAME),
        ]
        findings += _doubtful(name, part, *prints[name], joint=joint)
    for a, b in combinations(parts, 2):
        again = np.isin(prints[b][0], prints[a][0])
        findings.append(
            _finding(f"pairs of {b} have a source that is also in {a}", parts[b], again)
        )
    return reports, findings


def _report(name: str, side: DocumentPart, frame: Frame) -> PartReport:
    lengths = side.lengths - frame.size
    unknown = sum(int((side.ids(row) == UNK_ID).sum()) for row in range(len(side)))
    return PartReport(
        name,
        rows=len(side),
        tokens=int(lengths.sum()),
        characters=0,
        token_lengths=percentiles(lengths),
        unknown=unknown / max(1, int(lengths.sum())),
    )


def _doubtful(
    name: str, part: PairPart, sources: np.ndarray, targets: np.ndarray, *, joint: bool
) -> list[Finding]:
    where = "" if name == "train" else f" of {name}"
    lengths = part.lengths.astype(float)
    ratio = lengths[:, 1] / lengths[:, 0]
    usual = float(np.median(ratio))
    odd = (lengths.max(1) >= LONG) & ((ratio > RATIO * usual) | (ratio < usual / RATIO))
    _, first, group = np.unique(sources, return_index=True, return_inverse=True)
    again = np.ones(len(sources), dtype=bool)
    again[first] = False
    other = targets != targets[first][group]
    same = (sources == targets) & joint  # of two vocabularies the ids say nothing about it
    return [
        _finding(f"pairs{where} have the same text on both sides", part, same),
        _finding(f"pairs{where} repeat an earlier pair", part, again & ~other),
        _finding(f"pairs{where} give an earlier source another target", part, again & other),
        _finding(f"pairs{where} have a side much longer than the other", part, odd),
    ]


def _prints(part: PairPart) -> tuple[np.ndarray, np.ndarray]:
    """(N,) for each side: a number for each row, equal where the tokens are equal."""
    source = [hash(part.source.ids(row)[:-1].tobytes()) for row in range(len(part))]
    target = [hash(part.target.ids(row)[1:-1].tobytes()) for row in range(len(part))]
    return np.array(source, dtype=np.int64), np.array(target, dtype=np.int64)


def _finding(what: str, part: PairPart, wrong: np.ndarray) -> Finding:
    lines = part.lines[np.flatnonzero(wrong)]
    return Finding(what, len(lines), [str(line) for line in lines[:SHOWN]])
