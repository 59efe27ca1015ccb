"""Recipes lie beside the source and travel in the wheel as trellex/recipes. All else is in pyproject.toml."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithRecipes(build_py):
    """Copies the recipes into what is built, unless the clone itself is what is installed."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            shutil.copytree("recipes", Path(self.build_lib) / "trellex" / "recipes", dirs_exist_ok=True)


setup(cmdclass={"build_py": BuildWithRecipes})
