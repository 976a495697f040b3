"""
The board as text: the roads, the hands and the counts on a canvas of styled cells.

Everything is drawn into a `Canvas`, which is pure and knows no library. What prints
it is apart: `shell` writes lines with click, for `roads`; `screen` fills a terminal
with rich, for `watch` and the demo.
"""
