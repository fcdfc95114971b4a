"""What every package runs on: compiled kernels, search control, threads, atomic files."""
