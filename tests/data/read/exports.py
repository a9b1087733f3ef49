"""Tables as other programs export them, with more in them than a header and rows."""

from __future__ import annotations

import json

from messy import FIRST, LABELS, PLAIN, ROWS, TEXTS, Messy, numbered, raw, table, text

EXPORTS = [
    # Tables with more around their rows
    Messy("title.csv", text("Feedback 2024,,\n,,\n" + table("Nr,Comment,Verdict", rows=numbered(
          ROWS))), "classify", FIRST, 48, "2 rows above the header left out.*header=true"),
    Messy("comments.csv", text("# tool v3\n# made: 2024\n" + PLAIN), "classify", FIRST, 48,
          "2 rows above the header"),
    Messy("groups.csv", text(",,Survey,\n" + table("id,date,remark,mood", rows=[(i, "01.03.2024",
          *row) for i, row in enumerate(ROWS)])), "classify", FIRST, 48, "1 row above.*'mood'"),
    Messy("first-label-empty.csv", text(table(None, rows=[("no label yet", ""), *ROWS])),
          "classify", [("no label yet", ""), *FIRST], 49, "without a header"),
    Messy("sep.csv", raw(("sep=;\r\n" + table("remark;mood", ";").replace("\n", "\r\n")).encode()),
          "classify", FIRST, 48, "'remark', label in 'mood'"),
    Messy("qualtrics.csv", text(table("Status,ResponseId,Q1,Q2", rows=[
          ("Response Type", "Response ID", "How was it?", "Satisfied?"),
          tuple(json.dumps({"ImportId": name}) for name in ("status", "_recordId", "QID1", "QID2")),
          *(("IP Address", f"R_{i}", t, y) for i, (t, y) in enumerate(ROWS))])),
          "classify", FIRST, 48, "2 rows of headings.*'Q1', label in 'Q2'"),
    Messy("empty-columns.csv", text("text,label,,,\n" + "".join(
          f'"{t}",{y}{",,," * (i % 2)}\n' for i, (t, y) in enumerate(ROWS))), "classify", FIRST,
          48),
    Messy("unicode-text.txt", text(table("Nr\tKommentar\tUrteil\t\t", "\t", rows=[
          (i, *row, "", "") for i, row in enumerate(ROWS)]), "utf-16"), "classify", FIRST, 48,
          "in UTF-16.*'Kommentar', label in 'Urteil'"),
    Messy("ends-with-sign.csv", text("text;label\n" + "".join(f"{t};{y};\n" for t, y in ROWS)),
          "classify", FIRST, 48),
    Messy("one-name.csv", text(table("text,text,label", rows=numbered(ROWS))), "classify",
          [("0", "pos")], 48, "later ones are text.2"),
    Messy("put-together.csv", text(PLAIN + PLAIN), says=":50: the header stands here again"),
    Messy("rows-in-cells.csv", text("".join('"' + line.replace('"', '""') + '"\n' for line in
          PLAIN.splitlines())), says="one cell that holds a whole row.*quotes"),
    Messy("table.md", text("| text | label |\n|---|---|\n" + "".join(
          f"| {t} | {y} |\n" for t, y in ROWS)), says="a table in Markdown.*CSV"),
    Messy("unquoted.csv", text("text,label\na film, or two,pos\nnone, or one,neg\n"),
          says=":2: expected 2 columns, found 3"),
    Messy("comma-in-name.csv", text(table("remark, if any;label", ";", rows=[("well, no", "neg"),
          *((f"{t}, really", y) for t, y in ROWS)])), "classify", [("well, no", "neg")], 49),
    Messy("emoji-utf-16.csv", text(table("text,label", rows=[("\U0001f600", "pos"), *ROWS]),
          "utf-16-le"), "classify", [("\U0001f600", "pos")], 49, "in UTF-16-LE"),
    # What looks like a label, and numbers with signs
    Messy("coders.csv", text(table("remark,coder1,coder2", rows=[(t, y, y) for t, y in ROWS])),
          "classify", FIRST, 48, r"'coder1' \(or 'coder2': --label\)"),
    Messy("days.csv", text(table("day,remark", rows=[(f"2024-0{i % 6 + 1}-01", t) for i, (t, _) in
          enumerate(ROWS)])), "generate", [(f"{TEXTS[0]}\n",)], 48,
          r"'remark' \(not read: 'day'; --label learns one\) -> generate"),
    Messy("prices.csv", text(table("review,price", rows=[(t, f"${1000 + 37 * i:,}.50") for i, (t, _)
          in enumerate(ROWS)])), "regress", [(TEXTS[0], "1000.50")], 48, r"\$ left out of 'price'"),
    Messy("percent.csv", text(table("review;score", ";", rows=[(t, f"{1.5 * i} %".replace(".",
          ",")) for i, (t, _) in enumerate(ROWS)])), "regress", [(TEXTS[0], "0.0")], 48,
          "% left out of 'score'"),
    Messy("lists.json", text(json.dumps({"text": TEXTS, "label": LABELS})),
          says="holds no list of objects.*orient='records'"),
    Messy("split-of-pandas.json", text(json.dumps({"columns": ["text", "label"], "index": [0],
          "data": [["a", "x"]]})), says="holds no list of objects.*orient='records'"),
]  # fmt: skip
