"""
The board of a table in a terminal, drawn with rich, an extra.

`board` draws a table's board: `hands` and `card_drawing` on the felt, `road_grid` and
`road_layout` below it. `screen` shows parts on the terminal or prints them; `watch_loop` is
`shoe-daemon watch`.
"""
