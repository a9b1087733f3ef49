"""Fitting byte-pair encoding: normalised texts and a size in, a BPETokenizer out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tokenizers import Tokenizer as RustTokenizer
from tokenizers import decoders, models, pre_tokenizers, trainers

from unspool.errors import ConfigError
from unspool.text.normalize import Normalizer
from unspool.text.tokenizers import BPETokenizer
from unspool.text.vocab import SPECIALS

BYTES = 256


def fit_bpe(
    texts: Iterable[str],
    *,
    size: int,
    min_count: int,
    normalizer: Normalizer,
    specials: Sequence[str] = SPECIALS,
) -> BPETokenizer:
    """Merge the most frequent pair until the vocabulary has `size` tokens, specials included."""
    smallest = BYTES + len(specials)
    if size < smallest:
        raise ConfigError(
            f"byte-pair encoding needs a vocabulary of at least {smallest}",
            where="tokenizer.vocab",
            got=size,
            remedy=f"set tokenizer.vocab={smallest * 4} or use tokenizer.kind=char",
        )
    model = RustTokenizer(models.BPE())
    model.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    model.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size - len(specials),
        min_frequency=min_count,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    model.train_from_iterator(texts, trainer)
    return BPETokenizer(model, normalizer=normalizer, specials=specials)
