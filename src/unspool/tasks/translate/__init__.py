"""Translate: a text to a text."""
