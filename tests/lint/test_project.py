"""What pyproject.toml, the Makefile and the files for contributors say of each other."""

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from tests.budget import MOST
from tests.lint.repository import ROOT, documents, files, read, refuse, targets

PROJECT = tomllib.loads(read("pyproject.toml"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
READ = {".yml": yaml.safe_load, ".yaml": yaml.safe_load, ".cff": yaml.safe_load, ".json": json.loads,
        ".toml": tomllib.loads, ".ipynb": json.loads}
SETS_UP = (".devcontainer/devcontainer.json", ".ci/run")  # by targets of the Makefile
LIMITS = dict(re.findall(r"^([\w-]+):.*\n(?:\t.*\n)*?\t.*\$\(call PYTEST,(\d+)\)", read("Makefile"), re.MULTILINE))


def test_the_changelog_and_the_citation_have_the_version():
    version = PROJECT["version"]
    assert re.search(rf"^## \[{re.escape(version)}\]", read("CHANGELOG.md"), re.MULTILINE), version
    cited = yaml.safe_load(read("CITATION.cff"))
    assert (cited["version"], cited["license"], cited["cff-version"]) == (version, PROJECT["license"], "1.2.0")


def test_what_a_clone_installs_is_what_is_asked_for():
    pinned = dict(re.findall(r"^([\w.-]+)(?:\[[\w,-]+\])?==([\w.]+)", read("requirements.txt"), re.MULTILINE))
    asked = [Requirement(one) for one in PROJECT["dependencies"]]
    refuse((f"requirements.txt does not have {one}" for one in asked
            if one.name not in pinned or not one.specifier.contains(pinned[one.name])), "Run make requirements.")


@pytest.mark.parametrize("name", SETS_UP)
def test_targets_that_are_called_are_there(name):
    called = re.findall(r"\bmake((?: [\w./-]+(?![\w=]))+)", re.sub(r"^#.*", "", read(name), flags=re.MULTILINE))
    assert called and {target for line in called for target in line.split()} <= targets()


def test_contributors_are_told_when_each_target_ends():
    """By the table of CONTRIBUTING.md and by `make help`, as the Makefile has it."""
    table = dict(re.findall(r"^\| `make ([\w-]+)` \|.*\| *(\d*) *\|$", read("CONTRIBUTING.md"), re.MULTILINE))
    assert {*table} == {target for target in targets() if re.match(r"test|lint$", target)}
    help = re.split(r"\bmake (?=[\w-]+ )", re.sub(r"\s*'\n\t@echo '\s*", " ", read("Makefile")))
    told = {text.split()[0]: ends[1] for text in help if (ends := re.search(r"ends after (\d+)", text))}
    limits = {target: LIMITS[target] for target in table.keys() & LIMITS.keys()}
    assert {target: minutes for target, minutes in table.items() if minutes} == limits == told


def test_extras_that_are_named_are_there():
    named = re.findall(r"headsup-attention\[([\w,-]+)\]", "".join(documents().values()))
    assert named and {name for one in named for name in one.split(",")} <= set(EXTRAS)


def test_what_tools_read_can_be_read():
    wrong = []
    for name, text in files(suffixes=tuple(READ)):
        try:
            READ[Path(name).suffix](text)
        except (ValueError, yaml.YAMLError) as error:
            wrong.append(f"{name}: {error}")
    refuse(wrong)


def test_hooks_use_the_tools_and_files_of_this_clone():
    (repository,) = yaml.safe_load(read(".pre-commit-config.yaml"))["repos"]
    assert repository["repo"] == "local"
    for hook in repository["hooks"]:
        assert hook["language"] == "system", hook["id"]
        refuse(f"{hook['id']}: no {word}" for word in hook["entry"].split()
               if word.startswith("tests/") and not (ROOT / word).exists())


def test_the_seconds_of_the_suite_are_those_that_it_is_held_to():
    rows = re.findall(r"^\| (tests/\w+|all others) \|.* (\d+) \|$", read("docs/measured.md"), re.MULTILINE)
    assert {folder: int(most) for folder, most in rows} == MOST
