"""Files of every format as columns of raw values with their lines; knows no task.

open_table   opens a path as a `Table`
files        bytes of a file to lines of text
reader       base class of formats: known columns, rows that are read
formats      all formats by name, and the one that a file has
plain, delimited, json_lines, conll, corpora, media ...   the formats
memory       values that are in memory already, as a table
columns      names of columns, and the header of a table
file_index   files that cells name
"""

from unspool.data.read.files import Report, TextFile
from unspool.data.read.reader import Column, Row, Shape, joined
from unspool.data.read.table import Table, open_table

__all__ = ["Column", "Report", "Row", "Shape", "Table", "TextFile", "joined", "open_table"]
