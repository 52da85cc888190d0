"""An archive of electricity meters."""

__version__ = "1.7.2"
