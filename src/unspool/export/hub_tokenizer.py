"""A fitted tokenizer as tokenizer.json of the library `tokenizers`.

Characters and words become a lookup of whole tokens after a split by regular expressions; byte
pairs keep their merges, with ids moved behind the special tokens. What is written is compared with
the tokenizer on texts of many scripts, and left out where ids differ.

Two things differ by nature: a text that spells out a special token means it there, and a text
without tokens has none there (<unk> here).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tokenizers import (
    AddedToken,
    Regex,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)
from tokenizers import Tokenizer as RustTokenizer

from unspool.io.files import write_atomic, write_json
from unspool.text.tokenizers import (
    BPETokenizer,
    CharTokenizer,
    PretrainedTokenizer,
    Tokenizer,
    WordTokenizer,
)
from unspool.text.vocab import MASK, PAD, SEP, UNK

CLS = "<cls>"
WORD = r"[\p{L}\p{N}\p{M}_\x{200c}\x{200d}]"
SPACE = r"[\s\x{1c}-\x{1f}\x{85}]"
PUNCTUATION = (
    rf"<unk>|{WORD}+(?:['’]{WORD}+)*|['’](?i:s|m|d|t|re|ve|ll)(?!{WORD})"
    rf"|(?!{WORD}|{SPACE})(?m:.)"
)
FINAL_SIGMA = r"(?<=\p{L})Σ(?!\p{L})"  # lowercase at the end of a word

TEXTS = (
    "A plain text, isn't it? (yes) 3.14 e-mail's <unk>",
    "ﬁne ½ ΣΊΣΥΦΟΣ Ⅷ İstanbul STRASSE",
    "हिन्दी में लिखा",
    "日本語 テスト，русский текст",
    "a\u0301 x\u200dy  tab\tand\u00a0space\u2003em 👍🏽 don’t",
    "new\nlines\n\nand spaces  ",
)


def write_tokenizer(
    folder: Path, tokenizer: Tokenizer, *, cls: int | None, pair: bool, longest: int | None
) -> str | None:
    """Write tokenizer.json and its settings; a reason where they cannot be written.

    cls      the id before every text
    pair     two texts are read as one sequence
    longest  sequence that the model reads
    """
    model = rust_tokenizer(tokenizer)
    if reason := difference(tokenizer, model):
        return reason
    settings: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "model_input_names": ["input_ids", *["token_type_ids"] * pair, "attention_mask"],
    }
    if not isinstance(tokenizer, PretrainedTokenizer):
        settings |= add_specials(model, tokenizer, cls=cls, pair=pair)
    if longest is not None:
        settings["model_max_length"] = longest
    write_atomic(folder / "tokenizer.json", model.to_str(pretty=True))
    write_json(folder / "tokenizer_config.json", settings)
    return None


def rust_tokenizer(tokenizer: Tokenizer) -> RustTokenizer:
    """The same ids, without special tokens around them."""
    if isinstance(tokenizer, PretrainedTokenizer):
        return tokenizer.model
    if isinstance(tokenizer, BPETokenizer):
        model = shifted(tokenizer)
    else:
        vocab = {token: i for i, token in enumerate(tokenizer.vocab.tokens)}
        model = RustTokenizer(models.WordLevel(vocab, unk_token=UNK))
        model.pre_tokenizer = pre_tokenizers.Split(Regex(pattern_of(tokenizer)), "removed", True)
        if isinstance(tokenizer, CharTokenizer):
            model.decoder = decoders.Fuse()
    model.normalizer = normalizers.Sequence(normal_forms(tokenizer))
    return model


def pattern_of(tokenizer: Tokenizer) -> str:
    """The regular expression of one token."""
    if not isinstance(tokenizer, WordTokenizer):
        return "(?m:.)"
    word = PUNCTUATION if tokenizer.split == "punctuation" else rf"(?:(?!{SPACE})(?m:.))+"
    return rf"\n|{word}" if tokenizer.newlines else word


def normal_forms(tokenizer: Tokenizer) -> list[Any]:
    form, lowercase = tokenizer.normalizer.form, tokenizer.normalizer.lowercase
    kinds: dict[str, Any] = {"nfc": normalizers.NFC, "nfkc": normalizers.NFKC}
    forms = [kinds[form]()] if form in kinds else []
    if lowercase:
        forms += [normalizers.Replace(Regex(FINAL_SIGMA), "ς"), normalizers.Lowercase()]
    return forms


def shifted(tokenizer: BPETokenizer) -> RustTokenizer:
    """Byte pairs whose ids begin behind the special tokens."""
    stored, first = json.loads(tokenizer.model.to_str()), len(tokenizer.vocab.specials)
    pairs = stored["model"]
    pairs["vocab"] = {token: i + first for token, i in pairs["vocab"].items()}
    return RustTokenizer.from_str(json.dumps(stored))


def difference(tokenizer: Tokenizer, model: RustTokenizer) -> str | None:
    """A text whose ids are not the same, in words."""
    for text in TEXTS:
        ids = tokenizer.ids(text).tolist()
        if model.encode(text, add_special_tokens=False).ids != ids:
            return f"the library `tokenizers` gives other ids for {text!r}"
    return None


def add_specials(
    model: RustTokenizer, tokenizer: Tokenizer, *, cls: int | None, pair: bool
) -> dict[str, str]:
    """Special tokens, and where they stand; returns them by their role."""
    roles = {"pad_token": PAD, "unk_token": UNK}
    if MASK in tokenizer.vocab.specials:
        # The space before a mask belongs to the token that it hides.
        roles["mask_token"] = MASK
    between = tokenizer.vocab[tokenizer.pair_frame.between[0]]
    if pair and between == SEP:
        roles["sep_token"] = SEP
    stored = json.loads(model.to_str())
    vocab = stored["model"]["vocab"]
    vocab |= {token: tokenizer.vocab.tokens.index(token) for token in roles.values()}
    if cls is not None:
        roles["cls_token"] = CLS
        vocab[CLS] = cls
    model_with = RustTokenizer.from_str(json.dumps(stored))
    model.model = model_with.model
    model.add_special_tokens(
        [AddedToken(token, lstrip=token == MASK, normalized=False) for token in roles.values()]
    )
    before = [f"{CLS}:0"] * (cls is not None)
    tokens = [(CLS, cls)] * (cls is not None) + [(between, vocab[between])] * pair
    if tokens:
        model.post_processor = processors.TemplateProcessing(
            single=[*before, "$A:0"],
            pair=[*before, "$A:0", f"{between}:0", "$B:1"] if pair else [*before, "$A:0", "$B:0"],
            special_tokens=tokens,
        )
    return roles
