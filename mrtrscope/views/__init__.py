"""Rows, pictures and reports: what a person looks at. Built on `store`; nothing here judges."""
