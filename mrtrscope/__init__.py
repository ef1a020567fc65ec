"""mrtrscope: record, link, judge, draw and replay Model Context Protocol traffic."""

__version__ = "0.1.0"
