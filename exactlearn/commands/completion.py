"""``exactlearn completion``: the script by which a shell completes commands and options."""

from click.shell_completion import get_completion_class

from exactlearn.__main__ import main
from exactlearn._runtime.files import atomic_write
from exactlearn.commands.declarations import Completion
from exactlearn.commands.output import Output, require_parent


def run(options: Completion, output: Output) -> None:
    """Run the command."""
    made = get_completion_class(options.shell)
    assert made is not None  # click knows the shells that the option does
    script = made(main, {}, "exactlearn", "_EXACTLEARN_COMPLETE").source()
    if output.path is not None:
        require_parent(output.path)
        atomic_write(output.path, script)
        output.wrote(output.path)
    output.answer({"shell": options.shell, "script": script}, script)
