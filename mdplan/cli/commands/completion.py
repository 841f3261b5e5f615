"""`mdplan completion`: tab completion for a shell."""

from typing import Final

import click

from mdplan.cli.terminal.console import Console
from mdplan.cli.usage.command import command
from mdplan.diagnostics import Exit

_SHELLS: Final = ("bash", "fish", "zsh")
_EXAMPLES: Final = """\
bash:  echo 'eval "$(mdplan completion bash)"' >> ~/.bashrc
zsh:   echo 'eval "$(mdplan completion zsh)"' >> ~/.zshrc
fish:  mdplan completion fish > ~/.config/fish/completions/mdplan.fish"""


@command(example=_EXAMPLES)
@click.argument("shell", metavar="SHELL", type=click.Choice(_SHELLS))
@click.pass_context
def completion(context: click.Context, *, shell: str) -> Exit:
    """Print what makes SHELL complete mdplan's commands and options."""
    from click.shell_completion import get_completion_class

    from mdplan.cli.completion.shell_completion import use_own_shells

    use_own_shells()
    made = get_completion_class(shell)
    assert made is not None, shell
    Console.plain().text(made(context.find_root().command, {}, "mdplan", "_MDPLAN_COMPLETE").source() + "\n")
    return Exit.DONE
