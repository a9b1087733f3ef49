"""From a trained model to answers: labels for documents, text from a language model."""
