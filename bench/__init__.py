"""
Benchmarks of speed, memory and start-up, each compared with a baseline measured in the same run.

`bench.vision` holds the experiments that accept or reject the camera.
"""
