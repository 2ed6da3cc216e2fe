"""Which command, and what becomes of its errors."""

from __future__ import annotations

import argparse
import io
import re
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress

from lossnav import __version__, _extras
from lossnav._checks import NoMinimiser, NotConverged
from lossnav.cli import analyse, solve, sweep, train
from lossnav.cli.output import write_no_more

_COMMANDS = {"train": train, "sweep": sweep, "solve": solve, "analyse": analyse}
_EPILOG = """\
exit codes:
  0 done   1 it could not be done   2 wrong arguments   3 no result: a run diverged or a solver did not converge
  130 interrupted (Ctrl-C)

"lossnav COMMAND --help" has the arguments and more examples.
"""

DONE, FAILED, WRONG, NO_RESULT, INTERRUPTED = 0, 1, 2, 3, 130


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    top = argparse.ArgumentParser(
        prog="lossnav", description="Learning rules as optimal policies: train, sweep, solve, analyse.",
        epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    top.add_argument("--version", action="version", version=f"lossnav {__version__}")
    top.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, module in _COMMANDS.items():
        summary, _, rest = (module.__doc__ or "").partition("\n")
        command = commands.add_parser(
            name, help=summary, description=summary + "\n" + rest, formatter_class=_Formatter,
        )  # fmt: skip
        # also after the command, where people type it; SUPPRESS keeps what was said before it
        command.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; errors are one line on stderr unless ``--debug`` is given."""
    debug, code = False, DONE
    for stream in (sys.stdout, sys.stderr):  # letters that a terminal's encoding lacks become their codes, no errors
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            parsed = parser().parse_args(_joined(sys.argv[1:] if arguments is None else arguments))
            debug = parsed.debug
            code = int(parsed.run(parsed))
            return code
        finally:
            sys.stdout.flush()  # now, while an error can be told of
    except KeyboardInterrupt:
        return _fail("interrupted", INTERRUPTED, debug)
    except BrokenPipeError:  # the reader of a pipe has seen enough
        write_no_more(sys.stdout)
        return code
    except (NotConverged, NoMinimiser) as error:
        return _fail(str(error), NO_RESULT, debug)
    except ValueError as error:
        return _fail(str(error), WRONG, debug)
    except ModuleNotFoundError as error:
        return _fail(_extras.advice(str(error.name)), FAILED, debug)
    except Exception as error:
        if isinstance(error, OSError) and error.filename is None:  # perhaps stdout's, on a full disk
            write_no_more(sys.stdout)
        text = str(error) if isinstance(error, (OSError, RuntimeError)) and str(error) else repr(error)
        return _fail(text, FAILED, debug)


def _joined(words: Sequence[str]) -> list[str]:
    """Return the words with what begins as a negative number in one with its option, as argparse wants -1,2."""
    joined: list[str] = []
    for word in words:
        if re.match(r"-\.?\d", word) and joined and joined[-1].startswith("--"):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def _fail(message: str, code: int, debug: bool) -> int:
    with suppress(OSError):  # nobody reads it any more
        if debug:
            traceback.print_exc()
        print(f"lossnav: {message}", file=sys.stderr)
    return code


class _Formatter(argparse.RawDescriptionHelpFormatter, argparse.ArgumentDefaultsHelpFormatter):
    """Keep the examples as they are, and add defaults to the arguments that have one to show."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        if action.default in (None, False, argparse.SUPPRESS) or action.default == []:
            return action.help
        return super()._get_help_string(action)
