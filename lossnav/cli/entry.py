"""Which command, and what becomes of its errors."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence

from .. import __version__
from .._checks import NoMinimiser, NotConverged
from . import data, records, solve, sweep, train

_COMMANDS = (train, sweep, data, solve, records)
_EPILOG = """\
examples:
  lossnav train --data digits --epochs 5 --output run.json
  lossnav sweep --data digits --grid optimizer=sgd,ballistic --grid lr=1e-3,1e-2 --seeds 0-2 --output runs
  lossnav data mnist
  lossnav solve --loss double-well --gamma 0.1 --start=-1.2,0.8
  lossnav records runs

exit codes:
  0 done   1 it could not be done   2 wrong arguments   3 no result: a run diverged or a solver did not converge
  130 interrupted (Ctrl-C)

"lossnav COMMAND --help" has the arguments and more examples.
"""

DONE, FAILED, WRONG, NO_RESULT, INTERRUPTED = 0, 1, 2, 3, 130


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    top = argparse.ArgumentParser(
        prog="lossnav", description="Learning rules as optimal policies: train, sweep, solve, and read records.",
        epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    top.add_argument("--version", action="version", version=f"lossnav {__version__}")
    top.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for module in _COMMANDS:
        summary, _, rest = (module.__doc__ or "").partition("\n")
        command = commands.add_parser(
            module.NAME, help=summary, description=summary + "\n" + rest, formatter_class=_Formatter,
        )  # fmt: skip
        # also after the command, where people type it; SUPPRESS keeps what was said before it
        command.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; errors are one line on stderr unless ``--debug`` is given."""
    parsed = parser().parse_args(arguments)
    try:
        return int(parsed.run(parsed))
    except KeyboardInterrupt:
        return _fail("interrupted", INTERRUPTED, parsed.debug)
    except BrokenPipeError:  # the reader of a pipe has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except (NotConverged, NoMinimiser) as error:
        return _fail(str(error), NO_RESULT, parsed.debug)
    except ValueError as error:
        return _fail(str(error), WRONG, parsed.debug)
    except ModuleNotFoundError as error:
        hint = f"{error.name} is missing: pip install {error.name}"
        return _fail(
            hint + (" (take the build for your device)" if error.name == "torch" else ""), FAILED, parsed.debug
        )
    except Exception as error:
        text = str(error) if isinstance(error, (OSError, RuntimeError)) and str(error) else repr(error)
        return _fail(text, FAILED, parsed.debug)


def _fail(message: str, code: int, debug: bool) -> int:
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
