"""All targets, by name."""

from brute_force import NUMBERS
from folders import FOLDERS
from readers import FILES
from targets import Target

TARGETS: dict[str, Target] = {target.name: target for target in (*FILES, *NUMBERS, *FOLDERS)}
