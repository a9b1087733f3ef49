"""The page: a trained model looked at in a browser. A run in; a server, or one HTML file, out."""
