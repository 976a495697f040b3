"""
Witnesses: cameras whose video of the last seconds becomes a clip when something is disputed.

A witness has a thread of its own: a slow camera or a full disk costs video, never a card. It is
given causes, and whether one of them is undecided; it knows nothing else of the table.

`span` decides when a clip begins and ends, without a clock or a file; `sources` opens
cameras; `thread` connects both. Pictures, the last seconds and the files of clips are in
`drivers.camera`.
"""
