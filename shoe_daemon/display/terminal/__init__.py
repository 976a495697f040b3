"""
The board of a table in a terminal, drawn with rich, an extra.

`board` draws a table's board from a `view_model`: `hands` and `cards` on the felt,
`road_grid`, `road_counts` and `road_layout` below it. `screen` shows a picture on the
terminal or prints it; `table_feed` and `refresh_loop` are `shoe-daemon watch`.
"""
