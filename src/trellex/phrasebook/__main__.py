"""Write the phrasebook to a folder: python -m trellex.phrasebook FOLDER"""

from __future__ import annotations

import argparse
from pathlib import Path

from trellex.phrasebook.corpus import DEV, SEED, TEST, TRAIN, write


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m trellex.phrasebook",
        description="Write a small English–Japanese corpus: train.en, train.ja, dev.en, dev.ja, test.en, test.ja.",
        epilog="example: python -m trellex.phrasebook data/phrasebook --train 20000",
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where the files go; made if it is not there")
    for name, default in (("train", TRAIN), ("dev", DEV), ("test", TEST)):
        parser.add_argument(f"--{name}", type=int, default=default, help=f"pairs in {name} (default: {default})")
    parser.add_argument("--seed", type=int, default=SEED, help=f"another seed, another corpus (default: {SEED})")
    options = parser.parse_args(arguments)
    try:
        write(options.folder, options.train, options.dev, options.test, options.seed)
    except (ValueError, OSError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
