"""
The packages on a real Debian 12: a virtual machine under qemu, with its own kernel.

`make test-machine` runs these tests. The image is built once, from Debian's packages, and kept
under `build/machine`. Where qemu or the packages are not available, the tests are skipped.
"""
