"""A story and a question in, the scores of answers out: a memory of sentences that is looked at
several times, or a recurrence over them that changes what is asked."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from unspool.nn import init
from unspool.nn.decoders import TransformerSeqDecoder
from unspool.nn.dropout import Dropout
from unspool.nn.encoder import Encoded, Encoder
from unspool.nn.heads import LabelOutput
from unspool.nn.masks import keep_mask, masked_softmax, zero_padding
from unspool.nn.pooling import POOLINGS
from unspool.nn.recurrent_decoder import RecurrentDecoder
from unspool.nn.taps import Tap


class Recalled(NamedTuple):
    """Answer vector of a story to a question.

    vector   (B, H) of the whole story
    states   (B, S, H) of each sentence, for a decoder that attends to them
    """

    vector: Tensor
    states: Tensor


class MemoryHops(nn.Module):
    """End-to-end memory (Sukhbaatar et al. 2015) of vectors of sentences m_s, asked by a vector u:

        e_s     = uᵀ (A m_s + a_age(s)) / √H
        α       = softmax(e) over the sentences
        o       = Σ_s α_s (C m_s + c_age(s))
        u       = u + o                          once a hop, each with its own A and C

    The age of the latest sentence is 0; those older than there are ages share the oldest. A tap on
    the weights of all hops, `alignment` (B, K, S).
    """

    def __init__(self, size: int, *, hops: int, ages: int) -> None:
        super().__init__()
        self.size, self.hops = size, hops
        self.keys = nn.ModuleList(nn.Linear(size, size) for _ in range(hops))
        self.values = nn.ModuleList(nn.Linear(size, size) for _ in range(hops))
        self.ages = nn.Parameter(torch.empty(2, ages, size))
        self.alignment = Tap()
        for layer in (*self.keys, *self.values):
            init.linear_(layer)
        nn.init.normal_(self.ages, std=0.1)

    def forward(self, m: Tensor, u: Tensor, sizes: Tensor) -> Recalled:
        """m (B, S, H), the latest last; u (B, H); sizes (B,)"""
        steps = m.shape[1]
        age = torch.arange(steps - 1, -1, -1, device=m.device).clamp(max=self.ages.shape[1] - 1)
        keep = keep_mask(sizes, steps, device=m.device).flip(1)  # the first are padding
        key_age, value_age = self.ages[0, age], self.ages[1, age]  # (S, H)
        alphas = []
        for key, value in zip(self.keys, self.values):
            e = ((key(m) + key_age) @ u[:, :, None]).squeeze(2) / self.size**0.5  # (B, S)
            alpha = masked_softmax(e, keep)
            alphas.append(alpha)
            states = value(m) + value_age
            u = u + (alpha[:, None] @ states).squeeze(1)
        self.alignment(torch.stack(alphas, 1))
        return Recalled(u, states)

    def describe(self) -> str:
        return f"memory of sentences, {self.hops} hops"


class QueryReduction(nn.Module):
    """A recurrence over vectors of sentences x_s that turns what is asked, q_s, into what is to be
    asked with that sentence known (Seo et al. 2017), a layer a hop; the first has q_s = u:

        z_s  = σ(w · (x_s ∘ q_s) + b)            r_s = σ(v · (x_s ∘ q_s) + c)
        c_s  = r_s tanh(W [x_s; q_s] + d)
        h→_s = z_s c_s + (1 − z_s) h→_{s−1}      h←_s = z_s c_s + (1 − z_s) h←_{s+1}
        q_s  = h→_s + h←_s of the layer before;  of the last layer, h→ after the last sentence

    The gates are numbers, so that a state is a weighted sum over the sentences, which is how it is
    computed: h→_t = Σ_{s≤t} z_s Π_{s<i≤t} (1 − z_i) c_s. A tap on the weights of the last state
    in all layers, `alignment` (B, K, S); their sum is at most 1.
    """

    START = -2.5  # of b: gates are nearly closed at first, so that early sentences reach the end

    def __init__(self, size: int, *, hops: int) -> None:
        super().__init__()
        self.size, self.hops = size, hops
        gates = [nn.Linear(size, 2) for _ in range(hops)]  # of z and r
        self.gates = nn.ModuleList(gates)
        self.candidates = nn.ModuleList(nn.Linear(2 * size, size) for _ in range(hops))
        self.alignment = Tap()
        for layer in (*self.gates, *self.candidates):
            init.linear_(layer)
        for gate in gates:
            nn.init.constant_(gate.bias[:1], self.START)

    def forward(self, x: Tensor, u: Tensor, sizes: Tensor) -> Recalled:
        """x (B, S, H), the latest last; u (B, H); sizes (B,)"""
        steps = x.shape[1]
        keep = keep_mask(sizes, steps, device=x.device).flip(1)  # the first are padding
        q = u[:, None].expand_as(x)
        gates = []
        for gate, candidate in zip(self.gates, self.candidates):
            a, r = gate(x * q).float().unbind(-1)  # (B, S)
            z = a.sigmoid() * keep
            c = r.sigmoid()[..., None] * torch.tanh(candidate(torch.cat([x, q], -1)))
            left = torch.where(keep, nn.functional.logsigmoid(-a), 0)  # log (1 - z)
            sums = left.cumsum(1)
            forwards = carried(sums, z)  # (B, S, S)
            backwards = carried((left - sums).flip(1), z.flip(1)).flip(1, 2)
            gates.append(forwards[:, -1])
            q = (forwards + backwards).to(c.dtype) @ c
        self.alignment(torch.stack(gates, 1))
        return Recalled((gates[-1][:, None].to(c.dtype) @ c).squeeze(1), x + q)

    def describe(self) -> str:
        return f"query reduction over sentences, {self.hops} layers"


def carried(sums: Tensor, z: Tensor) -> Tensor:
    """sums (B, S) of log (1 - z) up to each step, z (B, S) -> the share of c_s in the state h_t of
    a gated recurrence, (B, T, S): z_s Π_{s<i≤t} (1 − z_i), 0 where s > t."""
    past = torch.ones(z.shape[1], z.shape[1], dtype=torch.bool, device=z.device).tril()
    apart = (sums[:, :, None] - sums[:, None]).masked_fill(~past, 0)
    return apart.exp() * z[:, None] * past


class StoryProjection(nn.Module):
    """W v + b, (..., size) -> (..., H)"""

    def __init__(self, size: int, hidden: int) -> None:
        super().__init__()
        self.linear = nn.Linear(size, hidden)
        init.linear_(self.linear)

    def forward(self, v: Tensor) -> Tensor:
        return self.linear(v)

    def describe(self) -> str:
        return f"linear {self.linear.in_features} -> {self.linear.out_features}"


class StoryEncoder(nn.Module):
    """A network reads each sentence, and the question; pooled and projected to H they are the
    memory and what is asked of it."""

    def __init__(
        self,
        encoder: Encoder,
        *,
        pooling: str,
        hidden: int,
        reasoning: str,
        hops: int,
        ages: int,
        dropout: float,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.pooling = POOLINGS[pooling](encoder.size, bidirectional=encoder.bidirectional)
        self.project = StoryProjection(encoder.size, hidden)
        self.memory: MemoryHops | QueryReduction
        if reasoning == "attention":
            self.memory = MemoryHops(hidden, hops=hops, ages=ages)
        else:
            self.memory = QueryReduction(hidden, hops=hops)
        self.dropout = Dropout(dropout)

    def recall(
        self, ids: Tensor, lengths: Tensor, sentences: Tensor, sizes: Tensor, questions: Tensor
    ) -> Recalled:
        """ids (M, T) of distinct texts, lengths (M,), sentences (B, S), sizes (B,), questions
        (B,)"""
        encoded: Any = self.encoder(ids, lengths)
        v = self.project(self.dropout(self.pooling(encoded.outputs, encoded.lengths)))  # (M, H)
        recalled: Recalled = self.memory(v[sentences], v[questions], sizes)
        return recalled


class StoryReader(StoryEncoder):
    """Scores (B, C) of C answers."""

    def __init__(self, encoder: Encoder, *, hidden: int, classes: int, **options: Any) -> None:
        super().__init__(encoder, hidden=hidden, **options)
        self.output = LabelOutput(hidden, classes)

    def forward(
        self, ids: Tensor, lengths: Tensor, sentences: Tensor, sizes: Tensor, questions: Tensor
    ) -> Tensor:
        recalled = self.recall(ids, lengths, sentences, sizes, questions)
        return self.output(self.dropout(recalled.vector))


class StoryAnswerWriter(StoryEncoder):
    """A decoder writes the answer, token by token: it begins with what the story says about what
    is asked, and attends to the sentences. Scores (B, T, V) of the next tokens."""

    def __init__(
        self, encoder: Encoder, decoder: RecurrentDecoder | TransformerSeqDecoder, **options: Any
    ) -> None:
        super().__init__(encoder, **options)
        self.decoder: RecurrentDecoder | TransformerSeqDecoder = decoder

    def forward(
        self,
        ids: Tensor,
        lengths: Tensor,
        sentences: Tensor,
        sizes: Tensor,
        questions: Tensor,
        inputs: Tensor,
    ) -> Tensor:
        """inputs (B, T): the tokens of the answer that are already there, from <s> on"""
        return self.decoder(inputs, self.encode(ids, lengths, sentences, sizes, questions))

    def encode(
        self, ids: Tensor, lengths: Tensor, sentences: Tensor, sizes: Tensor, questions: Tensor
    ) -> Encoded:
        """The sentences in the order of the story, each with the vector of what is asked: a
        Transformer has no first state that could hold it."""
        vector, states = self.recall(ids, lengths, sentences, sizes, questions)
        steps = states.shape[1]
        # Padding comes first in a story, and last in what a decoder reads.
        order = (steps - sizes[:, None] + torch.arange(steps)).clamp(max=steps - 1)  # (B, S)
        states = states.gather(1, order.to(states.device)[..., None].expand_as(states))
        outputs = self.dropout(states + vector[:, None])
        keep = keep_mask(sizes, steps, device=outputs.device)
        decoder, layers = self.decoder, 1
        if isinstance(decoder, RecurrentDecoder):
            layers = len(decoder.recurrent.cells())  # each begins with the vector
        return Encoded(zero_padding(outputs, keep), sizes, (((vector,),),) * layers)
