"""
Golden corpus: fixed inputs, and the exact output of the product for each of them.

``make golden`` compares, ``make golden-write`` writes the expected files again. Inputs:

- ``logs/``: observation logs, a file for each subject. A line ``## name`` begins a case, a line
  ``# title`` a log of the case, which is folded by a new table.
- ``journals/``: journals as SQL, each written by the version in its name; never made again.
- ``checkpoints/``: tables as each version stored them, in Base64, and the observations that
  follow.
- the captures of ``tests/captures`` and the journals of ``tests/journal/fixtures``.
- ``commands.txt``: commands of the command line; and the help text of every command.
- ``service_documents.py``: `status`, `device/<id>` and `reply/<id>`, which need more than a table.

``expected/`` holds one text file for each subject, with a part for each case. Of a log it shows
each observation, its events, and each retained document as it is published: one line for each
field whose bytes changed. For long bytes ``was name`` stands for the earlier value of another
field of the document, and ``= topic name`` for a value that the same observation has shown.
"""
