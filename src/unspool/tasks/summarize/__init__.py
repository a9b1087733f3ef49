"""Summarize: a text to a shorter text."""
