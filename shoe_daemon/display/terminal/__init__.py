"""
The board of a table in a terminal, drawn with rich, an extra.

`board` draws a table's board from the texts of `board_texts`: `hands` and `cards` on the felt,
`road_grid` and `road_layout` below it. `screen` shows parts on the terminal or prints
them; `table_feed` and `refresh_loop` are `shoe-daemon watch`.
"""
