"""What the documents say of files, code, tests, commands and pages is so."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from tests.lint.repository import ROOT, documents, files, paths, read, refuse, targets
from transformer.__main__ import app
from transformer.settings.config import ModelConfig, TrainConfig
from transformer.settings.presets import PRESETS
from ui.page.pages import PAGES

FILE = re.compile(r"`((?:[\w.-]+/)*[\w.-]+\.(?:py|js|css|md|toml|sqlite|jsonl?|ipynb|ya?ml|cff))`")
TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")
NAME = re.compile(r"`([A-Za-z_][\w.]*)(?:\(\))?`")
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
SCRIPT = re.compile(r"\bpython3? ((?:-m )?(?:docs|benchmarks)[./][\w./]+)|\bpytest (tests/[\w/]+\.py)")
ELSEWHERE = {  # files that a run, a server, another library or a newcomer makes, and a program
    "HEADSUP_HOME/rooms.sqlite", "rooms.sqlite", "sign-in.toml", "status.json", "pages/x.py", "ps",
    "model.safetensors.index.json", "tokenizer.json", "tokenizer_config.json"}
OTHERS = {"--build-arg"}  # options of other programs
SERVED = {"app": "serve", "serve": "workers", "rehearse": "rehearsal"}  # command -> the script of ui/server it becomes


def found(pattern: re.Pattern[str], *, fenced: bool = True) -> Iterator[tuple[str, Any]]:
    """What a pattern finds in the documents, each with where: a text, or one for each of its groups."""
    for name, page in documents().items():
        for one in pattern.findall(page if fenced else FENCED.sub("", page)):
            yield name, one


def test_every_link_leads_somewhere():
    lost = []
    for name, page in documents().items():
        for target, heading in re.findall(r"\]\((?!\w+:)([^)\s#]*)(?:#([^)\s]+))?\)", page):
            path = ((ROOT / name).parent / target).resolve() if target else ROOT / name
            if not path.exists() or (heading and heading not in headings(path.relative_to(ROOT).as_posix())):
                lost.append(f"{name}: a link to {target}{'#' * bool(heading)}{heading}, which is not there")
    refuse(lost)


def headings(name: str) -> set[str]:
    """How a page's headings are addressed."""
    lines = re.findall(r"^#+ (.*)$", FENCED.sub("", read(name)), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", line).lower().replace(" ", "-") for line in lines}


def test_every_file_named_exists():
    names = ["/" + path.relative_to(ROOT).as_posix() for path in paths()]
    named = [*found(FILE), *((where, script(one) or test) for where, (one, test) in found(SCRIPT))]
    assert len(named) > 200
    refuse(f"{where}: no file {one}" for where, one in named
           if one not in ELSEWHERE and not any(name.endswith(f"/{one}") for name in names))


def script(called: str) -> str:
    """The file that `python CALLED` runs."""
    return called.removeprefix("-m ").replace(".", "/") + ".py" if called.startswith("-m") else called


def test_every_name_of_code_exists():
    words = {*re.findall(r"\w+", "\n".join(page for _, page in files(suffixes=(".py", ".js", ".css", ".toml"))))}
    named = [(where, one) for where, one in found(NAME, fenced=False) if not FILE.fullmatch(f"`{one}`")]
    assert len(named) > 200
    refuse(f"{where}: nothing is called {one}" for where, one in named
           if one not in ELSEWHERE and not {*one.strip(".").split(".")} <= words)


def test_every_test_named_is_there():
    """So docs/reliability.md has no promise that nothing holds."""
    named = list(found(TEST))
    assert len(named) > 100
    refuse(f"{where}: no test {path}{'::' * bool(name)}{name}" for where, (path, name) in named
           if not (ROOT / path).is_file() or (name and not re.search(rf"^def {name}\(", read(path), re.MULTILINE)))


def test_every_target_and_variable_named_is_there():
    made = list(found(re.compile(r"(?:`|^)make ([\w.-]+)", re.MULTILINE)))
    assert len(made) > 20
    refuse(f"{where}: no target {one} in the Makefile" for where, one in made if one not in targets())
    variable = re.compile(r"HEADSUP_\w+")
    known = {*variable.findall(read("deploy/Caddyfile"))}
    known.update(*(variable.findall(page) for _, page in files("transformer", "ui", "tests")))
    refuse(f"{where}: nothing reads {one}" for where, one in found(variable) if one not in known)


def test_every_command_named_takes_what_it_is_given():
    options = {name: {option for one in command.params for option in (*one.opts, *one.secondary_opts)} | {"--help"}
               for name, command in typer.main.get_command(app).commands.items()}
    for name, script in SERVED.items():
        options[name] |= {*re.findall(r'add_argument\("(--[\w-]+)"', read(f"ui/server/{script}.py"))}
    lines = list(found(re.compile(r"(?:^|`)headsup ([a-z](?:[^`#\n]|\\\n)*)", re.MULTILINE)))
    assert len(lines) > 40
    given = [(where, line.split()[0], option) for where, line in lines
             for option in ("--help", *re.findall(r"(?<!\S)--[\w-]+", line))]
    refuse(f"{where}: headsup {command} takes no {option}, or is no command" for where, command, option in given
           if option not in options.get(command, ()))
    known = {*OTHERS, *set().union(*options.values()), *re.findall(r"--[a-z][\w-]*", "".join(
        page for _, page in files("benchmarks", "tests")))}
    refuse(f"{where}: nothing takes {option}" for where, option in found(re.compile(r"`(--[\w-]+)"))
           if option not in known)


def test_every_setting_and_preset_named_is_there():
    settings = {*ModelConfig.model_fields, *TrainConfig.model_fields}
    refuse(f"{where}: no setting {one}" for where, one in found(re.compile(r"--(?:set|sweep) '?(\w+)"))
           if one not in settings)
    refuse(f"{where}: no preset {one}" for where, one in found(re.compile(r"--preset (\w[\w-]*)"))
           if one not in PRESETS)


@pytest.mark.parametrize("page", PAGES.values(), ids=lambda page: page.name)
def test_every_page_stands_in_the_documents(page):
    """What a new page needs besides its script and its entry."""
    picture = f"docs/pages/{page.name}.png"
    assert f"[![{page.title}]({picture})]" in read("README.md"), "add it to README's table"
    assert (ROOT / picture).is_file(), "run docs/pictures.py"
    views = read("docs/teaching.md").split("## What each view shows, and what it does not")[1]
    assert page.title in views, "add its views to the table of docs/teaching.md"
