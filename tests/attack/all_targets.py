"""All targets, by name."""

from brute_force import NUMBERS
from folders import FOLDERS
from targets import FILES, Target

TARGETS: dict[str, Target] = {target.name: target for target in (*FILES, *NUMBERS, *FOLDERS)}
