"""answer: questions about a context, or about a story."""
