"""Word vectors: a file of any usual format in, words to look up, compare and draw out.

    vectors = unspool.vectors.load("vectors.bin")
    vectors.neighbours("paris", top=5)
    vectors.analogy("man", "king", "woman")

words    the vectors themselves       files    any file to vectors and back (formats)
lists    agreement with people        picture  a map of some words
"""

from unspool.vectors.files import load, save
from unspool.vectors.words import Neighbour, WordVectors

__all__ = ["Neighbour", "WordVectors", "load", "save"]
