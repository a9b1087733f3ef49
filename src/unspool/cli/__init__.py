"""The command line: results on stdout, everything else on stderr, errors in one line.

Exit codes: 0 fine, 1 failed, 2 usage or bad input; 129, 130, 141 and 143 as after a closed
terminal, Ctrl-C, a reader that has gone, and SIGTERM.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress


def main() -> None:
    """Run one command and leave with its exit code."""
    open_closed_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # What the terminal's encoding cannot write is escaped rather than an error.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # while the commands are imported
        code = complain("stopped", 130)
    sys.exit(code)


def open_closed_streams() -> None:
    """A stream that the caller has closed (`>&-`) gives and takes nothing; without this the next
    file that is opened would have its number."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def run(arguments: list[str]) -> int:
    """The exit code of `unspool ARGUMENTS`; an error is one line on stderr."""
    from unspool.errors import as_flags

    with as_flags():
        return _run(arguments)


def _run(arguments: list[str]) -> int:
    from unspool.cli.app import app
    from unspool.errors import UserError

    try:
        result = app(arguments, prog_name="unspool", standalone_mode=False)
        sys.stdout.flush()
        if result == 130:  # what the command-line library makes of Ctrl-C
            return complain("stopped", 130)
        return result if isinstance(result, int) else 0
    except UserError as error:
        return complain(str(error), error.exit_code)
    except KeyboardInterrupt:
        return complain("stopped", 130)
    except BrokenPipeError:
        return reader_gone()
    except SystemExit as error:
        # The command-line library turns a broken pipe into an exit with its own code.
        if isinstance(error.__context__, BrokenPipeError):
            return reader_gone()
        raise
    except OSError as error:
        return complain(f"{error.filename or 'system'}: {error.strerror or error}", 1)
    except MemoryError:
        return complain("out of memory. Set a smaller batch, hidden or max_length", 1)
    except Exception as error:
        # Usage errors and signals carry their own code; anything else is a bug and may show itself.
        code = getattr(error, "exit_code", None)
        if code is None:
            raise
        return complain(usage(error), code)


def usage(error: Exception) -> str:
    """The message of any error but a UserError; wrong usage points to the help of its command."""
    message = getattr(error, "format_message", lambda: str(error))()
    context = getattr(error, "ctx", None)
    if context is not None:
        message = f"{message.rstrip('. ')}. See `{context.command_path} --help`"
    return message


def reader_gone() -> int:
    """Be quiet when nobody reads stdout any more, as after `| head`; also at the last flush."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 141


def complain(message: str, code: int) -> int:
    with suppress(OSError):  # of a terminal that was closed
        from unspool.errors import visible

        print(f"unspool: {visible(' '.join(message.split()))}", file=sys.stderr)
    return code
