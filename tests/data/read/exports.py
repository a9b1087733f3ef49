"""Tables as other programs export them, with more in them than a header and rows."""

from __future__ import annotations

import json

from messy import (
    FIRST,
    LABELS,
    PLAIN,
    ROWS,
    TEXTS,
    Messy,
    excel,
    numbered,
    parquet,
    raw,
    table,
    text,
)

NAMES = ["text", "label"]
HTML_ROWS = "".join(f"<tr><td>{i}</td><td>{t}<td>{y}</tr>" for i, (t, y) in enumerate(ROWS))
COLUMNS = [("text", TEXTS * 8), ("label", LABELS * 8)]

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
    Messy("units.csv", text(table("time,temp,wind,note", rows=[("s", "degC", "(m/s)", ""),
          *((i, i * 7 % 5, f"{i}.5", "NA" if i % 2 else "x") for i in range(20))])), "forecast", [],
          1, r"1 row of headings below the header left out \(s, degC, \(m/s\); --set header=true",
          asked="forecast"),
    Messy("gap-first.csv", text(table("time,temp,wind", rows=[(0, "NA", "NA"), *((i + 1, i * 7 % 5,
          f"{i}.5") for i in range(20))])), "forecast", [], 1, "time in 'time', channels",
          asked="forecast"),
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
    # JSON of whole tables
    *(
        Messy(f"{orient}-{indent}.json", text(json.dumps(stored, indent=indent)), "classify", FIRST,
              48, f"orient={orient} of pandas")
        for orient, stored, indent in (
            ("index", {str(i): dict(zip(NAMES, row)) for i, row in enumerate(ROWS)}, None),
            ("columns", {n: dict(zip(map(chr, range(65, 113)), v)) for n, v in COLUMNS}, 1),
            ("columns", {n: dict(zip(map(str, range(48)), v)) for n, v in COLUMNS}, None),
            ("split", {"columns": NAMES, "index": [1] * 48, "data": ROWS}, None),
            ("table", {"schema": {"fields": [{"name": n} for n in NAMES]}, "data": [
                dict(zip(NAMES, row)) for row in ROWS]}, 1),
            ("list", dict(COLUMNS), None),
        )
    ),
    Messy("values.json", text(json.dumps(ROWS)), "classify", FIRST, 48, "JSON, text in field '1'"),
    Messy("ids.json", text(json.dumps({f"r{i}": {"text": t, **({"label": y} if i else {})} for
          i, (t, y) in enumerate(ROWS)})), "classify", [(TEXTS[0], ""), ROWS[1]], 48, "=index"),
    Messy("by-day.json", text(json.dumps({"sales": {f"2024-01-{i:02}": i * i for i in range(1, 29)}
          , "open": {f"2024-01-{i:02}": i % 7 for i in range(1, 29)}})), "forecast", [], 1,
          "=columns of pandas.*time in 'index'"),
    Messy("ragged.json", text(json.dumps({"text": TEXTS, "label": LABELS[1:]})),
          says="holds no list of objects.*orient='records'"),
    Messy("not-a-frame.json", text('{"text": "a"}'), says="no JSON of a table",
          settings={"format": "json_frame"}),
    # Markup, chats, workbooks of several sheets
    *(
        Messy(name, text(f"{start}<table><tr><th>Seen by</th></tr></table><TABLE border=1><tr>"
              f"<th>Nr</th><th>Remark</th><th>Mood</th></tr>\n{HTML_ROWS}</TABLE></html>"),
              "classify", FIRST, 48, "a table of HTML.*'Remark', label in 'Mood'")
        for name, start in (
            ("export.xls", "<html xmlns:x=''><head><style>td {}</style></head>"),
            ("page.html", "<!-- saved --><html>"), ("page.txt", "\n<!DOCTYPE html>"),
        )
    ),
    Messy("several.html", text(f"<table><tr><td>1<td rowspan=2>x<table><tr><td>a<td>b<tr><td>c<td>d"
          f"</table><tr><td>2</table><table><tr><th>t<th>y</tr>{HTML_ROWS}</table>"), "classify",
          [("1", "x"), ("2", "x")], 2, "table 1 of 3.*sheet=NUMBER", {"sheet": "1", "text": "1",
          "label": "2", "header": False}),
    Messy("no-table.html", text("<html>" + "".join(f"<p>{t}</p>" for t in TEXTS)),
          says="without a table of several rows. --format markup reads its text"),
    Messy("wrong-table.html", text(f"<table>{HTML_ROWS}</table>"), settings={"sheet": "7"},
          says="has no table '7' of several rows among 1.*sheet"),
    Messy("wide.html", text("<table><tr>" + "<td colspan=1000>x" * 20 + "</table>"),
          says="a row of more than 16,384 cells"),
    Messy("declared.html", text("<table><tr><td>a<![foo[b]]></table>"), says=":1: is not HTML"),
    Messy("corpus.xml", text("<?xml version='1.0'?><TEI/>"), says="is XML. --format markup"),
    Messy("tei.xml", text("<TEI><teiHeader><p>about</p></teiHeader><text>" + "".join(
          f"<p>{t[:4]}<hi>{t[4:]}</hi>\n</p>" for t in TEXTS) + "<![CDATA[a < b]]></text></TEI>"),
          "generate", [(f"{t}\n",) for t in TEXTS], 7, "text of HTML or XML", {"format": "markup"}),
    Messy("empty.xml", text("<a/>"), says="holds no text", settings={"format": "markup"}),
    Messy("library.bib", text("% made by hand\n\n@book{a,\n title={b}}"), says="is BibTeX.*CSV"),
    Messy("bib.txt", text("@article{a,\n title={b}}"), says="is BibTeX"),
    Messy("android.txt", text("31/12/2021, 23:58 - Messages are encrypted\n" + "".join(
          f"31/12/2021, 23:59 - {y}: {t}\nand more\n" for t, y in ROWS)), "classify",
          [(f"{TEXTS[0]}\nand more", "pos")], 48, "1 message of the program.*label in 'author'"),
    Messy("ios.txt", text("".join(f"\u200e[12/31/21, 11:59:07\u202fPM] {y}: {t}\n" for t, y in
          ROWS)), "classify", FIRST, 48, "messages of a chat, text in column 'text'"),
    Messy("codebook.xlsx", excel(("about", [("a study",)]), ("codes", [("variable", "meaning"),
          ("text", "what was said"), ("label", "its mood")] + [("x", "y")] * 99),
          ("answers", [("text", "label"), *ROWS])), "classify", FIRST, 48,
          "sheet 'answers' of 3 .another"),
    Messy("names-last.xlsx", excel(("words", [("text", "label"), *ROWS]), ("names", [("variable",
          "meaning"), ("text", "said"), ("label", "mood")])), "classify", FIRST, 48,
          "sheet 'words' of 2"),
    Messy("excel.csv", excel(("data", [("text", "label"), *ROWS])), "classify", FIRST, 48, "Excel"),
    Messy("parquet.txt", parquet, "classify", [(TEXTS[0], "1")], 48, "Parquet"),
]  # fmt: skip
