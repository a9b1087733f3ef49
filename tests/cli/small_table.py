"""A few labelled texts, as a file."""

ROWS = [("a great film", "pos"), ("a dull plot", "neg"), ("fine music", "pos"), ("bad", "neg")] * 6
TABLE = "text,label\n" + "".join(f"{text},{label}\n" for text, label in ROWS)
