"""Unpacking of tar archives that the tests have made themselves."""


def unpack(archive, folder):
    """As tar does. Python before 3.11.4 has no filters, and does it that way."""
    try:
        archive.extractall(folder, filter="tar")
    except TypeError:
        archive.extractall(folder)
