"""The report: a capture as one self-contained page, or as Markdown.

choose     which operations it tells of        summary    counts, findings by rule, times
entry      one operation, ready to be shown     messages   the text of messages, rewritten
timeline   the session at a glance              pages      blocks, files, the page around them
markdown   the same for pull requests
"""
