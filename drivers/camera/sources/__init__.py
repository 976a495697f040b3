"""Camera sources: devices, network streams, files and simulators as a sequence of frames."""
