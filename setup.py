"""What a build checks first: that the four folders of the code are really there, in the place of a link each.

Everything else about the build stands in pyproject.toml.
"""

from pathlib import Path

from setuptools import setup

PACKAGE = Path(__file__).parent / "src" / "pairbank"
STAGES = ("builders", "scoring", "stats", "cards")

if missing := [stage for stage in STAGES if not (PACKAGE / stage / "__init__.py").is_file()]:
    raise SystemExit(
        f"pairbank cannot be built here: {', '.join(f'src/pairbank/{stage}' for stage in missing)} should be symbolic "
        "links to the top-level folders, and are not (git or an archive program wrote them as plain files). In a "
        "clone: git config core.symlinks true && git checkout -- src (on Windows with developer mode switched on). "
        "Or install the wheel: pip install pairbank"
    )

setup()
