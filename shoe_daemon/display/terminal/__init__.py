"""
The board of a table in a terminal, drawn with rich, an extra.

`board` draws a table's board: `hands` and `cards` on the felt, `road_grid` and
`road_layout` below it. `screen` shows pictures on the terminal or prints them; `watch` is
`shoe-daemon watch`.
"""
