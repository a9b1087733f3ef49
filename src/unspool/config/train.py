"""The settings of the optimisation."""

from __future__ import annotations

from typing import Literal

from unspool.config.section import MOST, NEURAL, Section, setting


class TrainConfig(Section):
    """The optimisation."""

    epochs: int = setting(
        10,
        "maximum number of passes over the training data; 0: 10, but for small data as many as make"
        " `least_steps`, 50 at most",
        ge=0,
        le=MOST,
        when=NEURAL,
    )
    least_steps: int = setting(
        1500,
        "updates that epochs=0 aims at when the data are small",
        ge=1,
        le=MOST,
        when="train.epochs=0",
    )
    stop_epoch: int = setting(
        0,
        "end after this one of all `epochs`, with their learning rates (0: do not); with folds"
        " the median of the best epochs",
        ge=0,
        le=MOST,
        when=NEURAL,
    )
    max_steps: int = setting(
        0, "stop after this many updates (0: no limit)", ge=0, le=MOST, when=NEURAL
    )
    batch: int = setting(
        32,
        "maximum number of documents in a batch; generate: parallel streams, or windows",
        ge=1,
        le=MOST,
    )
    accumulate: int = setting(
        1,
        "compute each batch in this many parts, one after another, and sum their gradients: the"
        " same update in less memory",
        ge=1,
        le=4096,
        when=NEURAL,
    )
    processes: int = setting(
        1,
        "processes that share the rows of each batch",
        ge=1,
        le=1024,
        when=NEURAL,
    )
    windows: int = setting(
        25_600,
        "forecast: maximum number of windows per epoch, sampled anew each time (0: all)",
        ge=0,
        le=10**9,
    )
    batch_tokens: int = setting(
        16_384,
        "maximum number of tokens in a batch, with padding (classify, regress; translate: both"
        " sides)",
        ge=1,
        le=MOST,
    )
    bptt: int = setting(
        128,
        "generate: steps of truncated backpropagation through time; transformer: its context",
        ge=1,
        le=MOST,
    )
    optimizer: Literal["adamw", "sgd"] = setting("adamw", "optimiser", when=NEURAL)
    lr: float = setting(1e-3, "peak learning rate", gt=0, when=NEURAL)
    momentum: float = setting(0.0, "momentum of sgd", ge=0, lt=1, when="train.optimizer=sgd")
    beta2: float = setting(
        0.999,
        "beta2 of adamw: decay of the squared gradients",
        gt=0,
        lt=1,
        when="train.optimizer=adamw",
    )
    weight_decay: float = setting(0.01, "decoupled weight decay, matrices only", ge=0, when=NEURAL)
    schedule: Literal["constant", "linear", "cosine"] = setting(
        "cosine", "learning rate schedule after the warm-up", when=NEURAL
    )
    warmup: float = setting(
        0.02,
        "share of all steps in which the learning rate rises from zero",
        ge=0,
        lt=1,
        when=NEURAL,
    )
    clip: float = setting(
        1.0, "clip the gradient to this global L2 norm (0: off)", ge=0, when=NEURAL
    )
    freeze: Literal["none", "encoder", "gradual"] = setting(
        "none", "fine-tuning: freeze the encoder, or unfreeze a block more of it each epoch"
    )
    layer_decay: float = setting(
        1.0,
        "learning rate of each encoder block, as a share of that of the block above",
        gt=0,
        le=1,
        when=NEURAL,
    )
    loss: Literal["squared", "absolute"] = setting(
        "squared",
        "regress: loss; squared learns means and is judged by rmse, absolute"
        " learns medians and is judged by mae",
    )
    label_smoothing: float = setting(
        0.0, "label smoothing: share of the target spread over all classes", ge=0, lt=1, when=NEURAL
    )
    class_weights: Literal["none", "balanced"] = setting(
        "none",
        "classify: weights of the loss; balanced: rows / (classes x count), so that all classes"
        " weigh alike",
    )
    oversample: bool = setting(
        False,
        "classify: repeat rows of rarer labels until an epoch has equally many of each; a row with"
        " several labels counts for its rarest",
        when=NEURAL,
    )
    calibrate: bool = setting(
        True,
        "classify: divide scores by a temperature that is fitted to the validation part, so that"
        " probabilities are calibrated",
    )
    thresholds: Literal["label", "one", "none"] = setting(
        "label",
        "classify, several labels a row: threshold of the probability of a label, chosen by"
        " F1 on the validation part for each label, or one for all (none: 0.5)",
    )
    max_seconds: float = setting(
        0.0,
        "stop after this many seconds of training; the learning rate comes down by then (0: no"
        " limit)",
        ge=0,
        le=MOST,
        when=NEURAL,
    )
    patience: int = setting(
        3, "stop after this many validations without gain (0: never)", ge=0, le=MOST, when=NEURAL
    )
    keep: Literal["best", "last"] = setting(
        "best",
        "weights to keep: those that were best on the validation part (classify, regress: of 50"
        " rows at least), or the last",
        when=NEURAL,
    )
    eval_steps: int = setting(
        0, "validate every so many steps (0: after each epoch)", ge=0, le=MOST, when=NEURAL
    )
    log_steps: int = setting(
        20, "write a line to metrics.jsonl every so many steps", ge=1, le=MOST, when=NEURAL
    )
    checkpoint_seconds: float = setting(
        60.0, "longest time between checkpoints", ge=0, le=MOST, when=NEURAL
    )
    max_bad_steps: int = setting(
        5, "stop after this many non-finite losses in a row", ge=1, le=MOST, when=NEURAL
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
    tensorboard: bool = setting(
        False, "also write TensorBoard events into the run folder", when=NEURAL
    )
    seed: int = setting(1, "seed of initial weights, batches and dropout", ge=0, lt=2**32)
