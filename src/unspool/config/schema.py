"""Every setting of a run: frozen, typed, with its help text; unknown names are refused.

A setting is addressed as `section.name` (`train.epochs`), or by its bare name where only one
section has it (`epochs`). `resolve` makes a `Config` of given values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.fields import FieldInfo


class Section(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        protected_namespaces=(),
        allow_inf_nan=False,
        validate_by_name=True,
        serialize_by_alias=True,  # a setting may be called `from`, which no Python name may
    )


def setting(default: Any, help: str, **bounds: Any) -> Any:
    return Field(default, description=help, **bounds)


def _split_commas(value: Any) -> Any:
    return value.split(",") if isinstance(value, str) else value


def _join_commas(value: Any) -> Any:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else value


Names = Annotated[str | None, BeforeValidator(_join_commas)]
Width = Annotated[int, Field(ge=1, le=1000)]
Widths = Annotated[tuple[Width, ...], BeforeValidator(_split_commas), Field(min_length=1)]


MOST = 10**12  # of what is counted: steps, rows, tokens


class DataConfig(Section):
    """How the file is read and split."""

    input: Literal["auto", "text", "series", "audio", "strokes", "image"] = setting(
        "auto",
        "what is read: texts, vectors over time, recordings of sound, strokes of a pen or images;"
        " auto: by the look of the data",
    )
    format: Literal[
        "auto",
        "csv",
        "tsv",
        "jsonl",
        "json",
        "parquet",
        "arrow",
        "excel",
        "ts",
        "npy",
        "sketch",
        "inkml",
        "unipen",
        "labelled",
        "fasttext",
        "lines",
        "text",
        "conll",
        "conllu",
    ] = setting("auto", "file format; auto looks at the name and the first lines")
    encoding: str = setting("utf-8", "character encoding of the data files")
    text: str | None = setting(None, "column (name, or number from 1) that holds the text")
    label: Names = setting(
        None,
        "column (name, or number from 1) that holds the label; several columns with commas:"
        " regress: numbers, classify: 0 or 1 for each of several labels",
    )
    multilabel: bool | None = setting(
        None, "classify: whether a row may have several labels (none: by the look of the values)"
    )
    label_separator: str | None = setting(
        None,
        "classify: what stands between the labels of a cell (none: a comma, semicolon or bar, by"
        " the look of the values)",
        min_length=1,
    )
    columns: dict[str, tuple[str, ...]] = setting(
        {},
        "names of the columns that a run was trained on, which are looked for first in other files;"
        " follows from the data",
    )
    series: Names = setting(
        None,
        "series: columns (names, or numbers from 1) of the values, with commas; a column a channel"
        " where a row is a step, a column a step where a row is a whole series",
    )
    time: str = setting(
        "auto",
        "series: column of the time of each step, a number or a date; auto: by its name or its"
        " dates; none: there is none",
    )
    date_format: str = setting(
        "auto",
        "series: how dates are written, iso or the letters of strptime for the day, such as"
        " %d/%m/%Y; auto: by the dates",
    )
    decimal: Literal["auto", "point", "comma"] = setting(
        "auto",
        "tables: 1,234.5 or 1.234,5; auto: by the numbers, and 10,128 by what stands between cells",
    )
    id: str = setting(
        "auto",
        "series: columns whose equal values make rows one recording, with commas; auto: by name, or"
        " the one or two within whose values times follow each other; none: there is none",
    )
    channels: int = setting(
        0,
        "series: channels that stand in turn in a row that is a whole series: x, y, x, y, ... (0:"
        " by the names of the columns)",
        ge=0,
        le=1_000_000,
    )
    scaling: Literal["channel", "series", "window", "none"] = setting(
        "channel",
        "series, audio: subtract the mean and divide by the standard deviation, of each channel of"
        " the training part, or of each recording or window by itself",
    )
    irregular: Literal["ignore", "channel", "resample"] = setting(
        "ignore",
        "series with a time: read steps as they come, with the time between them as one more"
        " channel, or interpolated at equal distances (of forecasts: with gaps)",
    )
    window: int = setting(
        0, "series: read recordings in windows of so many steps (0: as a whole)", ge=0, le=MOST
    )
    stride: int = setting(
        0, "series: steps from one window to the next (0: half a window)", ge=0, le=MOST
    )
    pattern: str | None = setting(
        None,
        "audio, image: what the names of files say, such as {label}_{speaker}_{n}.wav; each name in"
        " braces is a column",
    )
    rate: int = setting(
        0,
        "audio: samples a second that recordings are resampled to (0: what most of them have,"
        " 16,000 at most)",
        ge=0,
        le=1_000_000,
    )
    frame: float = setting(25.0, "audio: milliseconds of a frame", ge=1, le=10_000)
    hop: float = setting(10.0, "audio: milliseconds from one frame to the next", ge=0.1, le=10_000)
    bands: int = setting(40, "audio: bands of the mel scale", ge=1, le=4096)
    features: Literal["logmel", "mfcc"] = setting(
        "logmel",
        "audio: what a frame consists of: the logarithm of the power in each band, or cepstral"
        " coefficients",
    )
    coefficients: int = setting(13, "audio: cepstral coefficients of features=mfcc", ge=1, le=4096)
    stroke_layout: Literal["auto", "points", "axes", "offsets"] = setting(
        "auto",
        "strokes: lists of points [x, y], of lists of x and of y, or one list of rows [dx, dy, pen"
        " up]; auto: by the look of the data",
    )
    stroke_smoothing: int = setting(
        0, "strokes: points to each side that each is averaged with", ge=0, le=1000
    )
    stroke_tolerance: float = setting(
        0.0,
        "strokes: leave out points that are this near to the line between others, as a share of the"
        " longer side of the drawing (0: none)",
        ge=0,
        lt=1,
    )
    stroke_slant: Literal["keep", "remove"] = setting(
        "keep", "strokes: shear each drawing so that its strokes from top to bottom are upright"
    )
    stroke_size: Literal["file", "height", "box"] = setting(
        "file", "strokes: as in the file, or scaled so that the height or the longer side is 1"
    )
    reading: Literal["auto", "patches", "rows", "columns", "cnn", "cnn_columns"] = setting(
        "auto",
        "image: what a step is: a square patch, a row of pixels, a column of pixels, a vector of a"
        " convolutional network at each place of its grid, or at each column of it; auto: patches"
        " for a transformer, cnn for a cnn, rows for other networks, cnn_columns for transcribe",
    )
    height: int = setting(
        0,
        "image: pixels that images are resized to (0: as most are, 64 at most)",
        ge=0,
        le=8192,
    )
    width: int = setting(
        0,
        "image: as height; where columns are read images keep their proportions instead",
        ge=0,
        le=8192,
    )
    resize: Literal["stretch", "crop"] = setting(
        "stretch",
        "image: of other proportions: stretched, or cut to the largest part in the middle that has"
        " those of height and width",
    )
    patch_size: int = setting(
        0, "image: pixels of the side of a patch (0: an eighth of the image)", ge=0, le=1024
    )
    colours: Literal["auto", "grey", "rgb"] = setting(
        "auto", "image: read as grey, or as red, green and blue; auto: as the files are"
    )
    conditional: bool | None = setting(
        None,
        "handwrite: write a given text (none: where the data have a column of texts)",
    )
    source: str | None = setting(
        None, "translate: column (name, or number from 1) that holds what is read"
    )
    target: Names = setting(
        None,
        "translate: column (name, or number from 1) that holds what is to be written; forecast:"
        " columns to be continued, with commas (none: all that are not known ahead)",
    )
    known: Names = setting(
        None, "forecast: columns that are known ahead, such as holidays or prices, with commas"
    )
    static: Names = setting(
        None,
        "forecast: columns of numbers or categories that a series has as a whole, such as a region,"
        " with commas",
    )
    horizon: int = setting(0, "forecast: steps to be given (0: a season)", ge=0, le=100_000)
    season: int = setting(
        0, "forecast: steps of a season, such as 24 (0: by the dates)", ge=0, le=1_000_000
    )
    calendar: bool = setting(
        True, "forecast: read the time of day, week and year of steps that have dates"
    )
    valid_steps: int = setting(
        0, "forecast: last steps of each series for validation (0: by valid_share)", ge=0, le=MOST
    )
    test_steps: int = setting(
        0, "forecast: last steps of each series for testing (0: by test_share)", ge=0, le=MOST
    )
    scheme: Literal["auto", "iob1", "iob2", "iobes", "bioul", "none"] = setting(
        "auto",
        "tag: how tags mark spans; auto: by looking at them all; a scheme that is named must be"
        " kept to; none: tags stand for themselves",
    )
    sheet: str | None = setting(None, "excel: the sheet to read, the first one if it is not named")
    missing: Literal["drop", "error", "keep"] = setting(
        "drop",
        "rows whose label is missing (empty, NaN, null, N/A and the like): leave them out and count"
        " them, stop at the first, or keep such spellings as labels",
    )
    split_column: str = setting(
        "auto",
        "column that says to which part a row belongs (train, valid, test); auto: one that is"
        " called split, part, subset or the like and holds such names; none: there is none",
    )
    header: bool | None = setting(None, "whether a table's first row names its columns")
    valid_share: float = setting(0.1, "share of the data held out for validation", ge=0, lt=1)
    test_share: float = setting(0.0, "share of the data held out for testing", ge=0, lt=1)
    split_seed: int = setting(
        1, "seed of the hold-out, so that every run sees the same split", ge=0, lt=2**63
    )
    folds: int = setting(
        0, "cross-validation: rows are split into so many folds (0: none)", ge=0, le=1000
    )
    fold: int = setting(
        0, "the fold that is the test part, from 1 (0: each in turn, with --folds)", ge=0, le=1000
    )
    fold_part: Literal["test", "valid"] = setting(
        "test", "what a fold is held out for; valid: to choose by, as in --model auto"
    )
    group: str | None = setting(
        None, "column (name, or number from 1) whose equal values keep rows in one part"
    )
    max_length: int = setting(
        0,
        "cut documents to this many tokens, keeping the start (0: as batch_tokens, at least"
        " 16,384); tag, translate: longer sentences and pairs are left out of training",
        ge=0,
        le=2**31,
    )

    @property
    def whole(self) -> bool:
        """Whether all folds are run, and then a model of all rows."""
        return self.folds > 0 and self.fold == 0


class TokenizerConfig(Section):
    """How text becomes tokens."""

    kind: Literal["auto", "char", "word", "bpe", "pretrained"] = setting(
        "auto",
        "unit of text; auto: words for classify, regress and tag, characters for generate, byte"
        " pairs for translate; pretrained: comes with --from",
    )
    lowercase: bool = setting(False, "fold case before splitting")
    split: Literal["punctuation", "space"] = setting(
        "punctuation", "where words end: at spaces and punctuation, or at spaces only"
    )
    vocab: int = setting(30_000, "largest vocabulary, special tokens included", ge=4, le=10_000_000)
    min_count: int = setting(1, "rarer tokens become <unk>", ge=1, le=MOST)
    normalize: Literal["none", "nfc", "nfkc"] = setting("nfc", "Unicode normal form")
    joint: bool | None = setting(
        None, "translate: one vocabulary for both sides (none: yes for byte pairs, otherwise no)"
    )


class ModelConfig(Section):
    """The network."""

    network: Literal[
        "recurrent", "cnn", "transformer", "linear", "constant", "bigram", "ensemble"
    ] = setting("recurrent", "kind of network; follows from --model")
    cell: str = setting("lstm", "recurrent cell")
    bidirectional: bool = setting(False, "read the sequence in both directions")
    layers: int = setting(1, "stacked layers", ge=1, le=1000)
    hidden: int = setting(
        128, "units of a layer, in each direction; transformer: size of all vectors", ge=1
    )
    filters: int = setting(100, "cnn: filters of each width", ge=1)
    widths: Widths = setting((2, 3, 4), "cnn: how many tokens a filter reads, with commas")
    embedding: int = setting(
        128, "size of token vectors; 0 feeds one-hot vectors (transformer: always hidden)", ge=0
    )
    embedding_std: float = setting(
        0.0,
        "spread of the initial token vectors (0: 1 in a recurrent language model with an output"
        " layer of its own, else 0.1; transformer: 0.02, with sinusoidal positions 1)",
        ge=0,
    )
    tied: bool = setting(
        False,
        "generate, translate: share the embedding with the output layer; with a joint vocabulary"
        " both sides share it",
    )
    attention: Literal["none", "additive", "dot", "scaled", "general", "concat"] = setting(
        "additive",
        "translate, transcribe: score of a recurrent decoder's attention; of translate it follows"
        " from --model",
    )
    input_feeding: bool = setting(
        False, "translate: give the decoder's cell what attention last found (Luong et al. 2015)"
    )
    reverse_source: bool = setting(
        False, "translate: read the source last token first (Sutskever et al. 2014)"
    )
    pooling: Literal["last", "mean", "max", "attention", "cls"] = setting(
        "max",
        "classify, regress: how the states of a document become one vector; cls (transformer): by a"
        " learned one before its text",
    )
    dense: int = setting(
        0,
        "classify, regress: units of a relu layer between the pooling and the output (0: none)",
        ge=0,
    )
    dropout: float = setting(
        0.3, "dropout on embeddings, between layers and on the output", ge=0, lt=1
    )
    word_dropout: float = setting(0.0, "share of tokens replaced by <unk> in training", ge=0, lt=1)
    time_masks: int = setting(
        0,
        "series, audio: stretches of time that are hidden in training (SpecAugment)",
        ge=0,
        le=100,
    )
    time_mask: float = setting(
        0.05, "longest of these stretches, as a share of the recording", gt=0, le=1
    )
    band_masks: int = setting(
        0, "series, audio: stretches of channels that are hidden in training", ge=0, le=100
    )
    band_mask: float = setting(
        0.2, "widest of these stretches, as a share of the channels", gt=0, le=1
    )
    flip: float = setting(
        0.0, "image: share of the images that are mirrored left to right in training", ge=0, le=1
    )
    crop: float = setting(
        0.0,
        "image: in training shift by up to this share of each side; what is then missing is the"
        " mean colour",
        ge=0,
        le=0.5,
    )
    colour_jitter: float = setting(
        0.0,
        "image: in training change brightness (in standard deviations), contrast and saturation (as"
        " a share) by up to this much",
        ge=0,
        le=1,
    )
    characters: Literal["none", "lstm", "cnn"] = setting(
        "none", "tag: encoder of a word's characters, whose vector is an extra feature of the word"
    )
    character_embedding: int = setting(30, "tag: size of character vectors", ge=1)
    character_hidden: int = setting(
        50, "tag: size of the vector that is made of a word's characters; even for lstm", ge=2
    )
    output: Literal["auto", "softmax", "crf", "point", "quantiles", "gaussian", "student"] = (
        setting(
            "auto",
            "tag: each tag by itself, or all of a sentence together (a linear-chain CRF); auto: crf"
            " for spans, softmax for other tags; forecast: one value (auto), quantiles or a"
            " distribution",
        )
    )
    mixture: int = setting(
        20, "handwrite: Gaussians of the distribution of the next move", ge=1, le=1000
    )
    text_window: int = setting(
        10, "handwrite: Gaussians of the window over the characters of a text", ge=1, le=1000
    )
    strategy: Literal["direct", "recursive"] = setting(
        "direct", "forecast: all steps ahead at once, or each from those before it"
    )
    center: Literal["mean", "last", "none"] = setting(
        "mean", "forecast: what is subtracted from each window, which is then scaled"
    )
    patch: int = setting(1, "forecast, transcribe: steps that are read as one", ge=1, le=10_000)
    reduction: Literal["stack", "convolution"] = setting(
        "stack",
        "transcribe: how `patch` steps become one: side by side, or by convolutions with strides",
    )
    objective: Literal["ctc", "attention", "hybrid"] = setting(
        "ctc",
        "transcribe: what is learnt: CTC, an attention decoder, or both (Watanabe et al. 2017)",
    )
    ctc_weight: float = setting(
        0.3, "transcribe: weight of CTC in the loss of objective=hybrid", gt=0, lt=1
    )
    skip: bool = setting(
        True, "forecast: add a weighted sum of the window itself to what the network gives"
    )
    projection: int = setting(128, "elmo: size of the vectors that a direction gives", ge=1)
    highways: int = setting(1, "elmo: highway layers over the characters of a word", ge=0, le=1000)
    options: dict[str, Any] = setting({}, "options of the cell itself, such as reset=before")
    heads: int = setting(4, "transformer: attention heads; they divide hidden", ge=1)
    feed_forward: int = setting(
        0, "transformer: units of the feed-forward layers (0: 4 x hidden)", ge=0
    )
    activation: Literal["relu", "gelu", "gelu_tanh", "swiglu"] = setting(
        "gelu", "transformer: of the feed-forward layers"
    )
    norm: Literal["pre", "post"] = setting(
        "pre", "transformer: layer normalisation before each sublayer, or after it"
    )
    epsilon: float = setting(
        1e-5, "transformer: what layer normalisation adds to the variance", gt=0
    )
    embedding_norm: bool = setting(False, "transformer: normalise the token vectors, as BERT does")
    positions: Literal["sinusoidal", "learned", "rotary", "none"] = setting(
        "sinusoidal", "transformer: how it knows the order of tokens"
    )
    context: int = setting(
        0,
        "transformer: how many learned positions there are (0: as max_length or bptt)",
        ge=0,
    )
    self_attention: Literal["full", "window", "linear"] = setting(
        "full", "transformer: to all tokens, to near ones, or without softmax, for long texts"
    )
    attention_window: int = setting(
        128,
        "tokens that self_attention=window sees to each side",
        ge=1,
        validation_alias=AliasChoices("attention_window", "window"),  # as runs of old have it
    )
    attention_dropout: float = setting(
        0.0, "transformer: dropout on the attention weights", ge=0, lt=1
    )


class EmbeddingConfig(Section):
    """Where the token vectors come from, if not from chance."""

    file: str | None = setting(
        None,
        "start from the word vectors of a file, or of a run of `unspool embed`; their size becomes"
        " that of the embedding",
        alias="from",
    )
    extend: bool = setting(
        False,
        "add words that only the vectors have to the vocabulary, the first ones, up to"
        " tokenizer.vocab",
    )
    frozen: bool = setting(False, "freeze the token vectors in training")
    contextual: ModelConfig | None = setting(
        None,
        "the language models whose contextual vectors are extra features of the tokens; follows"
        " from --from",
    )
    tuned: bool = setting(
        False, "let these language models learn too, not only the mix of their layers"
    )


class TrainConfig(Section):
    """The optimisation."""

    epochs: int = setting(
        10,
        "passes over the training data at most; 0: 10, but of few data as many as make"
        " `least_steps`, 50 at most",
        ge=0,
        le=MOST,
    )
    least_steps: int = setting(
        1500, "updates that epochs=0 makes, where the data are few", ge=1, le=MOST
    )
    stop_epoch: int = setting(
        0,
        "end after this one of all `epochs`, with their learning rates (0: do not); with --folds"
        " the median of the best epochs",
        ge=0,
        le=MOST,
    )
    max_steps: int = setting(0, "stop after this many updates (0: no limit)", ge=0, le=MOST)
    batch: int = setting(
        32, "documents in a batch at most; generate: parallel lanes, or windows", ge=1, le=MOST
    )
    windows: int = setting(
        25_600,
        "forecast: windows of an epoch at most, chosen at random for each (0: all)",
        ge=0,
        le=10**9,
    )
    batch_tokens: int = setting(
        16_384,
        "tokens in a batch at most, padding included (classify, regress; translate: of both sides)",
        ge=1,
        le=MOST,
    )
    bptt: int = setting(
        128,
        "generate: steps of truncated backpropagation through time; transformer: its context",
        ge=1,
        le=MOST,
    )
    optimizer: Literal["adamw", "sgd"] = setting("adamw", "optimiser")
    lr: float = setting(1e-3, "peak learning rate", gt=0)
    momentum: float = setting(0.0, "momentum of sgd", ge=0, lt=1)
    beta2: float = setting(0.999, "memory of adamw for squared gradients", gt=0, lt=1)
    weight_decay: float = setting(0.01, "decoupled weight decay, matrices only", ge=0)
    schedule: Literal["constant", "linear", "cosine"] = setting(
        "cosine", "shape of the learning rate after the warm-up"
    )
    warmup: float = setting(
        0.02, "share of all steps in which the rate rises from zero", ge=0, lt=1
    )
    clip: float = setting(1.0, "largest global Euclidean norm of the gradient (0: off)", ge=0)
    freeze: Literal["none", "encoder", "gradual"] = setting(
        "none", "with --from: freeze the encoder, or unfreeze a block more of it each epoch"
    )
    layer_decay: float = setting(
        1.0,
        "each block of the encoder learns at this share of the rate of the one above it",
        gt=0,
        le=1,
    )
    loss: Literal["squared", "absolute"] = setting(
        "squared",
        "regress: error that is made small; squared learns means and is judged by rmse, absolute"
        " learns medians and is judged by mae",
    )
    label_smoothing: float = setting(0.0, "share of the target spread over all classes", ge=0, lt=1)
    class_weights: Literal["none", "balanced"] = setting(
        "none",
        "classify: weights of the loss; balanced: rows / (classes x count), so that all classes"
        " weigh alike",
    )
    oversample: bool = setting(
        False,
        "classify: repeat rows of rarer labels until an epoch has equally many of each; a row with"
        " several labels counts for its rarest",
    )
    calibrate: bool = setting(
        True,
        "classify: divide scores by a temperature that is fitted to the validation part, so that"
        " probabilities are calibrated",
    )
    thresholds: Literal["label", "one", "none"] = setting(
        "label",
        "classify, several labels a row: the probability from which on a label is given, chosen by"
        " F1 on the validation part for each label, or one for all (none: 0.5)",
    )
    max_seconds: float = setting(
        0.0,
        "stop after this many seconds of training; the learning rate comes down by then (0: no"
        " limit)",
        ge=0,
        le=MOST,
    )
    patience: int = setting(
        3, "stop after this many validations without gain (0: never)", ge=0, le=MOST
    )
    eval_steps: int = setting(
        0, "validate every so many steps (0: after each epoch)", ge=0, le=MOST
    )
    log_steps: int = setting(20, "write a line to metrics.jsonl every so many steps", ge=1, le=MOST)
    checkpoint_seconds: float = setting(60.0, "longest time between checkpoints", ge=0, le=MOST)
    max_bad_steps: int = setting(
        5, "stop after this many non-finite losses in a row", ge=1, le=MOST
    )
    precision: Literal["auto", "fp32", "bf16"] = setting(
        "auto", "arithmetic of matrix products; auto: bf16 where the CPU has it in hardware"
    )
    device: Literal["auto", "cpu", "cuda", "mps"] = setting(
        "auto", "where a run computes; auto: cuda if there is one, otherwise the CPU"
    )
    baseline: bool = setting(
        True,
        "classify, regress: after training, also fit the simplest models to the same data, and"
        " report them beside this one",
    )
    threads: int = setting(0, "CPU threads (0: one per core)", ge=0, le=1024)
    tensorboard: bool = setting(False, "also write TensorBoard events into the run folder")
    seed: int = setting(1, "seed of initial weights, batches and dropout", ge=0, lt=2**32)


class Config(Section):
    """All settings of one run."""

    task: str = setting(..., "what the model learns to do")
    model_name: str = setting("bilstm", "the model as named on the command line")
    data: DataConfig = DataConfig()
    tokenizer: TokenizerConfig = TokenizerConfig()
    model: ModelConfig = ModelConfig()
    embedding: EmbeddingConfig = EmbeddingConfig()
    train: TrainConfig = TrainConfig()
    members: tuple[Config, ...] = setting(
        (), "the models of an ensemble; follows from --model auto"
    )


def sections(kind: type[Section]) -> dict[str, type[Section]]:
    """The sections of a config of some kind."""
    found = {name: field.annotation for name, field in kind.model_fields.items()}
    return {n: c for n, c in found.items() if isinstance(c, type) and issubclass(c, Section)}


SECTIONS = sections(Config)


def settings(kind: type[Section] = Config) -> Iterator[tuple[str, FieldInfo]]:
    """Every setting as (`section.name`, field), in the order of this file."""
    for section, model in sections(kind).items():
        for name, field in model.model_fields.items():
            yield f"{section}.{field.alias or name}", field
