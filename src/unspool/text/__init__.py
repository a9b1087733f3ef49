"""Text to token ids and back: normal form, splitting, vocabulary, tokenizers."""
