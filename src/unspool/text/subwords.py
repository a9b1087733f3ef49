"""Tokenizers of pieces of words: fitted on texts (byte pairs), or read from a pretrained folder.

In: normalised texts and a size; or a folder with tokenizer.json or older vocabulary files. Out: a
`BPETokenizer`, or a `PretrainedTokenizer`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tokenizers import (
    AddedToken,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from tokenizers import Tokenizer as RustTokenizer

from unspool.errors import ConfigError, RunError
from unspool.io.files import check_regular, parse_json, read_regular
from unspool.text.tokenizers import BPETokenizer, PretrainedTokenizer
from unspool.text.vocab import SPECIALS
from unspool.text.words import Normalizer

BYTES = 256
LONGEST_WORD = 1000  # characters that pairs are counted in at once
_LONG = re.compile(rf"\S{{{LONGEST_WORD},}}|\s{{{LONGEST_WORD},}}")


def fit_bpe(
    texts: Iterable[str],
    *,
    size: int,
    min_count: int,
    normalizer: Normalizer,
    specials: Sequence[str] = SPECIALS,
) -> BPETokenizer:
    """Merge the most frequent pair until the vocabulary has `size` tokens, specials included.

    Pairs are counted within words; one of more than LONGEST_WORD characters counts as several.
    """
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
    model.train_from_iterator(short_words(texts, model.pre_tokenizer), trainer)
    return BPETokenizer(model, normalizer=normalizer, specials=specials)


def short_words(texts: Iterable[str], splitter: pre_tokenizers.PreTokenizer) -> Iterator[str]:
    """The texts, with words of more than L = LONGEST_WORD characters in pieces of L.

    The trainer removes a merged pair from a word by moving the rest of it, so that a word of n
    letters takes O(n²); pieces take O(n L).

    Whatever has no such word gives the same vocabulary as without this. A word of `splitter` is
    whitespace, or at most one space and then none, so one of more than L characters contains L of
    either kind in a row, and a text without such a row is passed on as it is. Any other text is
    passed on word by word, and each word, split alone, is itself: the pattern of byte-level words
    looks beyond a word only to leave its last space to the next, which here is another text. So the
    trainer counts the same words, but for the long ones.
    """
    for text in texts:
        if _LONG.search(text) is None:
            yield text
            continue
        for _, (start, stop) in splitter.pre_tokenize_str(text):
            for begin in range(start, stop, LONGEST_WORD):
                yield text[begin : min(begin + LONGEST_WORD, stop)]


def read_pretrained_tokenizer(folder: Path, *, kind: str, size: int) -> PretrainedTokenizer:
    """`kind` is the model's, as in its config.json; `size` the number of its token vectors."""
    path = folder / "tokenizer.json"
    try:
        if path.exists():
            model = RustTokenizer.from_str(read_regular(path).decode())
        elif any((folder / name).exists() for name in OLD[kind][0]):
            path = folder / OLD[kind][0][0]
            model = OLD[kind][1](folder)
        else:
            raise RunError(
                "has no tokenizer.json",
                where=folder,
                remedy="save the tokenizer there too: a model without it cannot read text",
            )
        return PretrainedTokenizer(model, size)
    except RunError:
        raise
    except Exception as error:  # the Rust side raises plain Exception
        raise RunError(
            "the tokenizer cannot be read",
            where=path,
            got=f"{type(error).__name__}: {error}",
            remedy="copy the folder again",
        ) from None


def _word_pieces(folder: Path) -> RustTokenizer:
    """BERT's: words and punctuation, cut into the longest pieces that vocab.txt holds."""
    settings = _settings(folder)
    lines = read_regular(folder / "vocab.txt").decode().splitlines()
    vocab = {token: i for i, token in enumerate(lines)}
    model = RustTokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    model.normalizer = normalizers.BertNormalizer(
        lowercase=settings.get("do_lower_case", True),
        strip_accents=settings.get("strip_accents"),
        handle_chinese_chars=settings.get("tokenize_chinese_chars", True),
    )
    model.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    model.decoder = decoders.WordPiece()
    special = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    model.add_special_tokens([token for token in special if token in vocab])
    model.post_processor = processors.BertProcessing(
        ("[SEP]", vocab["[SEP]"]), ("[CLS]", vocab["[CLS]"])
    )
    return model


def _gpt2_bytes(folder: Path) -> RustTokenizer:
    return _bytes(folder, ["<|endoftext|>"])


def _roberta_bytes(folder: Path) -> RustTokenizer:
    mask = AddedToken("<mask>", lstrip=True)
    model = _bytes(folder, ["<s>", "<pad>", "</s>", "<unk>", mask])
    ids = model.get_vocab()
    model.post_processor = processors.RobertaProcessing(("</s>", ids["</s>"]), ("<s>", ids["<s>"]))
    return model


def _bytes(folder: Path, special: Sequence[str | AddedToken]) -> RustTokenizer:
    """Byte-level byte pairs from vocab.json and merges.txt."""
    for name in ("vocab.json", "merges.txt"):
        check_regular(folder / name)
    model = RustTokenizer(
        models.BPE.from_file(str(folder / "vocab.json"), str(folder / "merges.txt"))
    )
    model.pre_tokenizer = pre_tokenizers.ByteLevel(
        add_prefix_space=_settings(folder).get("add_prefix_space", False)
    )
    model.decoder = decoders.ByteLevel()
    model.add_special_tokens(list(special))
    return model


def _settings(folder: Path) -> dict[str, Any]:
    path = folder / "tokenizer_config.json"
    return parse_json(read_regular(path)) if path.exists() else {}


Builder = Callable[[Path], RustTokenizer]
OLD: dict[str, tuple[tuple[str, ...], Builder]] = {
    "bert": (("vocab.txt",), _word_pieces),
    "megatron-bert": (("vocab.txt",), _word_pieces),
    "distilbert": (("vocab.txt",), _word_pieces),
    "roberta": (("vocab.json", "merges.txt"), _roberta_bytes),
    "gpt2": (("vocab.json", "merges.txt"), _gpt2_bytes),
}
