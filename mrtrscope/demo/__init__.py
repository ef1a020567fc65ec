"""A bakery that asks questions: a real client and server, and a client that breaks rules."""
