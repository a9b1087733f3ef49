"""The command line: results on stdout, everything else on stderr, errors in one line.

Exit codes: 0 fine, 1 failed, 2 usage or bad input, 130 and 143 after Ctrl-C and SIGTERM.
"""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run one command and leave with its exit code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """The exit code of `unspool ARGUMENTS`; nothing but the message of an error is printed."""
    from unspool.cli.app import app
    from unspool.errors import UserError

    try:
        result = app(arguments, prog_name="unspool", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except UserError as error:
        return complain(str(error), error.exit_code)
    except KeyboardInterrupt:
        return complain("stopped", 130)
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return complain(f"{error.filename or 'system'}: {error.strerror or error}", 1)
    except Exception as error:
        # Usage errors and signals carry their own code; anything else is a bug and may show itself.
        code = getattr(error, "exit_code", None)
        if code is None:
            raise
        message = getattr(error, "format_message", lambda: str(error))()
        return complain(" ".join(message.split()), code) if message else code


def complain(message: str, code: int) -> int:
    print(f"unspool: {message}", file=sys.stderr)
    return code
