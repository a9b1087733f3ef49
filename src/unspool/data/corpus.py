"""Everything that training needs from the data: sources in, a `Corpus` of split token ids out.

The ids stay on disk, memory-mapped as raw ids; `remap` turns those into the ids of the vocabulary
when a row is asked for. So the vocabulary and the split can change without another look at the text.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field

import numpy as np

from unspool.config import DataConfig, TokenizerConfig
from unspool.data.encode import Progress, Rules, encode_bpe, encode_source
from unspool.data.fit import fit_tokenizer, resolve_kind
from unspool.data.readers import Source
from unspool.data.split import check_shares, stratified, stream_cuts
from unspool.data.store import Store
from unspool.errors import DataError
from unspool.text.tokenizers import BPETokenizer, Tokenizer
from unspool.text.vocab import UNK_ID
