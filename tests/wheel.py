"""The wheel, built and installed without extras, used by another user with a read-only home: `make test-wheel`.

For every Python given, or those found: a fresh environment gets the wheel and the base dependencies, the kept export
translates, and so does a model of the package. As root that is done as the user `nobody`, who can write nowhere and
needs a Python outside of root's home; else with a home that cannot be written to.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXPORT = ROOT / "tests" / "models" / "export"
TRANSLATIONS = json.loads((ROOT / "tests" / "models" / "translations.json").read_text(encoding="utf-8"))
PYTHONS = ("python3.11", "python3.12", "python3.13", "python3.14")
NOBODY = 65534
AS_NOBODY = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
CONTENTS = """
import importlib.util, pathlib, trellex
assert importlib.util.find_spec("torch") is None
folder = pathlib.Path(trellex.__file__).parent
assert "site-packages" in folder.parts, folder
recipes = ("recipes/phrasebook.yaml", "recipes/grids/kftt.yaml")
for name in ("py.typed", *recipes, "phrasebook/lexicon.txt", "models/ja-en/README.md"):
    assert (folder / name).is_file(), name
"""


def run(*command: object, **options: object) -> str:
    """What a command prints. Ends the check if it fails, with all it said."""
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
    return result.stdout


def found(python: str) -> str | None:
    """The path of a Python that starts for the one who translates, if it is here."""
    paths = (shutil.which(python, path=folder) for folder in os.get_exec_path())
    return next((path for path in paths if path and starts(path)), None)


def starts(python: str) -> bool:
    try:
        return subprocess.run([python, "--version"], capture_output=True, check=False, **AS_NOBODY).returncode == 0
    except PermissionError:
        return False


def check(python: str, wheel: Path, folder: Path) -> None:
    """Install the wheel for a Python and translate with it as a user who can write nothing."""
    run(python, "-m", "venv", folder)
    constraints = ROOT / "constraints.txt"
    run(folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--constraint", constraints, wheel)
    trellex = folder / "bin" / "trellex"
    version = run(folder / "bin" / "python", "--version").strip()
    run(folder / "bin" / "python", "-c", CONTENTS)
    export, home = folder / "export", folder / "home"
    shutil.copytree(EXPORT, export)
    home.mkdir(mode=0o555)
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "COLUMNS": "200", "PYTHONUTF8": "1"}
    text = "".join(f"{line}\n" for line in TRANSLATIONS)
    printed = run(trellex, "translate", export, input=text, cwd="/", env=environment, **AS_NOBODY)
    if printed.splitlines() != list(TRANSLATIONS.values()):
        sys.exit(f"{version}: translations differ:\n{printed}")
    own = run(
        trellex, "translate", "--model", "en-ja", input="Where is the station?\n", cwd="/", env=environment, **AS_NOBODY
    )
    if own != "駅はどこですか。\n":
        sys.exit(f"{version}: the model of the package translates otherwise:\n{own}")
    print(f"{version}: {run(trellex, '--version').strip()} translates {len(TRANSLATIONS)} sentences")


def main(pythons: list[str]) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        folder.chmod(0o755)
        run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT)
        [wheel] = folder.glob("*.whl")
        print(f"{wheel.name}: {wheel.stat().st_size:,} bytes")
        here = [path for python in pythons or PYTHONS if (path := found(python))]
        for number, python in enumerate(here):
            check(python, wheel, folder / str(number))
        if not here:
            sys.exit(f"none of {', '.join(pythons or PYTHONS)} is here, where another user can start it")


if __name__ == "__main__":
    main(sys.argv[1:])
