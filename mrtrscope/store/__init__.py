"""`scope.db`: rows worked out from the journals, and worked out anew whenever that is easier than to change them."""
