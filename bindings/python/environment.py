"""Builds the wheel in a clean virtual environment and runs its tests there.

`--check` only says whether that can be done here: `venv` is installed and the registry of packages is reached. `--quick`
leaves the adapters out, whose packages are large; `--ray` runs the example on Ray, `--notebook` the notebook, `--kits` the
kits of others that plant rules.
"""

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
#: Nothing is checked for a newer version, and no cache of another user is complained about.
PIP = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]

#: What is run in place of the tests.
SCRIPTS = {
    "ray": "examples/ray/test_compare.py",
    "notebook": "examples/notebook/test_figure.py",
    "kits": "tests/kits/survival.py",
}


def check():
    import ensurepip  # noqa: F401, Debian has it in a package of its own

    with tempfile.TemporaryDirectory() as folder:
        found = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--retries", "0", "--timeout", "10"]
        subprocess.run([*found, "--dest", folder, "iniconfig"], check=True)


def main(part):
    workspace = HERE.parent.parent
    target = Path(os.environ.get("CARGO_TARGET_DIR", workspace / "target"))
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder, "Scripts" if os.name == "nt" else "bin", "python")
        # The crates are those that the workspace's tests have built; PyO3 needs no interpreter for a stable ABI, and would
        # be built again for every environment.
        environment = {**os.environ, "CARGO_TARGET_DIR": str(target), "PYO3_NO_PYTHON": "1"}
        environment.setdefault("MATURIN_PEP517_ARGS", "--profile dev")
        requirements = ["-r", str(HERE / "tests" / f"{part}.txt")]
        subprocess.run([python, *PIP, str(HERE)], check=True, env=environment)
        subprocess.run([python, *PIP, *requirements], check=True)
        if part in SCRIPTS:
            return subprocess.run([python, workspace / SCRIPTS[part]]).returncode
        return subprocess.run([python, "-m", "pytest"], cwd=HERE).returncode


if __name__ == "__main__":
    if "--check" in sys.argv:
        check()
    else:
        part = [part for part in ("quick", *SCRIPTS) if f"--{part}" in sys.argv]
        sys.exit(main(part[0] if part else "requirements"))
