"""Files of every format as columns of raw values with their lines; knows no task.

open_table   a path and how it is to be read in, a `Table` out
files        bytes of a file to lines of text
reader       what a format is: columns that are known, rows that are read
plain, delimited, json_lines, conll, folder, parallel   the formats
memory       values that are in memory already, as a table
formats      which one a file has
columns      names of columns, and what their first values look like
"""

from unspool.data.read.files import Report, TextFile
from unspool.data.read.reader import Column, Row, Shape, joined
from unspool.data.read.table import Table, open_table

__all__ = ["Column", "Report", "Row", "Shape", "Table", "TextFile", "joined", "open_table"]
