"""`planbook watch`: a run in the browser, while it is played."""

import webbrowser
from pathlib import Path

import click

from planbook import errors
from planbook.console import ERRORS
from planbook.options import RUN_FOLDER


@click.command()
@click.argument("run", type=RUN_FOLDER)
@click.option("--port", default=0, type=click.IntRange(0, 65535), help="The port to serve on; 0 means any free port.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def watch(run: Path, port: int, no_browser: bool) -> int:
    """Show RUN in a browser of this machine while it is played, with buttons to pause, continue and stop it."""
    from planbook.watching.following import Following  # the server takes a while to import
    from planbook.watching.serving import serve

    def on_address(address: str) -> None:
        click.echo(address)
        ERRORS.print("Whoever has this address can watch and control the run. Ctrl-C stops watching, not the run.")
        if not no_browser:
            webbrowser.open(address)

    following = Following(run)
    try:
        serve(following, port, on_address)
    except KeyboardInterrupt:
        pass
    finally:
        following.close()
    return errors.OK
