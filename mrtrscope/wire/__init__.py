"""Frames to events: lines, HTTP/1.1, event streams and JSON-RPC read leniently, without I/O."""
