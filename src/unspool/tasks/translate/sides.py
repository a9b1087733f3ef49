"""What is read and what is written: the two fields of a translation, and their batches as a model
takes them."""

from __future__ import annotations

from unspool.config import TokenizerConfig
from unspool.data.corpus import Fields
from unspool.data.fields.text import TextField
from unspool.data.fields.tokens import TokenBatch
from unspool.nn.decoders import Targets
from unspool.nn.encoder import Copies, Encoded
from unspool.nn.models.seq2seq import Seq2Seq
from unspool.text.tokenizers import SubwordTokenizer


def sides(fields: Fields) -> tuple[TextField, TextField]:
    source, target = fields["source"], fields["target"]
    assert isinstance(source, TextField)
    assert isinstance(target, TextField)
    return source, target


def is_joint(settings: TokenizerConfig) -> bool:
    """Whether both sides get one vocabulary; unless it is said, byte pairs do."""
    return settings.kind in ("auto", "bpe") if settings.joint is None else settings.joint


def may_copy(source: TextField) -> bool:
    """Whether what is read has tokens in common with what is written."""
    if source.tokenizer is not None:
        return not isinstance(source.tokenizer, SubwordTokenizer)
    return source.settings.kind != "bpe" or is_joint(source.settings)


def encode(model: Seq2Seq, source: TokenBatch) -> Encoded:
    copies = None if source.copies is None else Copies(source.copies)
    return model.encode(source.ids, source.lengths, copies)


def target_tensors(target: TokenBatch) -> Targets:
    return Targets(target.ids, target.lengths, target.copies)
