"""How the tests look into a recording with SQLite."""
import contextlib
import os
import shutil
import sqlite3
import tempfile


def query(path, text):
    """Rows of a recording. One that is being written is locked, so a copy of the file and its log is read."""
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "copy.session")
        shutil.copyfile(path, copy)
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(f"{path}-wal", f"{copy}-wal")
        with contextlib.closing(sqlite3.connect(copy)) as database:
            return database.execute(text).fetchall()
