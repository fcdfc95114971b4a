"""Cached kernels must never outlive what they were compiled from."""

import subprocess
import sys
from pathlib import Path

INNER = "from exactlearn.kernel import kernel\n\n@kernel\ndef inner(x):\n    return x + {}\n"
OUTER = (
    "from exactlearn.kernel import kernel\nfrom inner_kernel import inner\n\n"
    "@kernel\ndef outer(x):\n    return 10 * inner(x)\n"
)


def run(folder: Path) -> str:
    command = "from outer_kernel import outer; print(outer(1))"
    path = f"import sys; sys.path[:0] = [{str(folder)!r}, {str(Path(__file__).parents[1])!r}]; "
    done = subprocess.run(
        [sys.executable, "-c", path + command], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_a_change_of_a_kernel_called_in_another_file_is_seen(tmp_path):
    (tmp_path / "outer_kernel.py").write_text(OUTER)
    (tmp_path / "inner_kernel.py").write_text(INNER.format(1))
    assert run(tmp_path) == run(tmp_path) == "20"
    (tmp_path / "inner_kernel.py").write_text(INNER.format(200))
    assert run(tmp_path) == "2010"
