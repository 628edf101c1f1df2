"""The one error that this package raises for what its user can mend."""


class CaptureError(Exception):
    """Says in one line what was found, where, and what would be right."""
