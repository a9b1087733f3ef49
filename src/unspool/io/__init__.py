"""Files that are written: small ones of a run, whole or not at all, and pictures."""
