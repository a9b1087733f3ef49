"""How fast does a Transformer write, measured against torch and CTranslate2?

    python bench/decoding.py [--quick] [--json FILE] [--threads N] [--rounds N] [--tokens N]
                             [--batches 1,32] [--beams 1,4]

One model, 6 + 6 layers of width 512 with 8 heads and 16,000 tokens, with random weights, which all
contestants have. Each reads the same sources of 20 tokens and writes exactly 64 tokens: greedily,
or with a beam. Rounds interleave all contestants in one process.

    recompute       the decoder reads the whole prefix again at each step (greedy only, one round)
    torch, cache    the decoder step by step, in torch
    native          the same by native kernels, in float32
    native int8     the same with products of bytes
    CTranslate2     float32 and int8, where it is installed

Greedy sentences of torch, native and CTranslate2 in float32 are compared as well: they must be the
same, but for ties that rounding breaks.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from timing import Work, installed, parser, ratio, set_up, take_turns, write_json
from unspool.nn import (
    Encoder,
    Sinusoidal,
    TransformerEncoder,
    TransformerOptions,
    TransformerSeqDecoder,
)
from unspool.nn.multihead import MultiHeadAttention
from unspool.search import SearchRules, beam, greedy
from unspool.search.packed import PackedSearch

BEGIN, END, PLACES = 1, 2, 20
CACHED, NATIVE, INT8 = "torch, cache", "native", "native int8"
THEIRS, THEIRS_INT8 = "CTranslate2", "CTranslate2 int8"


class Model(NamedTuple):
    encoder: Encoder
    decoder: TransformerSeqDecoder
    vocab: int
    options: TransformerOptions


def make_model(*, quick: bool) -> Model:
    torch.manual_seed(1)
    width, layers, vocab = (64, 2, 500) if quick else (512, 6, 16_000)
    options = TransformerOptions(width, 8, layers=layers, norm="pre")
    encoder = Encoder(options.token_input(vocab), TransformerEncoder(options)).eval()
    decoder = TransformerSeqDecoder(vocab, options, tied=False).eval()
    return Model(encoder, decoder, vocab, options)


Search = Callable[[Tensor], list[list[int]]]  # (B, S) -> the tokens of the best of each


def ours(model: Model, decoder: Any, *, width: int, tokens: int) -> Search:
    rules = SearchRules(end=END, max_length=tokens, min_length=tokens, forbidden=(0,))

    def search(ids: Tensor) -> list[list[int]]:
        with torch.inference_mode():
            encoded = model.encoder(ids)
            state, first = decoder.start(encoded), torch.full((len(ids),), BEGIN)
            if width == 1:
                return [list(h.tokens) for h in greedy(decoder, state, first, rules)]
            return [
                list(best[0].tokens) for best in beam(decoder, state, first, rules, width=width)
            ]

    return search


def recompute(model: Model, *, tokens: int) -> Search:
    def search(ids: Tensor) -> list[list[int]]:
        with torch.inference_mode():
            encoded = model.encoder(ids)
            written = torch.full((len(ids), 1), BEGIN)
            for _ in range(tokens):
                logits = model.decoder(written, encoded)[:, -1]
                logits[:, [0, END]] = -torch.inf
                written = torch.cat([written, logits.argmax(-1, keepdim=True)], 1)
            return written[:, 1:].tolist()

    return search


def theirs(
    model: Model, folder: str, *, compute: str, width: int, tokens: int, threads: int
) -> Search:
    import ctranslate2

    translator = ctranslate2.Translator(
        folder, device="cpu", compute_type=compute, inter_threads=1, intra_threads=threads
    )

    def search(ids: Tensor) -> list[list[int]]:
        found = translator.translate_batch(
            [[str(i) for i in row] for row in ids.tolist()],
            beam_size=width,
            max_decoding_length=tokens,
            min_decoding_length=tokens,
            max_batch_size=0,
            suppress_sequences=[["0"]],
            length_penalty=0,
        )
        return [[int(token) for token in result.hypotheses[0]] for result in found]

    return search


def write_their_model(model: Model, folder: str) -> None:
    """The same weights as CTranslate2 reads them."""
    from ctranslate2.specs import TransformerSpec

    options = model.options
    spec = TransformerSpec.from_config(options.layers, options.heads, pre_norm=True)
    positions = Sinusoidal(options.width)(torch.zeros(1, 512, options.width))[0].numpy()

    def linear(to: Any, weight: Tensor, bias: Tensor | None) -> None:
        to.weight = weight.detach().contiguous().numpy()
        if bias is not None:
            to.bias = bias.detach().contiguous().numpy()

    def norm(to: Any, module: Any) -> None:
        to.gamma, to.beta = module.weight.detach().numpy(), module.bias.detach().numpy()

    def self_attention(to: Any, attention: MultiHeadAttention, layer_norm: nn.Module) -> None:
        norm(to.layer_norm, layer_norm)
        linear(to.linear[0], attention.W, attention.b)
        linear(to.linear[1], attention.W_o, attention.b_o)

    def feed_forward(to: Any, block: Any) -> None:
        norm(to.layer_norm, block.norm2)
        for side, layer in (
            (to.linear_0, block.feed_forward.W_1),
            (to.linear_1, block.feed_forward.W_2),
        ):
            linear(side, layer.weight, layer.bias)

    encoder, decoder = model.encoder, model.decoder
    read = encoder.input
    for side, module in ((spec.encoder.embeddings[0], read), (spec.decoder.embeddings, decoder)):
        side.weight = module.embedding.weight.detach().numpy()
        side.multiply_by_sqrt_depth = True
    for side, stack in ((spec.encoder, encoder.network), (spec.decoder, decoder.transformer)):
        side.position_encodings.encodings = positions
        norm(side.layer_norm, stack.norm)
    for to, block in zip(spec.encoder.layer, encoder.network.layers):
        self_attention(to.self_attention, block.attention, block.norm1)
        feed_forward(to.ffn, block)
    width = options.width
    for to, block in zip(spec.decoder.layer, decoder.transformer.layers):
        self_attention(to.self_attention, block.attention, block.norm1)
        cross = block.cross_attention
        norm(to.attention.layer_norm, block.cross_norm)
        linear(to.attention.linear[0], cross.W[:width], cross.b[:width])
        linear(to.attention.linear[1], cross.W[width:], cross.b[width:])
        linear(to.attention.linear[2], cross.W_o, cross.b_o)
        feed_forward(to.ffn, block)
    linear(spec.decoder.projection, decoder.output.matrix(), decoder.output.b)
    tokens = [str(i) for i in range(model.vocab)]
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    spec.config.bos_token, spec.config.eos_token, spec.config.unk_token = str(BEGIN), str(END), "0"
    spec.config.decoder_start_token = str(BEGIN)
    spec.config.add_source_eos = False
    spec.validate()
    spec.save(folder)


def main() -> None:
    options = parser(__doc__, rounds=5)
    options.add_argument("--tokens", type=int, default=64)
    options.add_argument("--batches", default="1,32")
    options.add_argument("--beams", default="1,4")
    chosen = options.parse_args()
    machine = set_up(chosen)
    model = make_model(quick=chosen.quick)
    threads = torch.get_num_threads()
    packed = PackedSearch(model.decoder)
    packed_int8 = PackedSearch(model.decoder, as_bytes=True)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        peer = installed("ctranslate2")
        if peer:
            write_their_model(model, folder)
        for batch in map(int, chosen.batches.split(",")):
            ids = torch.randint(3, model.vocab, (batch, PLACES))
            for width in map(int, chosen.beams.split(",")):
                setting: dict[str, Any] = {"width": width, "tokens": chosen.tokens}
                searches = {
                    CACHED: ours(model, model.decoder, **setting),
                    NATIVE: ours(model, packed, **setting),
                    INT8: ours(model, packed_int8, **setting),
                }
                if peer:
                    for name, compute in ((THEIRS, "float32"), (THEIRS_INT8, "int8")):
                        searches[name] = theirs(
                            model, folder, compute=compute, threads=threads, **setting
                        )
                works: dict[str, Work] = {
                    name: partial(search, ids) for name, search in searches.items()
                }
                seconds = take_turns(works, chosen.rounds)
                if width == 1:
                    slow = {"recompute": partial(recompute(model, tokens=chosen.tokens), ids)}
                    seconds = take_turns(slow, 1) | seconds
                print(f"\nbatch {batch}, {'greedy' if width == 1 else f'beam {width}'}")
                base = seconds.get(THEIRS, seconds[CACHED])
                versus = "CTranslate2" if peer else "torch"
                for name, times in seconds.items():
                    speed = batch * chosen.tokens / median(times)
                    print(
                        f"  {name:18} {speed:8.0f} tokens/s   x {versus} {ratio(base, times):5.2f}"
                    )
                    rows.append(
                        {"batch": batch, "beam": width, "name": name, "tokens_per_second": speed,
                         "ratio": ratio(base, times), "seconds": times}
                    )  # fmt: skip
                if width == 1:
                    wanted = searches[CACHED](ids)
                    for name in (NATIVE, INT8, *((THEIRS, THEIRS_INT8) if peer else ())):
                        found = searches[name](ids)
                        same = sum(a == b for x, y in zip(found, wanted) for a, b in zip(x, y))
                        print(
                            f"  {name:18} {same / (batch * chosen.tokens):8.1%} of torch's tokens"
                        )
    write_json(chosen.json, machine, rows)


if __name__ == "__main__":
    main()
