"""Looking inside: what a model is made of."""
