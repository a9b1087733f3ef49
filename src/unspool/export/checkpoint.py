"""A trained Transformer as a checkpoint of BERT, Megatron-BERT or GPT-2: task and model in, tensors
and the settings that `transformers` needs out.

A model whose shape none of them has is refused by the setting that is responsible.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn

import torch
from torch import Tensor, nn

from unspool.errors import ConfigError, Option
from unspool.export.widening import widened, widened_options, widened_output
from unspool.nn.models.classifier import Classifier, ManyToOne, Regressor
from unspool.nn.models.language_model import MaskedModel, TransformerLanguageModel
from unspool.nn.positions import Learned, Sinusoidal
from unspool.nn.pretrained.layouts import ACTIVATIONS
from unspool.nn.transformer import Stack
from unspool.nn.transformer_blocks import TransformerOptions

FLAT = 2.0**-12  # where tanh(x) is x

NAMES: dict[str, Callable[[TransformerOptions], dict[str, Any]]] = {
    "bert": lambda options: {
        "hidden_size": options.width,
        "num_attention_heads": options.heads,
        "num_hidden_layers": options.layers,
        "intermediate_size": options.hidden,
        "hidden_dropout_prob": options.dropout,
        "attention_probs_dropout_prob": options.attention_dropout,
        "hidden_act": stored_activation(options),
        "layer_norm_eps": options.epsilon,
        "max_position_embeddings": options.length,
        "type_vocab_size": 2,
    },
    "gpt2": lambda options: {
        "n_embd": options.width,
        "n_head": options.heads,
        "n_layer": options.layers,
        "n_inner": options.hidden,
        "embd_pdrop": options.dropout,
        "resid_pdrop": options.dropout,
        "attn_pdrop": options.attention_dropout,
        "activation_function": stored_activation(options),
        "layer_norm_epsilon": options.epsilon,
        "n_positions": options.length,
        "bos_token_id": None,
        "eos_token_id": None,
    },
}
NAMES["megatron-bert"] = NAMES["bert"]
CLASSES = {"bert": "Bert", "megatron-bert": "MegatronBert", "gpt2": "GPT2"}
MASKED = {
    "dense.weight": "transform.dense.weight",
    "dense.bias": "transform.dense.bias",
    "norm.weight": "transform.LayerNorm.weight",
    "norm.bias": "transform.LayerNorm.bias",
    "output.b": "bias",
}


class Checkpoint(NamedTuple):
    """kind       of the model, as `transformers` names it
    options    of its Transformer
    tensors    of the embedding and the Transformer, under our names
    head       of the output layer, under theirs
    config     further entries of config.json
    expected   scores of ids (B, T), lengths and the first step of a second text, by our model
    cls        the id that stands before every text
    """

    kind: str
    options: TransformerOptions
    tensors: dict[str, Tensor]
    head: dict[str, Tensor]
    config: dict[str, Any]
    expected: Callable[[Tensor, Tensor, Tensor], Tensor]
    cls: int | None = None

    @property
    def vocab(self) -> int:
        return len(self.tensors["embedding.weight"])

    @property
    def architecture(self) -> str:
        return CLASSES[self.kind] + self.config["head"]


def config_of(made: Checkpoint) -> dict[str, Any]:
    rest = {name: value for name, value in made.config.items() if name != "head"}
    return {
        "architectures": [made.architecture],
        "model_type": made.kind,
        "vocab_size": made.vocab,
        "pad_token_id": 0,
        "tie_word_embeddings": True,
        **NAMES[made.kind](made.options),
        **rest,
    }


def stored_activation(options: TransformerOptions) -> str:
    return next(theirs for theirs, ours in ACTIVATIONS.items() if ours == options.activation)


def refuse(got: str, remedy: Any) -> NoReturn:
    raise ConfigError("transformers has no BERT or GPT-2 of this shape", got=got, remedy=remedy)


def refuse_others(task: Any, model: nn.Module) -> None:
    """Raise a ConfigError that names the setting of a model that has no such folder."""
    settings = task.config.model
    if settings.network != "transformer" or task.config.members:
        refuse(f"model={task.config.model_name}", ("train with ", Option(model="transformer")))
    if not isinstance(model, TransformerLanguageModel | MaskedModel | ManyToOne):
        refuse(f"task {task.name}", "models of documents and language models can be written")
    if task.input_field.kind not in ("text", "pair"):
        refuse(f"input={task.input_field.kind}", "texts alone can be read there")
    if getattr(model, "contextual", None) is not None:
        refuse("vectors of an elmo run", "train without them")
    for name, wanted in (("positions", "learned"), ("self_attention", "full")):
        refused = ("rotary",) if name == "positions" else ("window", "linear")
        if getattr(settings, name) in refused:
            refuse(f"{name}={getattr(settings, name)}", ("train with ", Option(**{name: wanted})))
    if settings.activation == "swiglu":
        refuse("activation=swiglu", ("train with ", Option(activation="gelu")))
    pre = settings.norm == "pre"
    if isinstance(model, TransformerLanguageModel) and not pre:
        refuse("norm=post", ("train with ", Option(norm="pre")))
    if pre == settings.embedding_norm:
        refuse(
            f"norm={settings.norm}, embedding_norm={str(settings.embedding_norm).lower()}",
            ("train with ", Option(embedding_norm=not pre)),
        )
    if isinstance(model, ManyToOne):
        if settings.pooling != "cls":
            refuse(f"pooling={settings.pooling}", ("train with ", Option(pooling="cls")))
        if settings.dense:
            refuse(f"dense={settings.dense}", ("train with ", Option(dense=0)))
        if model.encoder.between is not None:
            refuse(f"pair={settings.pair}", ("train with ", Option(pair="sequence")))
    if isinstance(model, MaskedModel) and model.output.norm.eps != settings.epsilon:
        refuse(f"epsilon={settings.epsilon}", ("train with ", Option(epsilon=1e-5)))
    if settings.positions != "learned" and not longest(task, model):
        refuse(
            f"positions={settings.positions}, max_length=0",
            ("train with ", Option(positions="learned")),
        )


def longest(task: Any, model: nn.Module) -> int:
    """Tokens of the longest text that is read, the vector before it left out."""
    return (
        model.length if isinstance(model, TransformerLanguageModel) else task.config.data.max_length
    )


def checkpoint_of(task: Any, model: nn.Module) -> Checkpoint:
    refuse_others(task, model)
    if isinstance(model, TransformerLanguageModel):
        return language_model(task, model)
    if isinstance(model, MaskedModel):
        return masked_model(task, model)
    assert isinstance(model, Classifier | Regressor)
    return document_model(task, model)


def encoder_parts(task: Any, model: Any) -> tuple[TransformerOptions, dict[str, Tensor]]:
    """Options, and the tensors of the embedding and the Transformer under the names of
    `Pretrained`; the scale of the embedding and fixed positions are part of them."""
    encoder = model.encoder
    stack: Stack = encoder.network
    embedding = encoder.input.embedding
    tensors = {f"transformer.{name}": tensor for name, tensor in stack.state_dict().items()}
    weight = embedding.weight.detach()
    tensors["embedding.weight"] = weight * getattr(embedding, "owner", embedding).scale
    if not isinstance(stack.positions, Learned):
        steps = longest(task, model) + (encoder.cls is not None)
        table = torch.zeros(steps, stack.size)
        if isinstance(stack.positions, Sinusoidal):
            table = stack.positions.encoding(steps, like=table)
        tensors["transformer.positions.P"] = table
    if encoder.segments is not None:
        tensors["segments.S"] = encoder.segments.S.detach()
    options = stack.options
    return replace(
        options,
        hidden=options.hidden or 4 * options.width,
        length=len(tensors["transformer.positions.P"]),
    ), tensors


def kind_of(options: TransformerOptions) -> str:
    return "megatron-bert" if options.norm == "pre" else "bert"


def masked_model(task: Any, model: MaskedModel) -> Checkpoint:
    options, tensors = encoder_parts(task, model)
    stored = model.output.state_dict()
    head = {f"cls.predictions.{theirs}": stored[ours] for ours, theirs in MASKED.items()}
    config: dict[str, Any] = {"head": "ForMaskedLM"}
    weight = model.output.output.matrix()
    if options.scale != 1:
        config["tie_word_embeddings"] = False
        head["cls.predictions.decoder.weight"] = weight
        head["cls.predictions.decoder.bias"] = head["cls.predictions.bias"]

    def expected(ids: Tensor, lengths: Tensor, firsts: Tensor) -> Tensor:
        return model(ids, lengths)

    return Checkpoint(kind_of(options), options, tensors, head, config, expected)


def document_model(task: Any, model: Classifier | Regressor) -> Checkpoint:
    options, tensors = encoder_parts(task, model)
    cls = None
    if model.encoder.cls is not None:
        vector = model.encoder.cls.vector.detach()
        if "segments.S" in tensors:  # theirs has the type of the first text
            vector = vector - tensors["segments.S"][0]
        cls = len(tensors["embedding.weight"])
        tensors["embedding.weight"] = torch.cat([tensors["embedding.weight"], vector[None]])
    V, b, config = document_output(task, model)
    dense = FLAT * torch.eye(options.width)
    head = {
        "bert.pooler.dense.weight": dense,
        "bert.pooler.dense.bias": torch.zeros(options.width),
        "classifier.weight": V / FLAT,
        "classifier.bias": b,
    }

    def expected(ids: Tensor, lengths: Tensor, firsts: Tensor) -> Tensor:
        if cls is not None:
            ids, lengths, firsts = ids[:, 1:], lengths - 1, firsts - 1
        more = () if model.encoder.segments is None else (firsts,)
        outputs = model(ids, lengths, *more).double()
        if isinstance(model, Classifier):
            return outputs / task.temperature
        number = task.number
        return outputs * torch.from_numpy(number.std) + torch.from_numpy(number.mean)

    config = {"head": "ForSequenceClassification", **config}
    return Checkpoint(kind_of(options), options, tensors, head, config, expected, cls)


def document_output(task: Any, model: Any) -> tuple[Tensor, Tensor, dict[str, Any]]:
    """V, b and the entries of config.json: names of the labels, or of the numbers."""
    V, b = (x.detach().double() for x in model.output.linear.parameters())
    if isinstance(model, Regressor):
        scale = torch.from_numpy(task.number.std)
        V, b = V * scale[:, None], b * scale + torch.from_numpy(task.number.mean)
        names, problem = task.number.names, "regression"
    else:
        names, several = task.labels, task.config.data.multilabel
        problem = "multi_label_classification" if several else "single_label_classification"
        if len(names) == 2 and len(V) == 1:
            V, b = torch.cat([0 * V, V]), torch.cat([0 * b, b])
        V, b = V / task.temperature, b / task.temperature
    return (
        V,
        b,
        {
            "problem_type": problem,
            "id2label": {str(i): str(name) for i, name in enumerate(names)},
            "label2id": {str(name): i for i, name in enumerate(names)},
        },
    )


def language_model(task: Any, model: TransformerLanguageModel) -> Checkpoint:
    options, tensors = encoder_parts(task, model)
    weight, bias = (x.detach() for x in model.output.folded())
    head = dict[str, Tensor]()
    config: dict[str, Any] = {"head": "LMHeadModel"}
    tied = model.output.V is None and options.scale == 1
    if bias.any():
        tensors, weight = widened(tensors, options), widened_output(weight, bias, options.heads)
        options, tied = widened_options(options), False
    if not tied:
        head["lm_head.weight"] = weight
        config["tie_word_embeddings"] = False

    def expected(ids: Tensor, lengths: Tensor, firsts: Tensor) -> Tensor:
        return model(ids).logits

    return Checkpoint("gpt2", options, tensors, head, config, expected)
