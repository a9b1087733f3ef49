"""Chats as WhatsApp exports them: a message a row, perhaps over several lines.

31/12/2021, 23:59 - Ann: Happy new year      Android
[31.12.21, 23:59:07] Ann: Happy new year     iOS
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from unspool.config import DataConfig
from unspool.data.read.files import Report, TextFile
from unspool.data.read.reader import FileHead, Match, Reader, Record, Shape, sampled

MESSAGE = re.compile(
    r"\[?(?P<date>\d{1,4}[./-]\d{1,2}[./-]\d{2,4}),? "
    r"(?P<time>\d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?: ?[AaPp]\.? ?[Mm]\.?)?)(?:\]| -) "
    r"(?:(?P<author>[^:]{1,100}): )?(?P<text>.*)"
)
CHARACTER, LINE = 32, 60  # bytes that one of a message takes
MARKS = dict.fromkeys(map(ord, "\u200e\u200f\u202a\u202c")) | {0xA0: " ", 0x202F: " "}


class Chat(Reader):
    """Columns date, author and text. Messages without an author are the program's, and no rows."""

    name = "chat"
    shape = Shape.TABLE
    title = "messages of a chat"
    header = True

    @classmethod
    def sniff(cls, head: FileHead) -> Match:
        messages = [match for line in head.lines if (match := begin(line))]
        written = sum(match["author"] is not None for match in messages)
        return Match.CERTAIN.when(begin(head.lines[0]) and written > 0.3 * len(head.lines))

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        timed = files[0].allowance().timed
        rows = (values for _, values in timed(self.records(files[0])))
        self.columns = sampled(("date", "author", "text"), rows)
        messages = map(begin, timed(files[0].lines()))
        if left := sum(match is not None and match["author"] is None for match in messages):
            self.remark = f"{left:,} message{'s' * (left > 1)} of the program left out"

    def records(self, file: TextFile, report: Report = None) -> Iterator[Record]:
        begun, row, text, allowed = 0, ("", ""), list[str](), file.allowance()
        for line, content in enumerate(file.lines(report), start=1):
            match = begin(content)
            if match is None:
                allowed.hold(CHARACTER * len(content) + LINE, "a single message")
                if not line % 1024:
                    allowed.tick()
                text.append(content.strip())
                continue
            if row[1]:
                yield begun, (*row, "\n".join(text).strip())
            begun, text, allowed.held = line, [match["text"]], 0
            row = f"{match['date']} {match['time']}", (match["author"] or "").strip()
        if row[1]:
            yield begun, (*row, "\n".join(text).strip())


def begin(line: str) -> re.Match[str] | None:
    """The first line of a message."""
    return MESSAGE.match(line.translate(MARKS))
