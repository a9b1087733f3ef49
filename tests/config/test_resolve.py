"""Settings: layers, names, refusals."""

from pathlib import Path

import pytest

from unspool.config import Config, settings
from unspool.config.resolve import (
    ARGUMENTS,
    NAMES,
    OURS,
    build,
    full_name,
    parse_assignments,
    read_toml,
    resolve,
)
from unspool.embed.settings import EmbedConfig
from unspool.errors import ConfigError


def make(*layers: dict, options: tuple[str, ...] = ()) -> Config:
    return resolve(
        task="classify",
        model="lstm",
        layers=[("--set", layer) for layer in layers],
        options=options,
    )


def test_later_layers_win_and_strings_are_converted() -> None:
    config = make({"train.epochs": 3, "hidden": 64}, {"epochs": "7", "lowercase": "true"})
    assert (config.train.epochs, config.model.hidden, config.tokenizer.lowercase) == (7, 64, True)


def test_options_of_the_cell_by_bare_name_and_by_path() -> None:
    config = make(
        {"reset": "before"}, {"model.options.update": "take"}, options=("reset", "update")
    )
    assert config.model.options == {"reset": "before", "update": "take"}


def test_none_unsets_a_column() -> None:
    assert make({"data.text": "review"}, {"data.text": "none"}).data.text is None


def test_a_path_is_its_name() -> None:
    config = make({"embedding.from": Path("runs") / "words"})
    assert config.embedding.file == str(Path("runs/words"))


def test_config_is_frozen_and_round_trips() -> None:
    config = make({"epochs": 3})
    with pytest.raises(Exception, match="frozen"):
        config.train.epochs = 4  # type: ignore[misc]
    assert build(Config, config.model_dump(mode="json")) == config


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("hiden", 3, "unknown setting; got 'hiden'. Did you mean 'hidden'"),
        ("train.epoch", 3, "did you mean 'train.epochs'"),
        ("epochs", "many", "train.epochs: input should be a valid integer"),
        ("dropout", 1.5, "model.dropout: input should be less than 1; got 1.5"),
        ("lr", 0, "train.lr: input should be greater than 0"),
        (
            "pooling",
            "sum",
            "should be 'last', 'mean', 'max', 'attention', 'position' or 'cls'; got 'sum'",
        ),
        ("precision", "fp8", "train.precision: input should be 'auto', 'fp32' or 'bf16'"),
    ],
)
def test_a_bad_setting_is_named_in_one_line(key: str, value: object, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make({key: value})
    text = str(caught.value)
    assert message.lower() in text.lower()
    assert text.startswith("--set: ")
    assert "\n" not in text


def test_every_setting_has_help_and_a_unique_bare_name() -> None:
    names = [name for name, _ in settings()]
    assert all(field.description for _, field in settings())
    for name in names:
        assert full_name(name.split(".")[1]) == name


def test_assignments() -> None:
    assert parse_assignments(["a=1", "b = x=y"]) == {"a": "1", "b": "x=y"}
    with pytest.raises(ConfigError, match=r"settings are given as key=value; got 'epochs'"):
        parse_assignments(["epochs"])


def test_toml(tmp_path) -> None:
    path = tmp_path / "a.toml"
    path.write_text('epochs = 5\n[model]\nhidden = 8\n[model.options]\nreset = "before"\n')
    assert read_toml(str(path)) == {
        "epochs": 5,
        "model.hidden": 8,
        "model.options.reset": "before",
    }
    path.write_text("epochs = = 5")
    with pytest.raises(ConfigError, match=r"not a TOML file .*line 1"):
        read_toml(str(path))
    with pytest.raises(ConfigError, match="no such config file"):
        read_toml(str(tmp_path / "missing.toml"))


@pytest.mark.parametrize("theirs", OURS)
def test_names_of_other_libraries_lead_to_ours(theirs) -> None:
    kind = EmbedConfig if OURS[theirs] in ("size", "negatives") else Config
    with pytest.raises(ConfigError, match=f"got '{theirs}'. Did you mean '{OURS[theirs]}'[?]"):
        full_name(theirs, kind=kind)


def test_every_synonym_is_of_a_setting_and_is_none() -> None:
    own = {name.split(".")[1] for kind in (Config, EmbedConfig) for name, _ in settings(kind)}
    assert NAMES.keys() <= own | set(ARGUMENTS)
    assert not OURS.keys() & own
    with pytest.raises(ConfigError, match="Did you mean 'lr'"):
        full_name("train.Learning-Rate")
    with pytest.raises(ConfigError) as caught:  # a setting that vectors do not have
        full_name("num_heads", kind=EmbedConfig)
    assert "'heads'" not in str(caught.value)
