"""The settings of networks, and of the token vectors that they read."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import AliasChoices

from unspool.config.section import MOST, NEURAL, TEXTS, Section, Widths, setting

TRANSFORMER = "model.network=transformer"
DECODER = "model.network=recurrent|cnn"  # recurrent, with attention to the encoder
STORY = "data.input=story"


class ModelConfig(Section):
    """The network."""

    network: Literal[
        "recurrent", "cnn", "transformer", "linear", "constant", "bigram", "ensemble"
    ] = setting("recurrent", "kind of network; follows from the model")
    log_count_ratios: bool = setting(
        False,
        "linear, classify: weigh n-grams by naive Bayes' log-count ratios; follows from the model",
        when="model.network=linear",
    )
    rocket: bool = setting(
        False,
        "linear: features are MiniRocket's convolutions, not statistics of channels; follows from"
        " the model",
        when="model.network=linear",
    )
    cell: str = setting("lstm", "recurrent cell", when="model.network=recurrent")
    bidirectional: bool = setting(
        False, "read the sequence in both directions", when="model.network=recurrent"
    )
    layers: int = setting(1, "stacked layers", ge=1, le=1000, when=NEURAL)
    hidden: int = setting(
        128,
        "units per layer and direction; transformer: model width",
        ge=1,
        when=("model.network=recurrent|transformer", "model.objective=attention|hybrid"),
    )
    filters: int = setting(
        100, "cnn: number of filters per width", ge=1, when=("model.network=cnn", "task=elmo")
    )
    widths: Widths = setting(
        (2, 3, 4),
        "cnn: filter widths in tokens, with commas",
        when=("model.network=cnn", "task=elmo"),
    )
    embedding: int = setting(
        128,
        "size of token vectors; 0 feeds one-hot vectors (transformer: always hidden)",
        ge=0,
        when=("model.network=recurrent|cnn", "model.objective=attention|hybrid"),
    )
    embedding_std: float = setting(
        0.0,
        "spread of the initial token vectors (0: 1 in a recurrent language model with an output"
        " layer of its own, else 0.1; transformer: 0.02, with sinusoidal positions 1)",
        ge=0,
        when=NEURAL,
    )
    tied: bool = setting(
        False,
        "generate, translate, caption: share the embedding with the output layer; with a joint"
        " vocabulary both sides share it",
    )
    attention: Literal["none", "additive", "dot", "scaled", "general", "concat"] = setting(
        "additive",
        "translate, transcribe, caption: score of a recurrent decoder's attention; of translate and"
        " caption it follows from the model",
        when=DECODER,
    )
    input_feeding: bool = setting(
        False,
        "translate: input feeding: pass the last attention vector to the decoder's cell (Luong"
        " et al. 2015)",
        when=DECODER,
    )
    context_gate: bool = setting(
        False,
        "caption, translate, transcribe: a gate on the context of additive attention (Xu et al."
        " 2015)",
        when=DECODER,
    )
    doubly_stochastic: float = setting(
        0.0,
        "caption: weight of the doubly stochastic attention loss, (1 - total attention to"
        " a step)^2 (Xu et al. 2015)",
        ge=0,
        when=DECODER,
    )
    encoder: Literal["network", "none"] = setting(
        "network",
        "caption: encoder between the input layer and the decoder's attention: the network, or"
        " nothing"
        " but the input layer, such as a CNN (none; follows from the model); answer, about stories:"
        " what reads the words of a sentence",
    )
    tuned_encoder: bool = setting(
        False,
        "image: fine-tune the trained encoder (data.image_encoder); otherwise it is frozen",
        when="data.image_encoder",
    )
    reverse_source: bool = setting(
        False, "translate: reverse the source (Sutskever et al. 2014)", when=DECODER
    )
    copying: bool = setting(
        False,
        "translate, summarize: the decoder may copy tokens of the source (See et al. 2017)",
        alias="copy",
    )
    coverage: bool = setting(
        False,
        "with copy and additive attention: coverage; attention sees its past weights, and attending"
        " twice to the same token is penalised",
        when="model.copy",
    )
    pooling: Literal["last", "mean", "max", "attention", "position", "cls"] = setting(
        "max",
        "classify, regress: pooling of the states of a document; position: a sum with"
        " learned weights for each position; cls (transformer): by a learned one before its text",
    )
    pair: Literal["auto", "sequence", "bidaf", "decomposable"] = setting(
        "auto",
        "two texts: read as one sequence with a separator, or each by itself with attention between"
        " them (Seo et al. 2017; Parikh et al. 2016); auto: sequence for a transformer, otherwise"
        " bidaf",
    )
    reasoning: Literal["attention", "reduction"] = setting(
        "attention",
        "answer, about stories: attention over a memory of sentences (Sukhbaatar et al. 2015), or a"
        " recurrence over them that updates the question (Seo et al. 2017); follows from the model",
        when=STORY,
    )
    answer: Literal["choose", "write"] = setting(
        "choose",
        "answer, about stories: choose among the answers of the training data, or write one, token"
        " by token",
        when=STORY,
    )
    hops: int = setting(
        3,
        "answer, about stories: hops over the memory of sentences, or layers of"
        " the recurrence (0: story and question are read as one sequence)",
        ge=0,
        le=100,
        when=STORY,
    )
    memory: int = setting(
        64,
        "answer, about stories: size of the memory, in latest sentences (0: all)",
        ge=0,
        le=MOST,
        when=STORY,
    )
    dense: int = setting(
        0,
        "classify, regress: units of a relu layer between the pooling and the output (0: none)",
        ge=0,
    )
    dropout: float = setting(
        0.3, "dropout on embeddings, between layers and on the output", ge=0, lt=1, when=NEURAL
    )
    word_dropout: float = setting(
        0.0,
        "share of tokens replaced by <unk> in training; caption: of those that the decoder reads",
        ge=0,
        lt=1,
    )
    time_masks: int = setting(
        0, "series, audio: number of time masks in training (SpecAugment)", ge=0, le=100
    )
    time_mask: float = setting(
        0.05, "longest time mask, as a share of the recording", gt=0, le=1, when="model.time_masks"
    )
    band_masks: int = setting(
        0, "series, audio: number of channel masks in training (SpecAugment)", ge=0, le=100
    )
    band_mask: float = setting(
        0.2, "widest channel mask, as a share of the channels", gt=0, le=1, when="model.band_masks"
    )
    band_warp: float = setting(
        0.0,
        "audio: in training, shift the bands of the spectrum by up to this share, as other voices"
        " have them",
        ge=0,
        le=0.5,
    )
    flip: float = setting(
        0.0, "image, video: share of training images that are flipped left to right", ge=0, le=1
    )
    crop: float = setting(
        0.0,
        "image, video: in training, shift by up to this share of each side; the border is filled"
        " with"
        " the mean colour",
        ge=0,
        le=0.5,
    )
    transpose: int = setting(
        0,
        "compose: in training, transpose each piece by up to this many semitones, up or down",
        ge=0,
        le=12,
    )
    colour_jitter: float = setting(
        0.0,
        "image, video: in training, change brightness (in standard deviations), contrast and"
        " saturation (as a share) by up to this much",
        ge=0,
        le=1,
    )
    characters: Literal["none", "lstm", "cnn"] = setting(
        "none",
        "tag: encoder of a word's characters, whose vector is an extra feature of the word",
        when=TEXTS,
    )
    character_embedding: int = setting(
        30, "tag: size of character vectors", ge=1, when=("model.characters=lstm|cnn", "task=elmo")
    )
    character_hidden: int = setting(
        50,
        "tag: size of the character-based word vector; even for lstm",
        ge=2,
        when=("model.characters=lstm|cnn", "task=elmo"),
    )
    output: Literal["auto", "softmax", "crf", "point", "quantiles", "gaussian", "student"] = (
        setting(
            "auto",
            "tag: predict each tag independently (softmax) or jointly (linear-chain CRF); auto: crf"
            " for spans, softmax for other tags; forecast: one value (auto), quantiles or a"
            " distribution",
        )
    )
    mixture: int = setting(
        20, "handwrite: components of the mixture for the next move", ge=1, le=1000
    )
    text_window: int = setting(
        10,
        "handwrite: components of the window over the characters of a text",
        ge=1,
        le=1000,
        when="data.conditional",
    )
    strategy: Literal["direct", "recursive"] = setting(
        "direct",
        "forecast: predict all steps at once (direct), or each from those before it (recursive)",
    )
    center: Literal["mean", "last", "none"] = setting(
        "mean", "forecast: value subtracted from each window before scaling"
    )
    patch: int = setting(
        1, "forecast, transcribe: number of steps merged into one", ge=1, le=10_000
    )
    reduction: Literal["stack", "convolution"] = setting(
        "stack",
        "transcribe: how `patch` steps are merged: concatenated, or by strided convolutions",
        when="model.patch",
    )
    objective: Literal["ctc", "attention", "hybrid"] = setting(
        "ctc", "transcribe: objective: CTC, an attention decoder, or both (Watanabe et al. 2017)"
    )
    ctc_weight: float = setting(
        0.3,
        "transcribe: weight of CTC in the loss of objective=hybrid",
        gt=0,
        lt=1,
        when="model.objective=hybrid",
    )
    skip: bool = setting(
        True, "forecast: add a linear skip connection from the window to the output"
    )
    projection: int = setting(128, "elmo: size of the projected vectors of a direction", ge=1)
    highways: int = setting(1, "elmo: highway layers over the characters of a word", ge=0, le=1000)
    options: dict[str, Any] = setting({}, "options of the cell, such as reset=before")
    heads: int = setting(
        4, "transformer: number of attention heads; must divide hidden", ge=1, when=TRANSFORMER
    )
    feed_forward: int = setting(
        0, "transformer: units of the feed-forward layers (0: 4 x hidden)", ge=0, when=TRANSFORMER
    )
    activation: Literal["relu", "gelu", "gelu_tanh", "swiglu"] = setting(
        "gelu", "transformer: activation of the feed-forward layers", when=TRANSFORMER
    )
    norm: Literal["pre", "post"] = setting(
        "pre",
        "transformer: layer normalisation before each sublayer (pre) or after it (post)",
        when=TRANSFORMER,
    )
    epsilon: float = setting(
        1e-5, "transformer: epsilon of layer normalisation", gt=0, when=TRANSFORMER
    )
    embedding_norm: bool = setting(
        False, "transformer: normalise the token vectors, as BERT does", when=TRANSFORMER
    )
    positions: Literal["sinusoidal", "learned", "rotary", "none"] = setting(
        "sinusoidal", "transformer: positional encoding", when=TRANSFORMER
    )
    context: int = setting(
        0,
        "transformer: number of learned positions (0: as max_length or bptt)",
        ge=0,
        when=TRANSFORMER,
    )
    self_attention: Literal["full", "window", "linear"] = setting(
        "full",
        "transformer: self-attention to all tokens, within a window, or linear (for long texts)",
        when=TRANSFORMER,
    )
    attention_window: int = setting(
        128,
        "tokens that self_attention=window sees to each side",
        ge=1,
        validation_alias=AliasChoices("attention_window", "window"),  # runs saved by old versions
        when="model.self_attention=window",
    )
    attention_dropout: float = setting(
        0.0, "transformer: dropout on the attention weights", ge=0, lt=1, when=TRANSFORMER
    )


class EmbeddingConfig(Section):
    """Pretrained token vectors."""

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
        " from the start",
    )
    tuned: bool = setting(
        False, "fine-tune these language models too, not only the mix of their layers"
    )
