"""Transcribe: recordings, strokes and images of lines to text."""
