"""Odd values in every setting and option: refused in one line, or run."""

from __future__ import annotations

import json

from mutate import odd_text
from part import Part
from samples import OF_SERIES, RUNS, SETTINGS, read_by, train_run, write_sample
from supervise import Case, apart

ODD = [
    "0", "-1", "1", "2", "3", "7", "-0", "0.5", "1.5", "-0.5", "1e-300", "1e300", "1e999", "nan",
    "inf", "-inf", "2147483648", "9223372036854775808", "-9223372036854775809", "1" + "0" * 20,
    "1" + "0" * 12, "1000000000", "9" * 400, "9" * 5000, "", " ", "none", "auto", "true", "false",
    "²", "½", "٣", "１２", "1_0", "0x10", "1e3", "1,2", "[1]", "{}", "None", "x", "é", "a b", "=",
    "/dev/null", "/dev/zero", "..", "~", "\t", "\u2028", "10" * 9, "+5", "5.", ".5", "1 0",
]  # fmt: skip
PREDICT = {
    "--beam": "translate", "--nbest": "translate", "--length-penalty": "translate",
    "--max-length": "translate", "--min-length": "translate", "--no-repeat-ngram": "translate",
    "--temperature": "translate", "--top-k": "translate", "--top-p": "translate",
    "--seed": "translate", "--top": "pretrain",
}  # fmt: skip
GENERATE = ["--length", "--temperature", "--top-k", "--top-p", "--seed"]
EMBED = [
    "mode", "size", "window", "negatives", "subsample", "phrases", "epochs", "lr", "min_count",
    "vocab", "threads", "seed", "batch",
]  # fmt: skip


class Settings(Part):
    """Values of settings and options."""

    name = "settings"
    short = 16

    def prepare(self) -> None:
        from unspool.config.schema import Config, settings

        self.names = [name for name, _ in settings(Config)]
        apart(lambda: [train_run(name, self.runs) for name in RUNS])

    def case(self, case: Case) -> None:
        kind = case.random.random()
        if kind < 0.55:
            self.train(case)
        elif kind < 0.75:
            self.predict(case)
        elif kind < 0.85:
            self.generate(case)
        elif kind < 0.92:
            self.embed(case)
        else:
            self.look(case)

    def train(self, case: Case) -> None:
        rng = case.random
        name = rng.choice(list(RUNS))
        format, task, model, own = RUNS[name]
        settings = {**SETTINGS, "max_steps": 2, "epochs": 1, "baseline": False, **own}
        settings = read_by(format, task, model, settings)
        names = list(read_by(format, task, model, dict.fromkeys(self.names)))
        names = names if rng.random() < 0.9 else self.names
        odd = {rng.choice(names): rng.choice(ODD) for _ in range(rng.choice([1, 1, 1, 2]))}
        for key in odd:  # which would otherwise be given twice
            settings.pop(key.partition(".")[2], None)
        words = [
            word for item in (settings | odd).items() for word in ("-s", "{}={}".format(*item))
        ]
        if rng.random() < 0.3:
            (case.folder / "c.toml").write_text(
                "".join(f"{key} = {in_toml(value)}\n" for key, value in (settings | odd).items()),
                encoding="utf-8",
            )
            words = ["-c", "c.toml"]
        data = write_sample(format, case.folder)
        ended = case.run("train", data, "-t", task, "-m", model, "-o", "out", *words)
        if ended.code == 0 and task != "elmo":
            texts = ["--file", data] if format in OF_SERIES else ["the film was good"]
            case.run("predict", "out", *texts)

    def predict(self, case: Case) -> None:
        rng = case.random
        option = rng.choice(list(PREDICT))
        names = [name for name, run in RUNS.items() if run[1] == PREDICT[option]]
        run = self.runs / rng.choice(names if rng.random() < 0.9 else list(RUNS))
        texts = ["the good film", odd_text(rng)] if rng.random() < 0.5 else ["a <mask>"]
        case.run("predict", run, f"{option}={rng.choice(ODD)}", "--", *texts)

    def generate(self, case: Case) -> None:
        rng = case.random
        options = {option: "20" if option == "--length" else "1" for option in GENERATE[:1]}
        options |= {rng.choice(GENERATE): rng.choice(ODD)}
        if rng.random() < 0.3:
            options["--prompt"] = odd_text(rng)
        words = [f"{name}={value}" for name, value in options.items()]
        case.run("generate", self.runs / "writer", *words)

    def embed(self, case: Case) -> None:
        rng = case.random
        settings = {"size": "4", "epochs": "1", "min_count": "1", "threads": "1"}
        settings |= {rng.choice(EMBED): rng.choice(ODD)}
        words = [word for item in settings.items() for word in ("-s", "=".join(item))]
        case.run("embed", write_sample("plain", case.folder), "-o", "out", *words)

    def look(self, case: Case) -> None:
        rng = case.random
        run = self.runs / rng.choice(list(RUNS))
        option = rng.choice(["--step", "--answer", "--method", "--distance", "--view", "--port"])
        more = ["--gradients"] if option == "--distance" else []
        if option in ("--view", "--port"):
            more = ["--html", "page.html"]
        case.run("look", run, "a good film", f"{option}={rng.choice(ODD)}", *more)


def in_toml(value: object) -> str:
    """As a number where it looks like one, else quoted."""
    text = str(value)
    if text in ("true", "false", "nan", "inf", "-inf") or text.replace(".", "", 1).isdecimal():
        return text
    return json.dumps(text, ensure_ascii=False)
