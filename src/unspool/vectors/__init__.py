"""Word vectors: a file of any usual format in, words to look up, compare and draw out.

    vectors = unspool.vectors.load("vectors.bin")
    vectors.neighbours("paris", top=5)
    vectors.analogy("man", "king", "woman")

words    the vectors themselves       reading  any file to vectors (opening, text, binary)
lists    agreement with people        writing  vectors to files
picture  a map of some words
"""

from unspool.vectors.reading import load
from unspool.vectors.words import Neighbour, WordVectors
from unspool.vectors.writing import save

__all__ = ["Neighbour", "WordVectors", "load", "save"]
