"""Names that columns often have, and the rows of a table that are no data: its header, titles above
it, further headings below it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import zip_longest

from unspool.data.profile import label_like, repeats
from unspool.data.read.files import TEXTS
from unspool.data.read.reader import Column
from unspool.data.values import YEARS, is_missing, is_number

TEXT_NAMES = (
    "text", "sentence", "review", "document", "content", "body", "comment", "tweet", "message",
    "question", "sequence", "utterance", "phrase", "headline", "description", "title", "line",
)  # fmt: skip
LABEL_NAMES = (
    "label", "labels", "gold_label", "class", "sentiment", "category", "target", "polarity",
    "topic", "intent", "emotion", "language", "genre", "tag", "stars", "rating", "y",
)  # fmt: skip
PLURAL_NAMES = (
    "tags", "genres", "topics", "categories", "classes", "emotions", "intents", "keywords",
)  # fmt: skip
CAPTION_NAMES = ("caption", "captions", "description", "descriptions", "sentences")
KNOWN_NAMES = frozenset(TEXT_NAMES + LABEL_NAMES + PLURAL_NAMES + CAPTION_NAMES)
# Names that say that there is a header, though not what a column is good for.
OTHER_NAMES = frozenset({
    "id", "index", "idx", "name", "names", "date", "time", "timestamp", "user", "author", "url",
    "word", "words", "phones", "phonemes", "pronunciation", "input", "output", "prompt", "response",
    "answer", "summary", "subject", "split", "file", "path", "country", "year", "score", "value",
})  # fmt: skip
SOURCE_NAMES = ("source", "src")
TARGET_NAMES = ("target", "tgt", "trg", "translation")
LANGUAGES = frozenset({
    "ar", "cs", "da", "de", "el", "en", "es", "fi", "fr", "he", "hi", "hu", "it", "ja", "ko", "nl",
    "no", "pl", "pt", "ro", "ru", "sv", "tr", "uk", "vi", "zh", "arabic", "chinese", "czech",
    "danish", "dutch", "english", "finnish", "french", "german", "greek", "hindi", "hungarian",
    "italian", "japanese", "korean", "norwegian", "polish", "portuguese", "romanian", "russian",
    "spanish", "swedish", "turkish", "ukrainian", "vietnamese",
})  # fmt: skip
LONGEST_NAME = 30  # of a column
MOST_ABOVE = 20  # rows above a header
COUNTED = 5  # numbers in turn, at least, that are names of columns
LONGEST_UNIT = 15  # characters
FEWEST_BELOW = 4  # rows of a table whose second one may hold units
IMPORT_ID = '{"ImportId"'  # Qualtrics writes one below every name, behind the question

Cells = Sequence[str]


def plain(name: str) -> str:
    return name.strip().lower()


def known(columns: Sequence[Column], wanted: Sequence[str]) -> Column | None:
    """The column with the first of the wanted names that occurs."""
    by_name = {plain(column.name): column for column in reversed(columns)}
    return next((by_name[name] for name in wanted if name in by_name), None)


def known_pair(names: Sequence[str]) -> tuple[int, int] | None:
    """The columns called source and target, or the only two columns, called by two languages.

    A table that also has a `text` is one of labels: its source is where the text comes from.
    """
    numbers = {plain(name): i for i, name in reversed(list(enumerate(names)))}

    def first(wanted: Sequence[str]) -> int | None:
        return next((numbers[name] for name in wanted if name in numbers), None)

    source, target = first(SOURCE_NAMES), first(TARGET_NAMES)
    if source is not None and target is not None and first(TEXT_NAMES) is None:
        return source, target
    two = {plain(name) for name in names}
    return (0, 1) if len(names) == 2 == len(two) and two <= LANGUAGES else None


def names_texts(column: Column) -> bool:
    """Whether values end as the names of files of text do."""
    named = [isinstance(value, str) and value.endswith(TEXTS) for value in column.sample]
    return sum(named) > 0.5 * len(named)


def longest(columns: Sequence[Column]) -> Column | None:
    """The column with the longest values, the leftmost of equals."""
    return max(columns, key=lambda column: column.profile.characters, default=None)


def is_column_number(name: str) -> bool:
    """Whether a column is asked for by its number: ² is a digit, but no number."""
    return name.isascii() and name.isdecimal()


def listed_names(names: str | None) -> list[str]:
    """The columns that an option names, with commas between them."""
    return [name.strip() for name in (names or "").split(",") if name.strip()]


def has_header(
    rows: Sequence[Sequence[str]], *, asked: Sequence[str], usual: Sequence[str] = ()
) -> bool:
    """Whether the first row names the columns rather than being data.

    It does when a name was asked for, or when it holds a known field name or a `usual` one. It does
    not when a cell is empty (but for the first, which an index has), there twice or a number, but
    for numbers that count columns.
    Otherwise the columns vote: each in which the first row looks unlike all others is for a header,
    each in which it looks the same is against one.
    """
    first, rest = [plain(cell) for cell in rows[0]], rows[1:]
    if set(first) & (KNOWN_NAMES | {plain(name) for name in usual}):
        return True
    if any(not is_column_number(name) for name in asked):
        return True  # a name was asked for, so there are names: a misspelt one is refused later
    if len(set(first)) < len(first) or "" in first[1:]:
        return False
    if any(map(is_number, first)):
        return counts_columns(first) and not any(map(counts_columns, rest[:COUNTED]))
    votes = [vote(cell, [row[i].strip() for row in rest]) for i, cell in enumerate(rows[0])]
    return sum(votes) > 0


def counts_columns(cells: Cells) -> bool:
    """Whether numbers of a row are 0, 1, 2, ..., 1, 2, 3, ... or years, whatever names it has."""
    numbers = [cell.strip() for cell in cells if is_number(cell)]
    if len(numbers) < COUNTED or not all(
        number.isascii() and number.isdecimal() for number in numbers
    ):
        return False
    start = int(numbers[0])
    counted = [str(number) for number in range(start, start + len(numbers))]
    return numbers == counted and (start in (0, 1) or start in YEARS)


def vote(first: str, values: Sequence[str]) -> int:
    """1 if the first cell of a column is unlike the values below it, -1 if it is one of them."""
    first, values = first.strip(), [value for value in values if value]
    if not values:
        return 0
    if plain(first) in OTHER_NAMES and first not in values:
        return 1
    if sum(map(is_number, values)) >= 0.9 * len(values):
        return 1  # it is not a number itself
    if label_like(values):
        if first in values:
            return -2  # labels come again
        return int(repeats(values))
    if first in values:
        return -1
    name = len(first) <= LONGEST_NAME and len(first.split()) <= 3 and not first.endswith(".")
    if name and sum(map(len, values)) > 4 * LONGEST_NAME * len(values):
        return 1  # a name above long texts
    letters = set("".join(values))
    strange = [char for char in set(first) if char.isalpha() and char not in letters]
    return int(name and len(values) >= 20 and len(strange) > 1)


def used(row: Cells) -> int:
    """Cells up to the last that is not empty."""
    return max((i + 1 for i, cell in enumerate(row) if cell.strip()), default=0)


def table_width(first: Cells, rows: Sequence[Cells]) -> int:
    """Width of the first row, without trailing columns that are empty in all rows."""
    return max([1, used(first), *(used(row) for row in rows if len(row) <= len(first))])


def fitted(row: list[str], width: int) -> list[str]:
    """A row without empty cells that go beyond the table; the others as they are."""
    return row[:width] if len(row) > width and used(row) <= width else row


def rows_above(rows: Sequence[Cells], is_header: Callable[[Sequence[Cells]], bool]) -> int:
    """Count the titles, comments and headings above the header: rows half empty, or emptier."""
    if rows[0][0].strip().lower() == "sep=":  # by which Excel is told the delimiter
        return 1
    width = Counter(map(len, rows)).most_common(1)[0][0]
    if width < 2 or any(plain(cell) in KNOWN_NAMES for cell in rows[0]):
        return 0
    for count, row in enumerate(rows[: MOST_ABOVE + 1]):
        filled = sum(bool(cell.strip()) for cell in row)
        if filled > max(1, width // 2) and not row[0].lstrip().startswith("#"):
            same = [other for other in rows[count:] if len(other) == len(row)]
            return count if count and len(row) >= width and is_header(same) else 0
    return 0


def rows_below(rows: Sequence[Cells]) -> int:
    """Count the rows below the header with units, or questions and identifiers of Qualtrics."""
    for count, row in enumerate(rows[1:3], start=1):
        filled = [cell for cell in row if cell.strip()]
        if filled and sum(cell.startswith(IMPORT_ID) for cell in filled) > len(filled) / 2:
            return count
    return int(len(rows) > FEWEST_BELOW and are_units(rows[1], rows[2:]))


def are_units(row: Cells, body: Sequence[Cells]) -> bool:
    """Whether a row has a short word in each column of which all others are numbers: `degC`."""
    body = [cells for cells in body if len(cells) == len(row)]
    columns = [[cells[i].strip() for cells in body] for i in range(len(row))]
    filled = [[cell for cell in column if not is_missing(cell)] for column in columns]
    figures = [i for i, column in enumerate(filled) if column and all(map(is_number, column))]
    words = [row[i].strip() for i in figures]
    short = all(0 < len(word) <= LONGEST_UNIT for word in words)
    return len(figures) > 1 and short and not any(is_number(w) or is_missing(w) for w in words)


def data_like(tables: Sequence[Sequence[Cells]]) -> int:
    """Index of the table that looks like data: the first with at least half as many filled cells as
    the largest, without those of which a column lists the names of columns of another."""
    sizes = [sum(bool(cell.strip()) for row in rows for cell in row) for rows in tables]
    described = [
        any(describes(rows, other) for other in tables if other is not rows) for rows in tables
    ]
    candidates = [i for i in range(len(tables)) if not described[i]] or list(range(len(tables)))
    largest = max(sizes[i] for i in candidates)
    return next(i for i in candidates if 2 * sizes[i] >= largest)


def describes(rows: Sequence[Cells], other: Sequence[Cells]) -> bool:
    """Whether a column has the names of the columns of another table, as a codebook does."""
    columns = [{plain(cell) for cell in column} for column in zip_longest(*rows, fillvalue="")]
    headers = [{plain(cell) for cell in row} - {""} for row in other[: MOST_ABOVE + 1]]
    return any(len(names) > 1 and any(names <= column for column in columns) for names in headers)


def unique_names(names: Sequence[str]) -> list[str]:
    """Names of which no two are the same: `text`, `text.2`. Empty ones stay."""
    seen: Counter[str] = Counter()
    unique = []
    for name in names:
        seen[name] += 1
        unique.append(f"{name}.{seen[name]}" if name and seen[name] > 1 else name)
    return unique
