"""Stock, orders and money for a small warehouse."""

__version__ = "0.9.0"
