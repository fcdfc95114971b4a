"""The log of a command: what the library logs under ``exactlearn``, and what the command says."""

import logging
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import click

from exactlearn import __version__
from exactlearn.commands.output import LOG, require_parent
from exactlearn.errors import OptionError


class _LogFile(logging.FileHandler):
    """A new file with the time of each line in UTC; a full disk ends the log, not the command."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, mode="w", encoding="utf-8", errors="backslashreplace")
        form = logging.Formatter("%(asctime)s %(levelname)s %(message)s")
        form.converter = time.gmtime
        form.default_time_format, form.default_msec_format = "%Y-%m-%dT%H:%M:%S", "%s.%03dZ"
        self.setFormatter(form)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Say once that no more is logged."""
        logging.getLogger("exactlearn").removeHandler(self)
        click.echo(f"{self.baseFilename}: the log cannot be written any more", err=True)


@contextmanager
def logged(path: Path, words: Sequence[str], *, verbose: bool) -> Iterator[None]:
    """Log what happens within the block, with its end.

    Parameters
    ----------
    path
        The file, which is made anew.
    words
        The words of the command line.
    verbose
        Whether every improvement of a search is logged.

    Raises
    ------
    OptionError
        When there cannot be such a file.
    """
    require_parent(path, "--log")
    try:
        handler = _LogFile(path)
    except OSError as error:
        raise OptionError(f"--log {path}: {error.strerror}") from None
    root = logging.getLogger("exactlearn")
    level = root.level
    root.setLevel(logging.DEBUG if verbose else logging.INFO)
    root.addHandler(handler)
    try:
        LOG.info("exactlearn %s: %s", __version__, shlex.join(words))
        yield
    except BaseException as error:
        LOG.error("%s: %s", type(error).__name__, error, exc_info=verbose)
        raise
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
        with suppress(OSError):  # the disk is full, which was said
            handler.close()
