"""The commands that use a model: evaluate, predict, generate, summary."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from unspool.cli import show
from unspool.cli.options import (
    AsJson,
    Data,
    Encoding,
    Format,
    Label,
    Model,
    Run,
    Set,
    Source,
    Target,
    Task,
    Text,
    assignments,
    given,
    readable,
)

if TYPE_CHECKING:
    from unspool.run import Run as UsedRun
    from unspool.tasks.decoding import Decoding


Beam = Annotated[
    int | None, Option(metavar="N", help="translate: width of the beam (5); 1 is greedy.")
]
Int8 = Annotated[
    bool,
    Option("--int8", help="translate: multiply bytes in the decoder: faster, nearly the same."),
]


def decoding_of(
    run: UsedRun,
    chosen: dict[str, Any],
    others: dict[str, Any] | None = None,
    *,
    alignment: bool = False,
) -> Decoding | None:
    """How translations are searched for; of other models None, and options for translations,
    those of the search and others, are refused."""
    from unspool.errors import ConfigError
    from unspool.tasks.decoding import Decoding

    if run.task.name == "translate":
        return Decoding(**chosen, alignment=alignment)
    for_translations = {**chosen, **(others or {})}
    if for_translations:
        raise ConfigError(
            f"--{next(iter(for_translations)).replace('_', '-')} is for translations",
            where=run.path,
            got=f"a {run.task.name} model",
            remedy="leave it out",
        )
    return None


def evaluate(
    run: Run,
    data: Data,
    format: Format = None,
    encoding: Encoding = None,
    text: Text = None,
    label: Label = None,
    source: Source = None,
    target: Target = None,
    beam: Beam = None,
    int8: Int8 = False,
    as_json: AsJson = False,
) -> None:
    """Score a trained model on a file.

    A classifier: accuracy with a bootstrap 95 % interval, macro F1, precision, recall and F1 of
    each class, the confusion matrix. A tagger: F1 of spans, of all and of each type, or the
    accuracy of tags that mark none. A language model: loss with its interval, perplexity, bits per
    character. A translator: BLEU and chrF with their signatures. The file is read as the training
    file was, unless options say otherwise.

    Examples:

    \b
      unspool evaluate runs/reviews-bilstm test.csv
      unspool evaluate runs/reviews-bilstm other.tsv --text comment --label stars --json
      unspool evaluate runs/train-transformer test.en,test.de --beam 8
    """
    from unspool.run import load

    loaded = load(run)
    decoding = decoding_of(loaded, given(beam=beam, int8=int8 or None))
    with show.reading() as progress:
        report = loaded.evaluate(
            data,
            say=show.say,
            progress=progress,
            decoding=decoding,
            **given(
                format=format,
                encoding=encoding,
                text=text,
                label=label,
                source=source,
                target=target,
            ),
        )
    show.result(report, as_json=as_json)


def predict(
    run: Run,
    texts: Annotated[
        list[str] | None,
        Argument(metavar="TEXT", help="The texts; - reads one a line from standard input."),
    ] = None,
    file: Annotated[
        str | None,
        Option("--file", "-f", metavar="FILE", help="Texts from a data file; it needs no labels."),
    ] = None,
    out: Annotated[
        Path | None,
        Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write to this file, a .csv, .tsv or .jsonl, with the probability of every label.",
        ),
    ] = None,
    format: Format = None,
    encoding: Encoding = None,
    text: Text = None,
    beam: Beam = None,
    nbest: Annotated[
        int | None, Option(metavar="N", help="translate: give the N best of each text.")
    ] = None,
    length_penalty: Annotated[
        float | None,
        Option(metavar="A", help="translate: more prefers longer translations (1); 0: none."),
    ] = None,
    max_length: Annotated[
        int | None,
        Option(metavar="N", help="translate: most tokens (twice the source and 10 more)."),
    ] = None,
    min_length: Annotated[
        int | None, Option(metavar="N", help="translate: fewest tokens (0).")
    ] = None,
    no_repeat_ngram: Annotated[
        int | None, Option(metavar="N", help="translate: no N tokens in a row come twice.")
    ] = None,
    temperature: Annotated[
        float | None, Option(metavar="T", help="translate: draw at random, as for generate.")
    ] = None,
    top_k: Annotated[
        int | None, Option(metavar="K", help="translate: draw from the K likeliest tokens.")
    ] = None,
    top_p: Annotated[
        float | None,
        Option(metavar="P", help="translate: draw from the fewest tokens that reach P."),
    ] = None,
    seed: Annotated[int | None, Option(metavar="N", help="translate: of the draws (1).")] = None,
    int8: Int8 = False,
    keep_unknown: Annotated[
        bool,
        Option(
            "--keep-unknown",
            help="translate: leave <unk>, instead of the word of the source it is aligned with.",
        ),
    ] = False,
    picture: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="translate: draw the alignment of the first text, as a .png, .svg or .pdf.",
        ),
    ] = None,
    as_json: Annotated[
        bool, Option("--json", help="Print one JSON object a text, with all there is to know.")
    ] = False,
) -> None:
    """Label, tag or translate texts with a trained model.

    One line a text, in order: the likeliest label, its probability and the text, between tabs. Of a
    pretrained model: one line for each <mask> of a text, with the likeliest tokens.

    Of a tagger: the text with its spans marked, [ORG EU] rejects ..., or EU/PROPN rejects/VERB ...;
    with --json also places, by characters, and probabilities; --out may also be a .conll. A file of
    CoNLL columns is taken as it was cut into words.

    Of a translator: one translation a line, by beam search, unless --temperature, --top-k or
    --top-p ask for sampling; with --nbest number, score and translation; with --json also the
    tokens and where each of them looked, the alignment.

    Examples:

    \b
      unspool predict runs/reviews-bilstm "a fine film" "what a bore"
      cut -f2 mails.tsv | unspool predict runs/mails-bigru -
      unspool predict runs/reviews-bilstm --file new.csv --text review --out labelled.csv
      unspool predict runs/eng-bilstm "EU rejects German call" --json
      unspool predict runs/eng-bilstm --file test.conll --out tagged.conll
      unspool predict runs/corpus-transformer "the film was <mask> ."
      unspool predict runs/train-transformer "Two dogs play." --beam 8 --nbest 3
      unspool predict runs/train-transformer --file test.en --out test.hyp.txt
      unspool predict runs/train-bahdanau "Two dogs play." --picture alignment.png
    """
    from unspool.cli.predictions import (
        drawing_first,
        inputs,
        write,
        write_filled,
        write_translations,
    )
    from unspool.cli.tagged import write_tagged
    from unspool.run import load

    loaded = load(run)
    source = inputs(
        loaded, texts or [], file, given(format=format, encoding=encoding, text=text), show.say
    )
    chosen = given(
        beam=beam,
        nbest=nbest,
        length_penalty=length_penalty,
        max_length=max_length,
        min_length=min_length,
        no_repeat_ngram=no_repeat_ngram,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        seed=seed,
        keep_unknown=keep_unknown or None,
        int8=int8 or None,
    )
    drawn = given(picture=picture)
    decoding = decoding_of(loaded, chosen, drawn, alignment=as_json or picture is not None)
    if loaded.task.name == "tag":
        write_tagged(loaded.tagged(source), out, as_json=as_json)
        return
    if loaded.task.name == "translate":
        answers = loaded.translations(source, decoding)
        if picture is not None:
            answers = drawing_first(loaded, answers, picture)
        write_translations(answers, out, as_json=as_json)
        return
    if loaded.task.name == "pretrain":
        write_filled(loaded.fill(source), out, as_json=as_json)
        return
    count = write(loaded.stream(source), out, as_json=as_json)
    if out is not None:
        show.say(f"{count} predictions in {out}")


def generate(
    run: Run,
    prompt: Annotated[str, Option(metavar="TEXT", help="The text to continue.")] = "",
    length: Annotated[
        int, Option(metavar="N", help="Tokens to write.", min=1, show_default=True)
    ] = 200,
    temperature: Annotated[
        float,
        Option(metavar="T", help="0: always the likeliest token; below 1 safer, above 1 wilder."),
    ] = 0.8,
    top_k: Annotated[
        int, Option(metavar="K", help="Draw from the K likeliest tokens only; 0: from all.")
    ] = 0,
    top_p: Annotated[
        float,
        Option(metavar="P", help="Draw from the fewest tokens whose probability reaches P."),
    ] = 1.0,
    seed: Annotated[int, Option(metavar="N", help="The same seed gives the same text.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Let a trained language model write.

    The text appears as it is drawn: the prompt, then its continuation.

    Examples:

    \b
      unspool generate runs/book-lstm --prompt "It was " --length 500
      unspool generate runs/book-lstm --temperature 0.5 --top-k 20 --seed 7
    """
    import json

    from unspool.run import load

    loaded = load(run)
    pieces = loaded.pieces(
        readable(prompt, "--prompt"),
        length=length,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        seed=seed,
    )
    if as_json:
        text = "".join(pieces)
        print(json.dumps({"prompt": prompt, "text": text, "seed": seed}, ensure_ascii=False))
        return
    for piece in pieces:
        print(piece, end="", flush=True)
    print()


def summary(
    run: Annotated[
        Path | None,
        Argument(metavar="RUN", help="The folder of a trained run; or describe a model instead."),
    ] = None,
    task: Task = None,
    model: Model = None,
    set_: Set = None,
    classes: Annotated[
        int, Option(metavar="N", help="How many labels a classifier tells apart.", min=2)
    ] = 2,
    as_json: AsJson = False,
) -> None:
    """Show the layers of a model, their shapes and sizes.

    Of a trained run, or of the model that the options describe; vocab is then the number of its
    tokens. B stands for the texts of a batch, T for the steps of a text.

    Examples:

    \b
      unspool summary runs/reviews-bilstm
      unspool summary --model lstm --set vocab=5000 --set embedding=16 --set hidden=16
      unspool summary --task generate --model gru --set tied=true
    """
    from unspool.blueprint import blueprint
    from unspool.errors import ConfigError
    from unspool.run import load

    if run is None:
        result = blueprint(task or "classify", model, settings=assignments(set_), classes=classes)
    elif task or model or set_:
        raise ConfigError(
            "a run has its own settings",
            where=run,
            remedy="leave out --task, --model and --set, or leave out the run",
        )
    else:
        result = load(run).summary()
    show.result(result, as_json=as_json)
