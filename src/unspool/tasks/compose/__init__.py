"""Compose: music in, and what follows it."""
