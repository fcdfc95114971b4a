"""Infrastructure of all packages: compiled kernels, search control, threads, atomic files."""
