"""ES modules made one script, for a page that has no files beside it.

A module imports from "#view/lines.js", which is js/lines.js here (package.json says the same to node), or from
"./ticks.js", which stands beside it; a style imported by name is its text, and a JSON file its value. Every module
comes once, after those that it imports, and all share one scope, so no two may declare the same name. Comments and
indents stay behind. Other people's modules, in js/vendor here or of the app, stay as they are, in a scope of their own.
So do those that a page brings along for when it imports them later: what they share with the rest is there once, and
what they declare for themselves may have any name.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from pathlib import Path

JS = Path(__file__).parent / "js"
DECLARED = re.compile(r"^(?:export )?(?:const|let|(?:async )?function|class) (\w+)", re.MULTILINE)
EXPORTED = re.compile(r"^export (?:const|let|(?:async )?function|class) (\w+)", re.MULTILINE)
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

def script(entry: Path, address: Address | None = None, *, along: Collection[str] = ()) -> str:
    """The module and all that it imports as one, with its own exports alone. Raises ValueError for modules that import
    each other, or of which two declare the same name.

    `import("#view/film/make.js")` stays an import, of the module's address; without `address` it fails, unless that is
    one of the names that come `along`, which then is made of what is in the script.
    """
    if _from_others(entry):
        return entry.read_text("utf-8")
    brought = {_beside(entry, name): number for number, name in enumerate(along)}

    def found(path: Path) -> str:
        if path in brought:
            return f"Promise.resolve().then(() => along{brought[path]}())"
        return f'import("{address(path)}")' if address else NOWHERE

    parts: dict[Path, str] = {}
    _collect(entry.resolve(), (), parts, found)
    _check_names(entry, parts)
    *others, own = _spared(parts)
    return "".join(_brought(path, number, parts, found) for path, number in brought.items()) + _inner(others) + own


def _check_names(entry: Path, parts: Mapping[Path, str]) -> None:
    names = [name for path, text in parts.items() for name in _names(path, text)]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"{entry.name} is made of modules of which two declare {', '.join(twice)}")


def _spared(parts: Mapping[Path, str]) -> list[str]:
    """The modules without comments and indents."""
    return [text if _from_others(path) else _spare(text) for path, text in parts.items()]


@lru_cache(maxsize=512)
def _spare(text: str) -> str:
    """A module that many scripts are made with is gone through once."""
    return SPARE.sub(lambda found: found[1] or "", text)


def _inner(texts: Collection[str]) -> str:
    """Modules as the inside of a script, which exports nothing of them."""
    return re.sub(r"^export (default )?", "", "".join(texts), flags=re.MULTILINE)


def _brought(entry: Path, number: int, around: Mapping[Path, str], later: Address) -> str:
    """A function that gives a module's exports: the module and what it imports, without what is `around` it, in a scope
    of their own. Raises ValueError as `script` does, and where one imports a name from around that another declares."""
    parts = dict(around)
    _collect(entry, (), parts, later)
    own = {path: text for path, text in parts.items() if text != around.get(path)}
    _check_names(entry, own)
    declared = {name for path, text in own.items() for name in _names(path, text)}
    for path in own:
        for line in IMPORT.finditer(path.read_text("utf-8") if path.suffix == ".js" else ""):
            hidden = declared & set(re.findall(r"\w+", line["names"] or line["text"]))
            if hidden and _beside(path, line["source"]) not in own:
                raise ValueError(f"{path.name} imports {', '.join(sorted(hidden))} from outside the modules of "
                                 f"{entry.name}, of which another declares it")
    exports = ", ".join(EXPORTED.findall(own[entry]))
    return (f"const along{number} = (() => {{\nlet made = null;\nreturn () => (made ??= (() => {{\n"
            f"{_inner(_spared(own))}return {{ {exports} }};\n}})());\n}})();\n")


def _names(path: Path, text: str) -> list[str]:
    """What a module declares for all; other people's, in a scope of their own, only what they export."""
    return re.findall(r"\w+", text[:text.index("}")])[1:] if _from_others(path) and path.suffix == ".js" else (
        DECLARED.findall(text))


def _collect(path: Path, above: tuple[Path, ...], parts: dict[Path, str], later: Address) -> None:
    """Put a module's text without its imports into `parts`, after theirs. later: what stands for an import in its
    midst."""
    if path in above:
        raise ValueError(f"{path.name} and {above[-1].name} import each other")
    text = path.read_text("utf-8")
    if _from_others(path):
        parts[path] = _apart(text)
        return
    for line in IMPORT.finditer(text):
        other = _beside(path, line["source"])
        if line["text"]:
            content = other.read_text("utf-8")
            value = json.loads(content) if other.suffix == ".json" else SPARE_STYLE.sub("", content)
            parts[other] = f"const {line['text']} = {json.dumps(value)};\n"
        elif other not in parts:
            _collect(other, (*above, path), parts, later)
    parts[path] = LATER.sub(lambda found: later(_beside(path, found["source"])), IMPORT.sub("", text))


def _from_others(path: Path) -> bool:
    """Whether it is other people's module, whole and as it came: js/vendor/gifenc/gifenc.js."""
    return path.parts[-4:-2] == ("js", "vendor")


def _beside(path: Path, source: str) -> Path:
    """What a module means by the name of another."""
    return (JS / source.removeprefix("#view/") if source.startswith("#view/") else path.parent / source).resolve()


def _apart(text: str) -> str:
    """A whole module of somebody else's as one that declares its exports alone; a default one by its own name, as in
    `import { default as uPlot }`."""
    names = [[one.strip() for one in name.split(" as ")] for name in EXPORTS.findall(text)[0].split(",")]
    names = [(name[0], name[0] if name[-1] == "default" else name[-1]) for name in names]
    given = ", ".join(f"{outside}: {inside}" for inside, outside in names)
    own = ", ".join(outside for _, outside in names)
    return f"const {{ {own} }} = (() => {{\n{EXPORTS.sub('', text)}\nreturn {{ {given} }};\n}})();\n"
