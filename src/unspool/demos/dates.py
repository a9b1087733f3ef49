"""Dates as people write them, in five languages, made into ISO 8601 by a model with attention.

"Freitag, den 5. März 2021" -> "2021-03-05". A character at a time, from generated pairs; the dates
of the test are on days that training never saw. Numbers alone are day first, as on the continent
(5.3.2021, 5/3/2021), unless "US" says month first; a year of two digits is between 1970 and 2069.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path
from typing import NamedTuple

from unspool.api.train import train
from unspool.insight.plots.attention import alignment_lines
from unspool.search.decoding import Decoding
from unspool.training.output_folder import free_folder
from unspool.training.progress import Printed

FIRST, LAST = date(1900, 1, 1).toordinal(), date(2099, 12, 31).toordinal()
HELD_OUT = 11  # every eleventh day is kept for the test, so that all weekdays are in training


class Language(NamedTuple):
    """Months, how they are cut short, weekdays from Monday on, and forms to put them into.

    {d} day, {dd} day of two digits, {nth} ordinal day, {m} and {mm} month as a number, {month} and
    {mon} its name and its short name, {y} year, {yy} its last two digits, {weekday}
    """

    months: tuple[str, ...]
    short: tuple[str, ...]
    weekdays: tuple[str, ...]
    nth: Callable[[int], str]
    forms: tuple[str, ...]


def english_ordinal(day: int) -> str:
    if 10 < day < 14:
        return f"{day}th"
    return f"{day}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(day % 10, 'th') }"


def first_only(mark: str) -> Callable[[int], str]:
    """Languages that count only the first of a month as an ordinal."""
    return lambda day: f"{day}{mark}" if day == 1 else str(day)


LANGUAGES = {
    "English": Language(
        ("January", "February", "March", "April", "May", "June", "July", "August", "September",
         "October", "November", "December"),
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sept", "Oct", "Nov", "Dec"),
        ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
        english_ordinal,
        ("{month} {d}, {y}", "{d} {month} {y}", "{nth} of {month} {y}", "the {nth} of {month}, {y}",
         "{mon} {d}, {y}", "{mon}. {d} {y}", "{d} {mon} {yy}", "{month} {nth}, {y}",
         "{weekday}, {month} {d}, {y}", "{weekday} the {nth} of {month} {y}", "US {m}/{d}/{y}",
         "US {mm}/{dd}/{yy}"),
    ),
    "German": Language(
        ("Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September",
         "Oktober", "November", "Dezember"),
        ("Jan.", "Feb.", "Mrz.", "Apr.", "Mai", "Jun.", "Jul.", "Aug.", "Sep.", "Okt.", "Nov.",
         "Dez."),
        ("Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"),
        lambda day: f"{day}.",
        ("{nth} {month} {y}", "{nth} {mon} {y}", "{dd}.{mm}.{y}", "{d}.{m}.{yy}",
         "{weekday}, {nth} {month} {y}", "{weekday}, den {nth} {month} {y}",
         "am {nth} {month} {y}"),
    ),
    "French": Language(
        ("janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre",
         "octobre", "novembre", "décembre"),
        ("janv.", "févr.", "mars", "avr.", "mai", "juin", "juil.", "août", "sept.", "oct.", "nov.",
         "déc."),
        ("lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"),
        first_only("er"),
        ("{nth} {month} {y}", "le {nth} {month} {y}", "{weekday} {nth} {month} {y}",
         "{d} {mon} {y}", "{dd}/{mm}/{y}", "{d}/{m}/{yy}"),
    ),
    "Spanish": Language(
        ("enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre",
         "octubre", "noviembre", "diciembre"),
        ("ene.", "feb.", "mar.", "abr.", "may.", "jun.", "jul.", "ago.", "sept.", "oct.", "nov.",
         "dic."),
        ("lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"),
        first_only("º"),
        ("{nth} de {month} de {y}", "el {d} de {month} de {y}", "{weekday}, {d} de {month} de {y}",
         "{d} {mon} {y}", "{dd}/{mm}/{y}"),
    ),
    "Italian": Language(
        ("gennaio", "febbraio", "marzo", "aprile", "maggio", "giugno", "luglio", "agosto",
         "settembre", "ottobre", "novembre", "dicembre"),
        ("gen", "feb", "mar", "apr", "mag", "giu", "lug", "ago", "set", "ott", "nov", "dic"),
        ("lunedì", "martedì", "mercoledì", "giovedì", "venerdì", "sabato", "domenica"),
        first_only("º"),
        ("{nth} {month} {y}", "il {nth} {month} {y}", "{weekday} {d} {month} {y}", "{d} {mon} {y}",
         "{dd}/{mm}/{y}"),
    ),
}  # fmt: skip


def written(day: date, language: Language, form: str) -> str:
    """A date in one of the forms of a language."""
    return form.format(
        d=day.day,
        dd=f"{day.day:02}",
        nth=language.nth(day.day),
        m=day.month,
        mm=f"{day.month:02}",
        month=language.months[day.month - 1],
        mon=language.short[day.month - 1],
        y=day.year,
        yy=f"{day.year % 100:02}",
        weekday=language.weekdays[day.weekday()],
    )


def dates(count: int, seed: int, *, held_out: bool) -> list[tuple[str, str]]:
    """`count` different pairs of (a date as people write it, ISO), of days held out or not."""
    rng = random.Random(seed)
    pairs: dict[str, str] = {}
    while len(pairs) < count:
        ordinal = rng.randint(FIRST, LAST)
        if (ordinal % HELD_OUT == 0) != held_out:
            continue
        day = date.fromordinal(ordinal)
        language = rng.choice(list(LANGUAGES.values()))
        form = rng.choice(language.forms)
        if "{yy}" in form and not 1970 <= day.year < 2070:
            continue
        text = written(day, language, form)
        if rng.random() < 0.2:
            text = text.lower() if rng.random() < 0.5 else text.upper()
        pairs[text] = day.isoformat()
    return list(pairs.items())


def write_tsv(path: Path, pairs: Iterable[tuple[str, str]]) -> Path:
    rows = "".join(f"{source}\t{target}\n" for source, target in pairs)
    path.write_text("source\ttarget\n" + rows, encoding="utf-8")
    return path


EXAMPLES = [
    "Friday the 5th of March 2021", "den 3. Oktober 1990", "14 juillet 1989", "US 7/4/76",
    "el 12 de octubre de 1992", "domenica 2 giugno 1946", "24.12.31",
]  # fmt: skip


def run(write: Callable[[str], None], *, pairs: int = 16_000, epochs: int = 2) -> None:
    from rich.console import Console

    write("Dates as people write them, in five languages, and a model that makes them ISO 8601.")
    write(f"{pairs:,} generated pairs; the test is on days that training never saw.")
    write("")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        result = train(
            write_tsv(folder / "train.tsv", dates(pairs, 1, held_out=False)),
            valid=write_tsv(folder / "valid.tsv", dates(max(20, pairs // 32), 2, held_out=True)),
            test=write_tsv(folder / "test.tsv", dates(max(20, pairs // 16), 3, held_out=True)),
            model="bahdanau",
            out=free_folder("demo", "dates"),
            note=write,
            watcher=Printed(Console(stderr=True)),
            kind="char",
            hidden=96,
            embedding=48,
            dropout=0.1,
            label_smoothing=0.0,
            batch=64,
            epochs=epochs,
            lr=4e-3,
        )
    write("")
    for line in result.report.lines() if result.report else []:
        write(line)
    write("")
    answers = result.predict(EXAMPLES, Decoding(alignment=True))
    for answer in answers:
        write(f"{answer.text:<32} {answer.translation}")
    write("")
    write("Where it looked for each character of the first, darker where more:")
    write("")
    for line in alignment_lines(answers[0]):
        write(line)
    write("")
    write("Next:")
    write(f'  unspool predict {result.path} "le 1er mai 2012" --nbest 3 --json')
    write(f"  unspool serve {result.path}                over HTTP, with a page at localhost:8000")
    write(f"  unspool summary {result.path}")
    write("  unspool demo --list                          the other demos")
    write(
        "  unspool train train.en,train.de              your own pairs; or any CSV, JSONL or text"
    )
