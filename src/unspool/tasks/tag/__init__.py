"""Tag: a label for each word or step."""
