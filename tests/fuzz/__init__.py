"""
Fuzzing of every parser: inputs of a corpus, changed at random.

`python -m tests.fuzz --seconds 3600` (or `make fuzz SECONDS=3600`) adds each input with a new
outcome to the parser's file in `corpus`, so that later runs begin where this one ended.
`spent.json` tells for how many seconds of processor time each parser was fuzzed.
"""
