"""The live view in a terminal.

board    what there is to see: the latest operations, counts, findings, read from the rows
screen   the lines that show it, for a window of some size
keys     what was pressed, and what that changes
terminal raw input, the other screen, only what changed is written
"""
