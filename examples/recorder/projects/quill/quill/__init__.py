"""A small markup for handbooks."""

__version__ = "0.4.1"
