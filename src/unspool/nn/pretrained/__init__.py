"""Reading pretrained folders: BERT, RoBERTa, DistilBERT, MiniLM, GPT-2.

Reading order: `weights.py` (files), `layouts.py` (names), `model.py`.
"""

from unspool.nn.pretrained.model import Pretrained, is_pretrained, read_pretrained

__all__ = ["Pretrained", "is_pretrained", "read_pretrained"]
