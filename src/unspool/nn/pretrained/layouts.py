"""Parameter names of BERT, its kin and GPT-2 for those of our Transformer.

In: the settings of a config.json. Out: a `Layout`: our options, and for each of our parameters the
name of the tensor, or the names of those that are concatenated in it.

Two things need no option of ours. The vector of the first token type is added to every position, so
the positions take it in; what the second type has more belongs to the second of two texts.
RoBERTa's first position is number pad_token_id + 1; the rows before it are for padding, which is
not read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from unspool.errors import RunError, nearest
from unspool.nn.pretrained.weights import Settings
from unspool.nn.transformer_blocks import TransformerOptions

Source = str | tuple[str, ...]

ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
}


@dataclass(frozen=True)
class CheckpointLayout:
    """prefix       before the names of `tensors` and `block` where the folder holds a head too
    tensors         of the embedding and the Transformer, without its blocks
    layer, block    the prefix of the names of a block, with {} for its number; its tensors
    transposed      matrices of blocks are stored as (in, out)
    masked, poolers, classifier   of the heads; those whose tensors the folder has
    """

    kind: str
    vocab: int
    options: TransformerOptions
    prefix: str
    tensors: Mapping[str, Source]
    layer: str
    block: Mapping[str, Source]
    causal: bool = False
    transposed: bool = False
    first_position: int = 0
    token_types: str | None = None
    masked: Mapping[str, str] = field(default_factory=dict)
    poolers: tuple[str, ...] = ()
    pooler_activation: str = "tanh"
    classifier: str = "classifier"


def linear(ours: str, theirs: str) -> dict[str, str]:
    return {f"{ours}.{part}": f"{theirs}.{part}" for part in ("weight", "bias")}


def attention(queries: str, keys: str, values: str, output: str) -> dict[str, Source]:
    three = (queries, keys, values)
    return {
        "attention.W": tuple(f"{name}.weight" for name in three),
        "attention.b": tuple(f"{name}.bias" for name in three),
        "attention.W_o": f"{output}.weight",
        "attention.b_o": f"{output}.bias",
    }


def bert(settings: Settings) -> CheckpointLayout:
    """Devlin et al. (2018); MiniLM (Wang et al. 2020) is a small one."""
    return _bert(settings, kind="bert", masked="cls.predictions", first_position=0)


def roberta(settings: Settings) -> CheckpointLayout:
    """Liu et al. (2019): BERT, trained otherwise."""
    pad = settings.get("pad_token_id", int, 1)
    return _bert(settings, kind="roberta", masked="lm_head", first_position=pad + 1)


def _bert(settings: Settings, *, kind: str, masked: str, first_position: int) -> CheckpointLayout:
    settings.demand("position_embedding_type", "absolute")
    settings.demand("is_decoder", False)
    inner = {
        "bert": ("transform.dense", "transform.LayerNorm"),
        "roberta": ("dense", "layer_norm"),
    }[kind]
    poolers = {
        "bert": ("bert.pooler.dense",),
        "roberta": ("classifier.dense", "roberta.pooler.dense"),
    }[kind]
    return CheckpointLayout(
        kind=kind,
        vocab=settings.get("vocab_size", int),
        options=TransformerOptions(
            settings.get("hidden_size", int),
            settings.get("num_attention_heads", int),
            layers=settings.get("num_hidden_layers", int),
            hidden=settings.get("intermediate_size", int),
            dropout=settings.get("hidden_dropout_prob", float, 0.1),
            attention_dropout=settings.get("attention_probs_dropout_prob", float, 0.1),
            activation=_activation(settings, "hidden_act"),
            norm="post",
            epsilon=settings.get("layer_norm_eps", float, 1e-12),
            embedding_norm=True,
            positions="learned",
            length=settings.get("max_position_embeddings", int) - first_position,
        ),
        prefix=f"{kind}.",
        tensors={
            "embedding.weight": "embeddings.word_embeddings.weight",
            "transformer.positions.P": "embeddings.position_embeddings.weight",
            **linear("transformer.embedding_norm", "embeddings.LayerNorm"),
        },
        layer="encoder.layer.{}.",
        block={
            **attention(
                "attention.self.query",
                "attention.self.key",
                "attention.self.value",
                "attention.output.dense",
            ),
            **linear("norm1", "attention.output.LayerNorm"),
            **linear("feed_forward.W_1", "intermediate.dense"),
            **linear("feed_forward.W_2", "output.dense"),
            **linear("norm2", "output.LayerNorm"),
        },
        first_position=first_position,
        token_types="embeddings.token_type_embeddings.weight",
        masked={
            **linear("dense", f"{masked}.{inner[0]}"),
            **linear("norm", f"{masked}.{inner[1]}"),
            "output.b": f"{masked}.bias",
        },
        poolers=poolers,
        classifier={"bert": "classifier", "roberta": "classifier.out_proj"}[kind],
    )


def megatron_bert(settings: Settings) -> CheckpointLayout:
    """Shoeybi et al. (2019): a pre-norm BERT, which normalises once more at the end."""
    layout = _bert(settings, kind="bert", masked="cls.predictions", first_position=0)
    return replace(
        layout,
        kind="megatron-bert",
        options=replace(layout.options, norm="pre", embedding_norm=False),
        tensors={
            "embedding.weight": "embeddings.word_embeddings.weight",
            "transformer.positions.P": "embeddings.position_embeddings.weight",
            **linear("transformer.norm", "encoder.ln"),
        },
        block={**layout.block, **linear("norm1", "attention.ln"), **linear("norm2", "ln")},
    )


def distilbert(settings: Settings) -> CheckpointLayout:
    """Sanh et al. (2019): half the layers of BERT, no token types and no pooler."""
    return CheckpointLayout(
        kind="distilbert",
        vocab=settings.get("vocab_size", int),
        options=TransformerOptions(
            settings.get("dim", int),
            settings.get("n_heads", int),
            layers=settings.get("n_layers", int),
            hidden=settings.get("hidden_dim", int),
            dropout=settings.get("dropout", float, 0.1),
            attention_dropout=settings.get("attention_dropout", float, 0.1),
            activation=_activation(settings, "activation"),
            norm="post",
            epsilon=1e-12,
            embedding_norm=True,
            positions="learned",
            length=settings.get("max_position_embeddings", int),
        ),
        prefix="distilbert.",
        tensors={
            "embedding.weight": "embeddings.word_embeddings.weight",
            "transformer.positions.P": "embeddings.position_embeddings.weight",
            **linear("transformer.embedding_norm", "embeddings.LayerNorm"),
        },
        layer="transformer.layer.{}.",
        block={
            **attention(
                "attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin"
            ),
            **linear("norm1", "sa_layer_norm"),
            **linear("feed_forward.W_1", "ffn.lin1"),
            **linear("feed_forward.W_2", "ffn.lin2"),
            **linear("norm2", "output_layer_norm"),
        },
        masked={
            **linear("dense", "vocab_transform"),
            **linear("norm", "vocab_layer_norm"),
            "output.b": "vocab_projector.bias",
        },
        poolers=("pre_classifier",),
        pooler_activation="relu",
    )


def gpt2(settings: Settings) -> CheckpointLayout:
    """Radford et al. (2019): a pre-norm decoder without a memory; its output layer is tied."""
    settings.demand("scale_attn_weights", True)
    settings.demand("scale_attn_by_inverse_layer_idx", False)
    settings.demand("add_cross_attention", False)
    width = settings.get("n_embd", int)
    hidden = settings.get("n_inner", int) if settings.values.get("n_inner") else 4 * width
    return CheckpointLayout(
        kind="gpt2",
        vocab=settings.get("vocab_size", int),
        options=TransformerOptions(
            width,
            settings.get("n_head", int),
            layers=settings.get("n_layer", int),
            hidden=hidden,
            dropout=settings.get("resid_pdrop", float, 0.1),
            attention_dropout=settings.get("attn_pdrop", float, 0.1),
            activation=_activation(settings, "activation_function"),
            norm="pre",
            epsilon=settings.get("layer_norm_epsilon", float, 1e-5),
            positions="learned",
            length=settings.get("n_positions", int),
        ),
        prefix="transformer.",
        tensors={
            "embedding.weight": "wte.weight",
            "transformer.positions.P": "wpe.weight",
            **linear("transformer.norm", "ln_f"),
        },
        layer="h.{}.",
        block={
            "attention.W": "attn.c_attn.weight",
            "attention.b": "attn.c_attn.bias",
            "attention.W_o": "attn.c_proj.weight",
            "attention.b_o": "attn.c_proj.bias",
            **linear("norm1", "ln_1"),
            **linear("feed_forward.W_1", "mlp.c_fc"),
            **linear("feed_forward.W_2", "mlp.c_proj"),
            **linear("norm2", "ln_2"),
        },
        causal=True,
        transposed=True,
    )


LAYOUTS: dict[str, Callable[[Settings], CheckpointLayout]] = {
    "bert": bert,
    "roberta": roberta,
    "megatron-bert": megatron_bert,
    "distilbert": distilbert,
    "gpt2": gpt2,
}


def layout_of(settings: Settings) -> CheckpointLayout:
    kind = settings.get("model_type", str)
    if kind not in LAYOUTS:
        near = nearest(kind, LAYOUTS)
        raise RunError(
            "a model of another kind",
            where=settings.path,
            got=kind,
            remedy=f"{', '.join(LAYOUTS)} can be read" + (f"; is it a {near}?" if near else ""),
        )
    settings.demand("tie_word_embeddings", True)
    settings.demand("quantization_config", None)
    layout = LAYOUTS[kind](settings)
    options = layout.options
    if min(options.width, options.heads) < 1 or options.width % options.heads:
        raise RunError(
            "the heads must divide the width",
            where=settings.path,
            got=f"{options.width} and {options.heads}",
            remedy="copy the folder again",
        )
    return layout


def _activation(settings: Settings, name: str) -> str:
    value = settings.get(name, str, "gelu")
    if value not in ACTIVATIONS:
        raise RunError(
            f"{name} must be one of {', '.join(ACTIVATIONS)}: other models cannot be read",
            where=settings.path,
            got=value,
            remedy="choose another pretrained folder",
        )
    return ACTIVATIONS[value]
