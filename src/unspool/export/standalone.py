"""Predict with model.onnx of this folder: numpy and onnxruntime alone.

    python predict.py "some text" "another"     a JSON object a line
    python predict.py --file texts.txt          a text a line; .csv with --column
    python predict.py --file series.json        a list of values: of series, lists of steps
    python predict.py --check                   compare with the answers in check.json

A text of byte pairs also needs the package `tokenizers`. Copy what you need.
"""

import argparse
import csv
import json
import re
import sys
import unicodedata
from pathlib import Path

import numpy as np
import onnxruntime

UNKNOWN = 1
WORDS = re.compile(r"<unk>|\w+(?:['’]\w+)*|['’](?:s|m|d|t|re|ve|ll)\b|[^\w\s]", re.IGNORECASE)
PIECES = re.compile(r"\s*\S+|\s+")


def is_mark(char):
    return unicodedata.category(char)[0] == "M" or char in "\u200c\u200d"


def split_words(text):
    """Words and punctuation marks; combining marks belong to their word."""
    tokens = []
    for chunk in text.split():
        shape = "".join("a" if is_mark(char) else char for char in chunk)
        tokens += [chunk[m.start() : m.end()] for m in WORDS.finditer(shape)]
    return tokens


class TextTokenizer:
    """Text to ids, from the JSON of a tokenizer."""

    def __init__(self, stored):
        self.kind, self.stored, self.model = stored["kind"], stored, None
        if "model" in stored:
            from tokenizers import Tokenizer as Model

            self.model = Model.from_str(json.dumps(stored["model"]))
        specials = stored.get("specials", ["<pad>", "<unk>"])
        self.first, vocab = len(specials), stored.get("vocab", [])
        self.index = {token: i for i, token in enumerate(vocab) if i >= self.first}

    def normal(self, text):
        form = {"nfc": "NFC", "nfkc": "NFKC"}.get(self.stored.get("normalize"))
        text = unicodedata.normalize(form, text) if form else text
        return text.lower() if self.stored.get("lowercase") else text

    def pieces(self, text):
        text = self.normal(text)
        if self.kind == "char":
            return list(text)
        return text.split() if self.stored["split"] == "space" else split_words(text)

    def ids(self, text):
        if self.kind == "pretrained":
            return self.model.encode(text, add_special_tokens=False).ids
        if self.kind == "bpe":
            chunks = PIECES.findall(self.normal(text))
            return [i + self.first for chunk in chunks for i in self.model.encode(chunk).ids]
        return [self.index.get(piece, UNKNOWN) for piece in self.pieces(text)]

    def text(self, ids):
        """Readable text."""
        special = [i for i in ids if i < self.first]
        if self.kind == "pretrained":
            return self.model.decode(list(ids))
        if self.kind == "bpe":
            return self.model.decode([i - self.first for i in ids if i >= self.first])
        names = {UNKNOWN: "\ufffd" if self.kind == "char" else "<unk>"}
        vocab = self.stored["vocab"]
        tokens = [names.get(i, "") if i in special else vocab[i] for i in ids]
        tokens = [token for token in tokens if token]
        return "".join(tokens) if self.kind == "char" else join(tokens, self.stored["split"])


NO_SPACE_BEFORE = re.compile(r"[.,;:!?%)\]}…”]|n't|['’](?:s|m|d|t|re|ve|ll)", re.IGNORECASE)


def join(tokens, split):
    """Words apart, punctuation where a typesetter would put it."""
    parts, last = [], "\n"
    for token in tokens:
        glued = last == "\n" or token == "\n"
        if split == "punctuation":
            glued = glued or last in "([{$£€#“\n" or bool(NO_SPACE_BEFORE.fullmatch(token))
        parts.append(token if glued else " " + token)
        last = token
    return "".join(parts)


def padded(rows):
    """Lists of ids as one array, and their lengths."""
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    ids = np.zeros((len(rows), max(1, lengths.max(initial=0))), dtype=np.int64)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = row
    return ids, lengths


class TextItems:
    """One text a row."""

    def __init__(self, settings):
        self.settings, self.tokenizer = settings, TextTokenizer(settings["tokenizer"])

    def batch(self, items):
        before, after = self.settings["frame"]
        rows = [self.tokenizer.ids(item) for item in items]
        rows = [[*before, *(row or [UNKNOWN])[: self.settings["room"]], *after] for row in rows]
        ids, lengths = padded(rows)
        return {"ids": ids, "lengths": lengths}


def sides(item):
    """Two texts: a list of two, or one string with ||| between them."""
    return [text.strip() for text in item.split("|||")] if isinstance(item, str) else item


class PairItems(TextItems):
    """Two texts a row, in one sequence."""

    def sequence(self, item):
        first, second = map(self.tokenizer.ids, sides(item))
        room, fill = self.settings["room"], self.settings["fill"]
        if room is not None:
            kept = min(len(first), max(-(-room // 2), room - len(second)))
            first, second = first[:kept], second[: room - kept]
        before, between, after = self.settings["frame"]
        second = second or ([] if fill is None else [fill])
        start = [*before, *first, *between]
        return [*start, *second, *after], len(start)

    def batch(self, items):
        rows, firsts = zip(*map(self.sequence, items))
        ids, lengths = padded(rows)
        return {"ids": ids, "lengths": lengths, "firsts": np.array(firsts, dtype=np.int64)}


class WordItems(TextItems):
    """The words of a sentence, a string or a list, and the characters of each."""

    def __init__(self, settings):
        super().__init__(settings)
        self.spelling = settings["spelling"] and TextTokenizer(settings["spelling"])

    def words(self, item):
        if isinstance(item, list):
            return [re.sub(r"\s+", "_", word) for word in item]
        return split_words(item) if self.tokenizer.stored["split"] != "space" else item.split()

    def batch(self, items):
        sentences = [self.words(item) for item in items]
        index, normal = self.tokenizer.index, self.tokenizer.normal
        ids, lengths = padded([[index.get(normal(w), UNKNOWN) for w in s] for s in sentences])
        if not self.spelling:
            return {"ids": ids, "lengths": lengths}
        form = {"nfc": "NFC", "nfkc": "NFKC"}.get(self.spelling.stored["normalize"])
        which, distinct = np.zeros_like(ids), {}
        for i, sentence in enumerate(sentences):
            for j, word in enumerate(sentence):
                word = unicodedata.normalize(form, word) if form else word
                which[i, j] = distinct.setdefault(word, len(distinct))
        letters = self.spelling.index
        spelled = [
            [letters.get(char, UNKNOWN) for char in word[: self.settings["longest"]]]
            for word in distinct
        ]
        spellings, sizes = padded(spelled)
        return {
            "ids": ids, "lengths": lengths, "spellings": spellings, "sizes": sizes, "which": which
        }  # fmt: skip


class NgramItems:
    """The n-grams of a text and how often each occurs."""

    def __init__(self, settings):
        self.settings, self.tokenizer = settings, TextTokenizer(settings["tokenizer"])
        tokens = self.tokenizer.stored["vocab"][self.tokenizer.first :][: settings["tokens"]]
        self.index = {token: i for i, token in enumerate([*tokens, *settings["ngrams"]])}
        self.first = len(self.index)
        self.spelling = {ngram: i for i, ngram in enumerate(settings["spelling"], self.first)}

    def pieces(self, item):
        texts = sides(item) if self.settings["pair"] else [item]
        first, *rest = map(self.tokenizer.pieces, texts)
        mark = self.settings["second"]
        pieces = [*first, *(mark + piece for second in rest for piece in second)]
        return pieces[: self.settings["room"]]

    def counts(self, item):
        counts = {}
        pieces = self.pieces(item)

        def add(number):
            counts[number] = counts.get(number, 0) + 1

        for i in range(len(pieces)):
            for n in range(1, 6):
                number = self.index.get(self.settings["separator"].join(pieces[i : i + n]))
                if number is None or i + n > len(pieces):
                    break
                add(number)
        if self.spelling:
            for piece in pieces:
                word = f" {piece} "[:1000]
                for n in range(2, min(5, len(word)) + 1):
                    for i in range(len(word) - n + 1):
                        if (number := self.spelling.get(word[i : i + n])) is not None:
                            add(number)
        return dict(sorted(counts.items()))

    def batch(self, items):
        rows = [self.counts(item) for item in items]
        ids, _ = padded([list(row) for row in rows])
        counts = np.zeros(ids.shape)
        for i, row in enumerate(rows):
            counts[i, : len(row)] = list(row.values())
        return {"ids": ids, "counts": counts}


class SeriesItems:
    """Vectors over time: a list of steps, each a list of numbers; null where none was measured.
    With times: {"values": [...], "times": [...]}."""

    def __init__(self, settings):
        self.settings = settings

    def moments(self, x):
        """Mean and deviation of the training data, or of the series itself."""
        if self.settings["mean"] is not None:
            return (np.array(self.settings[name]) for name in ("mean", "std"))
        count = np.maximum((~np.isnan(x)).sum(0), 1)
        mean = np.nansum(x, 0) / count
        std = np.sqrt(np.nansum((x - mean) ** 2, 0) / count)
        return mean, np.where(std > 1e-12 * np.maximum(1, np.abs(mean)), std, 1)

    def vectors(self, item):
        values, times = (item["values"], item["times"]) if isinstance(item, dict) else (item, None)
        x = np.array(values, dtype=np.float32).astype(float)[: self.settings["room"]]
        mean, std = self.moments(x)
        known = ~np.isnan(x)
        parts = [np.where(known, (x - mean) / std, 0), known[:, self.settings["gappy"]]]
        if (step := self.settings["step"]) is not None:
            times = np.array(times, dtype=float)[: len(x)]
            ratio = np.diff(times, prepend=times[:1] - step) / step
            parts.append(np.log(np.maximum(ratio, 1e-6))[:, None])
        return np.concatenate(parts, 1)

    def batch(self, items):
        rows = [self.vectors(item) for item in items]
        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        size = (len(rows), max(1, lengths.max()), rows[0].shape[1])
        values = np.zeros(size, dtype=np.float32)
        for i, row in enumerate(rows):
            values[i, : len(row)] = row
        return {"values": values, "lengths": lengths}


class HistoryItems:
    """Series whose next steps are forecast: a list of steps, each a list of numbers or one."""

    def __init__(self, settings):
        self.settings = settings

    def window(self, item, target):
        """The last steps of a series up to the last value of any target."""
        x = np.array(item, dtype=np.float32)
        x = x[:, None] if x.ndim == 1 else x
        seen = ~np.isnan(x[:, self.settings["targets"]]).all(1)
        if not seen.any():
            raise ValueError("a series has no value to go on from")
        x = x[: np.flatnonzero(seen)[-1] + 1][-self.settings["length"] :]
        others = x[:, self.settings["extra"]]
        others = (others - self.settings["mean"]) / self.settings["std"]
        return x[:, target], np.nan_to_num(others)

    def batch(self, items):
        targets, length = self.settings["targets"], self.settings["length"]
        rows = [self.window(item, target) for item in items for target in targets]
        y = np.zeros((len(rows), length), dtype=np.float32)
        observed = np.zeros(y.shape, dtype=bool)
        extra = np.zeros((*y.shape, len(self.settings["extra"])), dtype=np.float32)
        for i, (values, others) in enumerate(rows):
            y[i, : len(values)] = np.nan_to_num(values)
            observed[i, : len(values)] = ~np.isnan(values)
            extra[i, : len(values)] = others
        known = np.zeros((len(rows), length + self.settings["horizon"], 0), dtype=np.float32)
        lengths = np.array([len(values) for values, _ in rows], dtype=np.int64)
        return {
            "y": y, "observed": observed, "extra": extra, "known": known, "lengths": lengths
        }  # fmt: skip


class VectorItems:
    """Vectors over time as the package computes them, of sound, pixels and the like."""

    def __init__(self, settings):
        self.settings = settings

    def batch(self, items):
        rows = [np.array(item, dtype=np.float32) for item in items]
        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        values = np.zeros((len(rows), lengths.max(), self.settings["size"]), dtype=np.float32)
        for i, row in enumerate(rows):
            values[i, : len(row)] = row
        return {"values": values, "lengths": lengths}


class FeatureItems:
    """Features as the package computes them of a series."""

    def __init__(self, settings):
        pass

    def batch(self, items):
        return {"features": np.array(items, dtype=float)}


class JoinedItems:
    """The inputs of each model of an ensemble."""

    def __init__(self, settings):
        self.members = [reader(member) for member in settings["members"]]

    def batch(self, items):
        return {
            f"{name}_{number}": array
            for number, member in enumerate(self.members, 1)
            for name, array in member.batch(items).items()
        }


READERS = {
    "text": TextItems,
    "pair": PairItems,
    "words": WordItems,
    "ngrams": NgramItems,
    "series": SeriesItems,
    "history": HistoryItems,
    "vectors": VectorItems,
    "features": FeatureItems,
    "joined": JoinedItems,
}


def reader(settings):
    return READERS[settings["kind"]](settings)


class RunnableGraph:
    """A graph: a dict of arrays in, a dict of arrays out."""

    def __init__(self, path):
        self.session = onnxruntime.InferenceSession(str(path))
        self.inputs = {port.name for port in self.session.get_inputs()}
        self.outputs = [port.name for port in self.session.get_outputs()]

    def __call__(self, feeds):
        feeds = {name: array for name, array in feeds.items() if name in self.inputs}
        return dict(zip(self.outputs, self.session.run(self.outputs, feeds)))


class Writer:
    """The graphs of a model that writes token by token: `start` and `step`, and searches."""

    def __init__(self, folder, about):
        self.output, self.steps = about["output"], about["steps"]
        path = folder / "start.onnx"
        self.start = RunnableGraph(path) if path.exists() else None
        self.graph = RunnableGraph(folder / "step.onnx")
        self.tokenizer = TextTokenizer(self.output["tokenizer"])

    def begin(self, feeds):
        """The state before the first token, of one row."""
        if self.start is not None:
            return self.start(feeds)
        zeros = self.steps["zeros"]
        return {name: np.zeros((1, *sizes), dtype=np.float32) for name, sizes in zeros.items()}

    def step(self, sentences, state):
        """Log probabilities (R, V) of what follows each sentence, and the new state."""
        last = sentences if self.steps["by_prefix"] else [tokens[-1] for tokens in sentences]
        outputs = self.graph({"ids": np.array(last, dtype=np.int64), **state})
        scores = outputs.pop("scores").astype(float)
        changed = {name.removeprefix("next_"): array for name, array in outputs.items()}
        peak = scores.max(1, keepdims=True)
        total = peak + np.log(np.exp(scores - peak).sum(1, keepdims=True))
        return scores - total, {**state, **changed}

    def allowed(self, log_p, length, limit):
        """Without tokens that never come, and with an end where one has to come."""
        log_p[:, self.output["forbidden"]] = -np.inf
        end = self.output["end"]
        if length >= limit:
            only = np.full_like(log_p, -np.inf)
            only[:, end] = log_p[:, end]
            return only
        if length < self.output["min_length"]:
            log_p[:, end] = -np.inf
        return log_p

    def limit(self, source):
        limit = 2 * source + 10 if self.output["grows"] else max(source, self.output["short"])
        return limit if self.output["most"] is None else min(limit, self.output["most"])

    def write(self, feeds, width=None, alpha=None):
        """The best text of a beam for what one row of `feeds` holds."""
        width = self.output["beam"] if width is None else width
        alpha = self.output["length_penalty"] if alpha is None else alpha
        limit = self.limit(int(feeds["lengths"][0]) - self.output["frame"])
        begin, end = self.output["begin"], self.output["end"]
        live, best, state = [(0.0, [begin])], (-np.inf, []), self.begin(feeds)
        while live:
            log_p, state = self.step([tokens for _, tokens in live], state)
            length = len(live[0][1]) - 1
            log_p = self.allowed(log_p, length, limit)
            totals = (np.array([[total] for total, _ in live]) + log_p).ravel()
            order = np.argsort(-totals, kind="stable")[:width]
            longer, rows = [], []
            for index in order[np.isfinite(totals[order])]:
                row, token = divmod(int(index), log_p.shape[1])
                if token == end:
                    score = totals[index] / ((6 + length) / 6) ** alpha
                    best = max(best, (score, live[row][1][1:]), key=lambda pair: pair[0])
                else:
                    longer.append((totals[index], [*live[row][1], token]))
                    rows.append(row)
            # No longer sentence can get above its log probability over the largest penalty.
            reachable = max((total for total, _ in longer), default=-np.inf)
            live = longer if reachable / ((6 + limit) / 6) ** alpha > best[0] else []
            state = {name: array[rows] for name, array in state.items()}
        return self.tokenizer.text(best[1])

    def continue_text(self, prompt, length=200, temperature=0.0, seed=None):
        """The prompt, and `length` tokens after it; temperature 0: always the most probable."""
        rng, context = np.random.default_rng(seed), self.output["context"]
        tokens = list(self.tokenizer.ids(prompt or "\n")) or [UNKNOWN]
        state, read = self.begin({}), []
        for position in range(len(tokens) + length - 1):
            if context is not None and len(read) == context:
                read = read[context - context // 2 :]
            read.append(tokens[position])
            if position < len(tokens) - 1 and self.steps["by_prefix"]:
                continue
            log_p, state = self.step([read], state)
            if position < len(tokens) - 1:
                continue
            log_p[:, self.output["forbidden"]] = -np.inf
            if temperature:
                p = np.exp((log_p[0] - log_p[0].max()) / temperature)
                token = int(rng.choice(len(p), p=p / p.sum()))
            else:
                token = int(log_p[0].argmax())
            tokens.append(token)
        return self.tokenizer.text(tokens if prompt else tokens[-length:])


class Model:
    """`answers(items)` of the graphs in a folder."""

    def __init__(self, folder):
        folder = Path(folder)
        self.about = json.loads((folder / "model.json").read_text(encoding="utf-8"))
        self.reader, self.output = reader(self.about["input"]), self.about["output"]
        self.writer = Writer(folder, self.about) if "steps" in self.about else None
        self.graph = None if self.writer else RunnableGraph(folder / "model.onnx")
        written = self.output.get("tokenizer")
        self.tokenizer = written and TextTokenizer(written)

    def run(self, items):
        """The outputs of the graph by name, a row an item."""
        return self.graph(self.reader.batch(items))

    def write(self, item, **options):
        if self.output["kind"] == "continuation":
            return self.writer.continue_text(item, **options)
        empty = isinstance(item, str) and not item.strip()
        return "" if empty else self.writer.write(self.reader.batch([item]), **options)

    def answers(self, items):
        if self.writer:
            for item in items:
                yield {"item": item, "text": self.write(item)}
            return
        outputs = self.run(items)
        for i, item in enumerate(items):
            yield self.answer(item, {name: array[i] for name, array in outputs.items()})

    def answer(self, item, outputs):
        kind = self.output["kind"]
        if kind == "numbers":
            numbers = map(float, outputs["numbers"])
            return {"numbers": dict(zip(self.output["names"], numbers)), "text": item}
        if kind == "next steps":
            names = self.output["targets"]
            return {name: dict(zip(names, x.tolist())) for name, x in outputs.items()}
        if kind == "transcript":
            tokens = [int(token) for token in outputs["tokens"] if token]
            return {"text": self.tokenizer.text(tokens)}
        labels = self.output["labels"]
        if kind == "tags":
            words = self.words(item)
            tags = [labels[tag] for tag in outputs["tags"][: len(words)]]
            return {"text": item, "words": words, "tags": written(tags, self.output["scheme"])}
        p = outputs["probabilities"]
        named = {str(label): float(x) for label, x in zip(labels, p)}
        if kind == "label":
            return {"label": labels[int(p.argmax())], "probabilities": named, "text": item}
        order = np.argsort(-p, kind="stable")
        chosen = [labels[i] for i in order if p[i] >= self.output["thresholds"][i]]
        return {"labels": chosen, "probabilities": named, "text": item}

    def words(self, item):
        return self.reader.words(item) if isinstance(item, str) else item


def written(tags, scheme):
    """Tags in IOBES as the scheme of the training data writes them."""
    if scheme in ("iobes", "none"):
        return tags
    if scheme == "bioul":
        return ["OBILU"["OBIES".index(tag[0])] + tag[1:] for tag in tags]
    renamed, before = [], "O"
    for tag in tags:
        same = before != "O" and before[1:] == tag[1:]
        begins = "B" if same or scheme == "iob2" else "I"
        goes_on = same and tag[0] in "IE" and before[0] in "BI"
        renamed.append("O" if tag == "O" else ("I" if goes_on else begins) + tag[1:])
        before = tag
    return renamed


def check(model, path):
    """Compare with stored outputs; exits with 1 where they differ."""
    worst = 0.0
    for case in json.loads(path.read_text(encoding="utf-8")):
        if model.writer:
            short = {"length": 20} if model.output["kind"] == "continuation" else {}
            if model.write(case["item"], **short) != case["text"]:
                sys.exit(f"{case['item']!r} gives another text")
            continue
        for name, array in model.run([case["item"]]).items():
            expected = np.array(case["outputs"][name])
            if array[0].shape != expected.shape:
                sys.exit(f"{name} has shape {array[0].shape}, not {expected.shape}")
            scale = max(1.0, np.abs(expected).max(initial=0))
            worst = max(worst, np.abs(array[0] - expected).max(initial=0) / scale)
    print(f"largest difference: {worst:.1e}")
    sys.exit(int(worst > 1e-4))


def items_of(path, column):
    if path.suffix == ".json":
        return json.loads(path.read_text(encoding="utf-8"))
    with path.open(encoding="utf-8-sig", newline="") as file:
        if path.suffix in (".csv", ".tsv"):
            rows = csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ",")
            if column not in (rows.fieldnames or []):
                sys.exit(f"{path} has the columns {rows.fieldnames}: name one with --column")
            return [row[column] for row in rows]
        return [line.rstrip("\n") for line in file if line.strip()]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("items", nargs="*", metavar="TEXT")
    parser.add_argument("--file", type=Path)
    parser.add_argument("--column", default="text", help="of a table (text)")
    parser.add_argument("--batch", type=int, default=32, help="items at once (32)")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    folder = Path(__file__).parent
    model = Model(folder)
    if options.check:
        check(model, folder / "check.json")
    items = [*options.items, *(items_of(options.file, options.column) if options.file else [])]
    if not items:
        parser.error("give texts, or --file")
    for start in range(0, len(items), options.batch):
        for answer in model.answers(items[start : start + options.batch]):
            print(json.dumps(answer, ensure_ascii=False))


if __name__ == "__main__":
    main()
