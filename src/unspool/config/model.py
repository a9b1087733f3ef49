"""The settings of networks, and of the token vectors that they read."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import AliasChoices

from unspool.config.section import MOST, Section, Widths, setting


class ModelConfig(Section):
    """The network."""

    network: Literal[
        "recurrent", "cnn", "transformer", "linear", "constant", "bigram", "ensemble"
    ] = setting("recurrent", "kind of network; follows from --model")
    log_count_ratios: bool = setting(
        False,
        "linear, classify: weigh n-grams by naive Bayes' log-count ratios; follows from --model",
    )
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
        "generate, translate, caption: share the embedding with the output layer; with a joint"
        " vocabulary both sides share it",
    )
    attention: Literal["none", "additive", "dot", "scaled", "general", "concat"] = setting(
        "additive",
        "translate, transcribe, caption: score of a recurrent decoder's attention; of translate and"
        " caption it follows from --model",
    )
    input_feeding: bool = setting(
        False, "translate: give the decoder's cell what attention last found (Luong et al. 2015)"
    )
    context_gate: bool = setting(
        False,
        "caption, translate, transcribe: a gate on the context of additive attention (Xu et al."
        " 2015)",
    )
    doubly_stochastic: float = setting(
        0.0,
        "caption: weight in the loss of the squares of 1 less what all words together attend to"
        " each step (Xu et al. 2015)",
        ge=0,
    )
    encoder: Literal["network", "none"] = setting(
        "network",
        "caption: what reads the steps before a decoder attends to them: the network, or nothing"
        " but the input layer, such as a CNN (none; follows from --model); answer, about stories:"
        " what reads the words of a sentence",
    )
    tuned_encoder: bool = setting(
        False,
        "image: let a trained encoder (data.image_encoder) learn, too; otherwise it is frozen",
    )
    reverse_source: bool = setting(
        False, "translate: read the source last token first (Sutskever et al. 2014)"
    )
    copying: bool = setting(
        False,
        "translate, summarize: the decoder may copy tokens of the source (See et al. 2017)",
        alias="copy",
    )
    coverage: bool = setting(
        False,
        "with copy, of additive attention: it reads what it has attended to before, and attending"
        " to the same again costs",
    )
    pooling: Literal["last", "mean", "max", "attention", "position", "cls"] = setting(
        "max",
        "classify, regress: how the states of a document become one vector; position: a sum with"
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
        " recurrence over them that changes what is asked (Seo et al. 2017); follows from --model",
    )
    answer: Literal["choose", "write"] = setting(
        "choose",
        "answer, about stories: choose among the answers of the training data, or write one, token"
        " by token",
    )
    hops: int = setting(
        3,
        "answer, about stories: how often the memory of their sentences is looked at, or layers of"
        " the recurrence (0: story and question are read as one sequence)",
        ge=0,
        le=100,
    )
    memory: int = setting(
        64,
        "answer, about stories: sentences that are remembered, the latest (0: all)",
        ge=0,
        le=MOST,
    )
    dense: int = setting(
        0,
        "classify, regress: units of a relu layer between the pooling and the output (0: none)",
        ge=0,
    )
    dropout: float = setting(
        0.3, "dropout on embeddings, between layers and on the output", ge=0, lt=1
    )
    word_dropout: float = setting(
        0.0,
        "share of tokens replaced by <unk> in training; caption: of those that the decoder reads",
        ge=0,
        lt=1,
    )
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
    band_warp: float = setting(
        0.0,
        "audio: in training bands of the spectrum are moved by up to this share, as other voices"
        " have them",
        ge=0,
        le=0.5,
    )
    flip: float = setting(
        0.0, "image, video: share of them that are mirrored left to right in training", ge=0, le=1
    )
    crop: float = setting(
        0.0,
        "image, video: in training shift by up to this share of each side; what is then missing is"
        " the mean colour",
        ge=0,
        le=0.5,
    )
    transpose: int = setting(
        0,
        "compose: in training move each piece by up to so many semitones, up or down",
        ge=0,
        le=12,
    )
    colour_jitter: float = setting(
        0.0,
        "image, video: in training change brightness (in standard deviations), contrast and"
        " saturation (as a share) by up to this much",
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
