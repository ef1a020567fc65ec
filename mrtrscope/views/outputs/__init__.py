"""Findings in the forms that other programs read: SARIF, JUnit, GitHub's workflow commands, a baseline."""
