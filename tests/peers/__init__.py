"""Peers that tests talk to: small programs and servers."""
