"""What tests ask about processes that are not their children."""
import pathlib


def is_alive(pid):
    """A process that was killed and not yet reaped is not."""
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):  # the latter where it ends while it is read
        return False
    return state not in "ZX"
