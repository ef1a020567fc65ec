"""Messages to exchanges to operations: pairing, eras, sessions, and retries linked to what they take up."""
