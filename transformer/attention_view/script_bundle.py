"""ES modules made one script, for a page that has no files beside it.

A module imports from "#view/lines.js", which is js/lines.js here (package.json says the same to node), or from
"./ticks.js", which stands beside it; a style imported by name is its text, and a JSON file its value. Every module
comes once, after those that it imports, in a scope of its own: a function that is run once and gives what the module
exports. Comments and indents stay behind; other people's modules, in js/vendor here or of the app, stay as they are.
What a page brings along for when it imports it later is run then.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

JS = Path(__file__).parent / "js"
EXPORTED = re.compile(r"^export (?:const|(?:async )?function\*?|class) (\w+)", re.MULTILINE)
CHANGES = re.compile(r"^export let (\w+)", re.MULTILINE)
IMPORT = re.compile(r'^import (?:\{(?P<names>[\w\s,]*)\}|(?P<text>\w+)) from "(?P<source>[^"]+)";\n', re.MULTILINE)
LATER = re.compile(r'\bimport\("(?P<source>(?:#view|\.)/[^"]+)"\)')
NOWHERE = 'Promise.reject(new Error("This needs the server of the app, which `headsup app` starts."))'

EXPORTS = re.compile(r"export\s*\{([^}]*)\};?\s*$")
# comments and indents; quoted text and patterns are taken first, for inside them these are text
SPARE = re.compile(r"""(`(?:\\.|[^`\\])*`|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|/\*.*?\*/
                        |(?<=[(,=:!&|?])[ ]*/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\[\\\n])+/)
                       |^[ ]*//[^\n]*\n|^[ ]+""", re.MULTILINE | re.DOTALL | re.VERBOSE)

SPARE_STYLE = re.compile(r"/\*.*?\*/\n?|^ +", re.MULTILINE | re.DOTALL)  # of which no quoted text has any

Address = Callable[[Path], str]  # of a module that is imported only once it is needed, where a browser fetches it


@dataclass(frozen=True)
class Module:
    """A file as a script needs it."""

    own: str                           # its text without comments, indents and imports
    imports: dict[Path, list[str]]     # of each that it imports, what it takes: `{ a: b }`, or a name for the whole
    exports: dict[str, str]            # with the names that they have in here


def script(entry: Path, address: Address | None = None, *, along: Collection[str] = ()) -> str:
    """The module and all that it imports as one, with its own exports alone. Raises ValueError for modules that import
    each other, and for one that imports what another does not export.

    `import("#view/film/make.js")` stays an import, of the module's address; without `address` it fails, unless that is
    one of the names that come `along`, which then is made of what is in the script.
    """
    entry = entry.resolve()
    if _from_others(entry):
        return entry.read_text("utf-8")
    brought = {_beside(entry, name): f"$along{at}" for at, name in enumerate(along)}

    def later(path: Path) -> str:
        if path in brought:
            return f"Promise.resolve().then({brought[path]})"
        return f'import("{address(path)}")' if address else NOWHERE

    modules: dict[Path, Module] = {}
    names: dict[Path, str] = {}  # of the constants with what the modules export

    def scopes(path: Path) -> str:
        """The scopes of a module and of all that it imports, in their order, but for those that are there."""
        _collect(path, (), modules)
        own = [path for path in modules if path not in names]
        names.update((path, f"${at}") for at, path in enumerate(own, len(names)))
        return "".join(_scope(path, modules[path], names, later) for path in own)

    whole = _read(entry)
    needed = "".join(map(scopes, whole.imports))
    parts = [f"let {name}$;\nconst {name} = () => ({name}$ ??= (() => {{\n"
             f"{scopes(path)}return {names[path]};\n}})());\n" for path, name in brought.items()]
    return needed + "".join(parts) + _body(entry, whole, names, later)


def _collect(path: Path, above: tuple[Path, ...], modules: dict[Path, Module]) -> None:
    """Put a module after all that it imports, each once, and see that they export what is taken."""
    if path in above:
        raise ValueError(f"{path.name} and {above[-1].name} import each other")
    if path in modules:
        return
    module = _read(path)
    for other in module.imports:
        _collect(other, (*above, path), modules)
    modules[path] = module


def _read(path: Path) -> Module:
    return _parsed(path, path.read_text("utf-8"))


@lru_cache(maxsize=512)
def _parsed(path: Path, text: str) -> Module:
    """A module of many scripts is gone through once."""
    if path.suffix != ".js":
        value = json.loads(text) if path.suffix == ".json" else SPARE_STYLE.sub("", text)
        return Module(json.dumps(value), {}, {})
    if _from_others(path):
        each = [[part.strip() for part in name.split(" as ")] for name in EXPORTS.search(text)[1].split(",")]
        return Module(f"{EXPORTS.sub('', text)}\n", {}, {part[-1]: part[0] for part in each})
    if changes := CHANGES.findall(text):
        raise ValueError(f"{path.name} exports {', '.join(changes)}, which may change: export a function instead")
    imports: dict[Path, list[str]] = {}
    for line in IMPORT.finditer(text):
        names = re.sub(r" as ", ": ", " ".join((line["names"] or "").split()).rstrip(","))
        imports.setdefault(_beside(path, line["source"]), []).append(line["text"] or f"{{ {names} }}")
    own = SPARE.sub(lambda found: found[1] or "", IMPORT.sub("", text))
    return Module(own, imports, {name: name for name in EXPORTED.findall(text)})


def _scope(path: Path, module: Module, names: Mapping[Path, str], later: Callable[[Path], str]) -> str:
    """A constant with what a module exports; of a style its text, of a JSON file its value."""
    if path.suffix != ".js":
        return f"const {names[path]} = {module.own};\n"
    exports = ", ".join(name if name == inside else f"{name}: {inside}" for name, inside in module.exports.items())
    body = module.own if _from_others(path) else re.sub(
        r"^export (default )?", "", _body(path, module, names, later), flags=re.MULTILINE)
    return f"const {names[path]} = (() => {{\n{body}return {{ {exports} }};\n}})();\n"


def _body(path: Path, module: Module, names: Mapping[Path, str], later: Callable[[Path], str]) -> str:
    """A module's text, what it imports taken from the scopes before it."""
    for other, taken in module.imports.items():
        wanted = {name for one in taken if other.suffix == ".js" for name in re.findall(r"(\w+)(?::\s*\w+)?", one)}
        if missing := wanted - {*_read(other).exports}:
            raise ValueError(f"{path.name} imports {', '.join(sorted(missing))}, which {other.name} does not export")
    lines = [f"const {one} = {names[other]};\n" for other, taken in module.imports.items() for one in taken]
    return "".join(lines) + LATER.sub(lambda found: later(_beside(path, found["source"])), module.own)


def _from_others(path: Path) -> bool:
    """Whether it is other people's module, whole and as it came: js/vendor/gifenc/gifenc.js."""
    return path.parts[-4:-2] == ("js", "vendor")


def _beside(path: Path, source: str) -> Path:
    """What a module means by the name of another."""
    return (JS / source.removeprefix("#view/") if source.startswith("#view/") else path.parent / source).resolve()
