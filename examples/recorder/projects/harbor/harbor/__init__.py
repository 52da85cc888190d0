"""A container port by the minute."""

__version__ = "2.3.0"
