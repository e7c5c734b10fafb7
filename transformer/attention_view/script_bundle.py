"""ES modules made one script, for a page that has no files beside it.

A module imports from "#view/pictures/lines.js", which is js/pictures/lines.js here (package.json says the same to
node), or from "./ticks.js", which stands beside it; a style imported by name is its text, and a JSON file its value.
Every module comes once, after those that it imports, in a scope of its own: a function that is run once and gives what
the module exports. Comments and indents stay behind; other people's modules, in js/vendor here or of the app, stay as
they are. What a page brings along for when it imports it later is run then.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

JS = Path(__file__).parent / "js"
EXPORTED = re.compile(r"^export (?:const|(?:async )?function\*?|class) (\w+)", re.MULTILINE)
EXPORT = re.compile(r"^export (?:default )?", re.MULTILINE)
CHANGES = re.compile(r"^export let (\w+)", re.MULTILINE)
IMPORT = re.compile(r'^import (?:\{(?P<names>[\w\s,]*)\}|(?P<text>\w+)) from "(?P<source>[^"]+)";\n', re.MULTILINE)
LATER = re.compile(r'\bimport\("(?P<source>(?:#view|\.)/[^"]+)"\)')
NOWHERE = 'Promise.reject(new Error("This needs the server of the app, which `headsup app` starts."))'

EXPORTS = re.compile(r"export\s*\{([^}]*)\};?\s*$")
# comments, indents and idle line ends; quoted text and patterns are taken first, for inside them these are text
SPARE = re.compile(r"""(`(?:\\.|[^`\\])*`|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'
                        |(?:(?<=[(\[,=:!&|?>])|(?<=\breturn))[ ]*/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\[\\\n])+/)
                       |^[ ]*/\*.*?\*/[ ]?\n?|/\*.*?\*/[ ]?|^[ ]*//[^\n]*\n|[ ]+//[^\n]*(\n)|^[ ]+|^\n
                       |(?<=[{(\[,;])\n(?!\Z)""", re.MULTILINE | re.DOTALL | re.VERBOSE)

SPARE_STYLE = re.compile(r"/\*.*?\*/\n?|^ +|(?<=[{};,])\n", re.MULTILINE | re.DOTALL)  # of which no quoted text has any

Address = Callable[[Path], str]  # of a module that is imported only once it is needed, where a browser fetches it
Later = Callable[[Path], str]    # what stands for such an import


@dataclass(frozen=True)
class Module:
    """A file as a script needs it."""

    own: str                        # its text without imports
    imports: dict[Path, list[str]]  # of each that it imports, what it takes: `{a,b:c}`, or a name for the whole
    exports: dict[str, str]         # with the names that they have in here


def script(entry: Path, address: Address | None = None, *, along: Collection[str] = ()) -> str:
    """The module and all that it imports as one, with its own exports alone. Raises ValueError for modules that import
    each other, and for one that imports what another does not export.

    `import("#view/export/film/make.js")` stays an import, of the module's address; without `address` it fails, unless
    that is one of the names that come `along`, which then is made of what is in the script.
    """
    entry = entry.resolve()
    if _from_others(entry):
        return entry.read_text("utf-8")
    brought = {_beside(entry, name): f"$along{at}" for at, name in enumerate(along)}

    def later(path: Path) -> str:
        if path in brought:
            return f"Promise.resolve().then(()=>{brought[path]}())"
        return f'import("{address(path)}")' if address else NOWHERE

    whole = _read(entry)
    modules: dict[Path, Module] = {}
    for path in (*whole.imports, *brought):
        _collect(path, (), modules)
    taken = _taken({**modules, entry: whole}) | {path: {*modules[path].exports} for path in brought}
    names: dict[Path, str] = {}  # of the constants with what the modules export

    def scopes(path: Path, names: dict[Path, str]) -> str:
        """The scopes of a module and of all that it imports, in their order, but for those that are there."""
        if path in names:
            return ""
        before = "".join(scopes(other, names) for other in modules[path].imports)
        names[path] = f"${len(names)}"
        return before + _scope(path, modules[path], taken[path], names, later)

    parts = [scopes(path, names) for path in whole.imports]
    for path, name in brought.items():
        inner = dict(names)
        parts.append(f"let {name}$;\nconst {name}=()=>({name}$??=(()=>{{\n"
                     f"{scopes(path, inner)}return {inner[path]}}})());\n")
    return "".join(parts) + _body(entry, whole, names, later, exports=True)


def _taken(modules: Mapping[Path, Module]) -> dict[Path, set[str]]:
    """What others take of each module. Raises ValueError where one does not export it."""
    taken: dict[Path, set[str]] = {path: set() for path in modules}
    for path, module in modules.items():
        for other, each in module.imports.items():
            wanted = {name for one in each if other.suffix == ".js" for name in re.findall(r"(\w+)(?::\w+)?", one)}
            if missing := wanted - modules[other].exports.keys():
                raise ValueError(f"{path.name} imports {', '.join(sorted(missing))}, "
                                 f"which {other.name} does not export")
            taken[other] |= wanted
    return taken


def _collect(path: Path, above: tuple[Path, ...], modules: dict[Path, Module]) -> None:
    """Put a module after all that it imports, each once."""
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
    if path.suffix != ".js":
        value = json.loads(text) if path.suffix == ".json" else SPARE_STYLE.sub("", text)
        return Module(json.dumps(value), {}, {})
    if _from_others(path):
        each = [[part.strip() for part in name.split(" as ")] for name in EXPORTS.findall(text)[0].split(",")]
        return Module(f"{EXPORTS.sub('', text)}\n", {}, {part[-1]: part[0] for part in each})
    if changes := CHANGES.findall(text):
        raise ValueError(f"{path.name} exports {', '.join(changes)}, which may change: export a function instead")
    imports: dict[Path, list[str]] = {}
    for line in IMPORT.finditer(text):
        names = ",".join(name.strip().replace(" as ", ":") for name in (line["names"] or "").split(",") if name.strip())
        imports.setdefault(_beside(path, line["source"]), []).append(line["text"] or f"{{{names}}}")
    own = IMPORT.sub("", text)
    if other := re.search(r"^import\b[^(].*", own, re.MULTILINE):
        raise ValueError(f"{path.name} imports in a way that no script is made of: {other[0]}")
    return Module(own, imports, {name: name for name in EXPORTED.findall(text)})


def _scope(path: Path, module: Module, taken: Collection[str], names: Mapping[Path, str], later: Later) -> str:
    """A constant with what is taken of a module; of a style its text, of a JSON file its value."""
    if path.suffix != ".js":
        return f"const {names[path]}={module.own};\n"
    exports = ",".join(name if name == inside else f"{name}:{inside}" for name, inside in module.exports.items()
                       if name in taken)
    body = module.own if _from_others(path) else _body(path, module, names, later)
    return f"const {names[path]}=(()=>{{\n{body}return {{{exports}}}}})();\n"


def _body(path: Path, module: Module, names: Mapping[Path, str], later: Later, *, exports: bool = False) -> str:
    """A module's text, what it imports taken from the scopes before it; exports: with the word."""
    lines = [f"const {one}={names[other]};\n" for other, each in module.imports.items() for one in each]
    own = bare(module.own if exports else EXPORT.sub("", module.own))
    return "".join(lines) + LATER.sub(lambda found: later(_beside(path, found["source"])), own)


@lru_cache(maxsize=512)
def bare(text: str) -> str:
    """A text without comments and indents; that of a module in many scripts is gone through once."""
    return SPARE.sub(lambda found: found[1] or found[2] or "", text)


def _from_others(path: Path) -> bool:
    """Whether it is other people's module, whole and as it came: js/vendor/gifenc/gifenc.js."""
    return path.parts[-4:-2] == ("js", "vendor")


def _beside(path: Path, source: str) -> Path:
    """What a module means by the name of another."""
    return (JS / source.removeprefix("#view/") if source.startswith("#view/") else path.parent / source).resolve()
