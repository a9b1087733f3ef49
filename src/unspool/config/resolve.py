"""From given values to a `Config`: defaults, a file and the command line, layer upon layer.

In: names and values, and where each was given. Out: a frozen config, or one line about the first
thing that does not fit.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from unspool.config.data import DataConfig
from unspool.config.schema import Config, sections, settings
from unspool.config.section import Section
from unspool.errors import ConfigError, Option, Setting, nearest
from unspool.io.files import is_deep, read_regular

NAMES = {
    "lr": "learning_rate init_lr learning_rate_init base_lr step_size alpha",
    "batch": "batch_size bs minibatch_size train_batch_size per_device_train_batch_size",
    "hidden": "hidden_size hidden_dim hidden_units units n_hidden d_model rnn_size state_size"
    " num_units hidden_layer_sizes",
    "layers": "num_layers n_layers n_layer num_hidden_layers depth",
    "max_length": "max_len maxlen max_seq_length max_seq_len max_sequence_length sequence_length",
    "epochs": "n_epochs num_epochs num_train_epochs max_epochs nb_epoch n_iter",
    "heads": "num_heads n_heads n_head nhead num_attention_heads",
    "embedding": "embedding_dim emb_dim embed_dim embedding_size emb_size embed_size",
    "size": "vector_size",
    "seed": "random_state random_seed manual_seed",
    "vocab": "vocab_size vocabulary_size max_vocab max_vocab_size max_features num_words",
    "dropout": "dropout_rate dropout_p dropout_prob drop_rate hidden_dropout_prob",
    "patience": "early_stopping early_stopping_patience early_stopping_rounds n_iter_no_change",
    "max_steps": "num_steps total_steps max_train_steps max_iter",
    "warmup": "warmup_steps warmup_ratio warmup_proportion num_warmup_steps",
    "weight_decay": "l2 l2_reg l2_penalty weight_decay_rate reg_lambda",
    "clip": "grad_clip gradient_clipping max_grad_norm clip_norm clipnorm gradient_clip_val",
    "optimizer": "optim optimiser solver",
    "schedule": "scheduler lr_schedule lr_scheduler lr_scheduler_type learning_rate_schedule",
    "valid_share": "validation_split validation_fraction val_split val_size valid_size dev_size",
    "test_share": "test_size test_split",
    "threads": "num_threads n_jobs num_workers workers n_threads",
    "cell": "rnn_type cell_type rnn_cell",
    "min_count": "min_freq min_frequency min_df",
    "feed_forward": "dim_feedforward ff_dim ffn_dim d_ff intermediate_size",
    "lowercase": "do_lower_case lower lower_case",
    "widths": "kernel_size kernel_sizes filter_sizes",
    "filters": "num_filters n_filters",
    "negatives": "negative negative_samples",
    "precision": "fp16 bf16 amp mixed_precision dtype",
    "label_smoothing": "label_smoothing_factor smoothing",
    "eval_steps": "eval_every validation_steps val_check_interval",
    "class_weights": "class_weight",
    "kind": "tokenizer_type token_type analyzer",
    "text": "text_column text_col text_field",
    "label": "label_column label_col label_field target_column",
    # Not settings, but arguments of `train`, and options of its command:
    "out": "output_dir save_dir out_dir output_path",
    "model": "model_type model_name architecture arch",
    "valid": "validation_data valid_data val_data eval_data dev dev_data",
    "test": "test_data",
}
OURS = {theirs: ours for ours, names in NAMES.items() for theirs in names.split()}
ARGUMENTS = ("out", "model", "valid", "test")


def synonym(name: str) -> str | None:
    """Our name for what another library calls `name`; a section before it counts for nothing."""
    return OURS.get(name.rsplit(".", 1)[-1].lower().replace("-", "_"))


S = TypeVar("S", bound=Section)

LARGEST = 1 << 20  # bytes of a config file
TOML_LINES = "write lines such as epochs = 5"


def resolve(
    *,
    task: str,
    model: str,
    layers: Sequence[tuple[object, Mapping[str, Any]]],
    options: Collection[str] = (),
) -> Config:
    """The `Config` for a task and a model from several layers of settings; see `layered`."""
    fixed = {"task": task, "model_name": model}
    return layered(Config, layers, fixed=fixed, options=options)


class _Reading(Section):
    data: DataConfig = DataConfig()


def resolve_data(layers: Sequence[tuple[object, Mapping[str, Any]]]) -> DataConfig:
    """Settings of reading alone, which do not depend on the task."""
    names = {name.split(".")[1]: name for name, _ in settings(_Reading)}
    bare = [name.split(".")[1] for name, _ in settings(Config)]
    mine = {name for name in names if bare.count(name) == 1} | set(names.values())
    chosen = [
        (where, {key: value for key, value in values.items() if key in mine})
        for where, values in layers
    ]
    return layered(_Reading, chosen, fixed={}).data


def layered(
    kind: type[S],
    layers: Sequence[tuple[object, Mapping[str, Any]]],
    *,
    fixed: Mapping[str, Any],
    options: Collection[str] = (),
) -> S:
    """A config of some kind from several layers of settings, later ones winning.

    layers   (where it was given, {name: value}); a name is `section.name`, a bare name, or one of
             the cell's own `options`
    own      what the config has besides its sections
    """
    tree: dict[str, dict[str, Any]] = {name: {} for name in sections(kind)}
    given_in: dict[str, object] = {}
    for where, values in layers:
        for key, value in values.items():
            full = full_name(key, options=options, where=where, kind=kind)
            section, name = full.split(".", 1)
            given_in[f"{section}.{name}"] = where
            value = str(value) if isinstance(value, Path) else value
            if name.startswith("options."):
                chosen = tree[section].setdefault("options", {})
                tree[section]["options"] = {**chosen, name.removeprefix("options."): value}
            else:
                unset = value == "none" and dict(settings(kind))[full].default is None
                tree[section][name] = None if unset else value
    return build(kind, {**fixed, **tree}, given_in)


def build(
    kind: type[S], tree: Mapping[str, Any], given_in: Mapping[str, object] | None = None
) -> S:
    """The frozen config from plain values; the first thing that does not fit is a ConfigError."""
    try:
        return kind.model_validate(tree)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"][:2])
        if first["type"] == "extra_forbidden":
            full_name(key, where=(given_in or {}).get(key), kind=kind)
        field = dict(settings(kind)).get(key)
        raise ConfigError(
            f"{key}: {first['msg'][0].lower()}{first['msg'][1:]}",
            where=(given_in or {}).get(key),
            got=first["input"],
            remedy=f"it means: {field.description}" if field else None,
        ) from None


def changed(config: Config, values: Mapping[str, Any]) -> Config:
    """The config with other values for some settings of `section.name`, checked like any other."""
    tree = config.model_dump()
    given_in = {}
    for key, value in values.items():
        section, name = full_name(key).split(".", 1)
        tree[section][name] = value
        given_in[f"{section}.{name}"] = Option(name)
    return build(Config, tree, given_in)


def reading_changed(config: Config, values: Mapping[str, Any]) -> Config:
    """The config with other settings of how data are read: text=, label=, format=, ..."""
    return changed(config, {f"data.{name}": value for name, value in values.items()})


def read_toml(path: str) -> dict[str, Any]:
    """The settings of a TOML file, flat: {`section.name`: value}."""
    try:
        tree = tomllib.loads(read_regular(Path(path), most=LARGEST).decode())
        if is_deep(tree):
            raise RecursionError
    except FileNotFoundError:
        raise ConfigError("no such config file", where=path, remedy="check the path") from None
    except UnicodeDecodeError:
        raise ConfigError(
            "cannot read the config file: not UTF-8", where=path, remedy="save it as UTF-8"
        ) from None
    except OSError as error:
        raise ConfigError(
            f"cannot read the config file ({error.strerror})", where=path, remedy="check the path"
        ) from None
    except RecursionError:
        raise ConfigError(
            "the config file is nested too deeply", where=path, remedy=TOML_LINES
        ) from None
    except (ValueError, TypeError) as error:  # numbers with thousands of digits; no path
        raise ConfigError(
            f"not a TOML file ({error})",
            where=path if str(path).isprintable() else repr(path),
            remedy=TOML_LINES,
        ) from None
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        flat |= _flatten(key, value)
    return flat


def parse_assignments(pairs: Sequence[str]) -> dict[str, str]:
    """`key=value` words of the command line as a dictionary."""
    values = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise ConfigError(
                "settings are given as key=value",
                got=pair,
                remedy=("for example ", Setting(epochs=5)),
            )
        values[key.strip()] = value.strip()
    return values


def full_name(
    key: str, *, options: Collection[str] = (), where: object = None, kind: type[Section] = Config
) -> str:
    """`section.name` for a key that may lack its section; a cell's own `options` come first, and of
    two settings with one name that of the data needs its section."""
    names = [name for name, _ in settings(kind)]
    if key in names or (key.startswith("model.options.") and "model" in sections(kind)):
        return key
    if key in options:
        return f"model.options.{key}"
    bare = [name for name in names if name.split(".")[1] == key]
    if len(bare) > 1:
        bare = [name for name in bare if not name.startswith("data.")]
    if len(bare) == 1:
        return bare[0]
    bare_names = [name.split(".")[1] for name in names]
    ours = synonym(key)
    if ours is not None and (ours in bare_names or (ours in ARGUMENTS and kind is Config)):
        near: str | None = ours
    else:
        near = nearest(key, [*names, *bare_names, *options])
    raise ConfigError(
        "unknown setting",
        where=where,
        got=key,
        remedy=(f"did you mean {near!r}? " if near else "") + "`unspool settings` lists them all",
    )


def _flatten(prefix: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        return {prefix: value}
    flat: dict[str, Any] = {}
    for key, inner in value.items():
        flat |= _flatten(f"{prefix}.{key}", inner)
    return flat
