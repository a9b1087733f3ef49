"""Handwrite: the next moves of a pen, freely or for a given text."""
