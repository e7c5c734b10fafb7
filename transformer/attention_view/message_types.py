"""Types of messages checked and written: whether a message has the fields of `Header`, and the same for TypeScript.

`python -m transformer.attention_view.message_types` writes js/message/fields.d.ts, from which the scripts are checked.
"""

import json
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from inspect import getdoc
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from transformer.attention_view import message_fields
from transformer.attention_view.message_fields import ARRAYS, Header
from transformer.attention_view.script_bundle import JS
from transformer.settings.config import Kind

DECLARED = JS / "message" / "fields.d.ts"
SIMPLE: dict[Any, tuple[str, Callable[[object], bool]]] = {
    str: ("string", lambda value: isinstance(value, str)),
    bool: ("boolean", lambda value: isinstance(value, bool)),
    int: ("number", lambda value: isinstance(value, int) and not isinstance(value, bool)),
    float: ("number", lambda value: isinstance(value, int | float) and not isinstance(value, bool)),
    type(None): ("null", lambda value: value is None),
    Any: ("any", lambda value: True),
    Kind: ("string", lambda value: isinstance(value, str)),  # "A → B" of weights from elsewhere
}
NUMBERS = {"f4": "Float32Array", "u1": "Uint8Array", "u2": "Uint16Array"}


def wrong(value: object, hint: Any = Header, where: str = "header") -> list[str]:
    """What a value, as JSON has it, has too much or too little for a type, with the place of each."""
    if hint in SIMPLE:
        return [] if SIMPLE[hint][1](value) else [f"{where} is {value!r:.40}, not {SIMPLE[hint][0]}"]
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return wrong(value, parts[0], where)
    if origin is Literal:
        return [] if value in parts else [f"{where} is {value!r:.40}, none of {parts}"]
    if origin in (Union, types.UnionType):
        known = [part for part in parts if part is not type(None)]
        return [] if value is None and len(known) < len(parts) else min((wrong(value, part, where) for part in known),
                                                                         key=len)
    if fields := _fields(hint):
        if not isinstance(value, Mapping):
            return [f"{where} is {value!r:.40}, not an object"]
        missing = [f"{where}.{name} is missing" for name, (_, needed) in fields.items() if needed and name not in value]
        unknown = [f"{where}.{name} is no field of {hint.__name__}" for name in value if name not in fields]
        return missing + unknown + [one for name in value if name in fields
                                    for one in wrong(value[name], fields[name][0], f"{where}.{name}")]
    if origin is dict or origin is Mapping:
        if not isinstance(value, Mapping):
            return [f"{where} is {value!r:.40}, not an object"]
        return [one for name, item in value.items() for one in wrong(item, parts[1], f"{where}.{name}")]
    if not isinstance(value, Sequence) or isinstance(value, str):
        return [f"{where} is {value!r:.40}, not a list"]
    if origin is tuple and parts[-1] is not Ellipsis:
        if len(value) != len(parts):
            return [f"{where} has {len(value)} parts, not {len(parts)}"]
        return [one for at, part in enumerate(parts) for one in wrong(value[at], part, f"{where}[{at}]")]
    return [one for at, item in enumerate(value) for one in wrong(item, parts[0], f"{where}[{at}]")]


def wrong_arrays(places: Mapping[str, Mapping[str, Any]], kinds: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What arrays are unknown, or of another type or shape than `ARRAYS` says. kinds: of the header."""
    found = []
    for name, place in places.items():
        known = ARRAYS.get(name.split("/")[0])
        if known is None:
            found.append(f"the array {name} is not known")
        elif place["type"] != known.type and not place.get("most"):
            found.append(f"{name} is {place['type']}, not {known.type}")
        elif not any(_fits(place["shape"], shape, kinds.get(name.partition("/")[2])) for shape in known.shapes):
            found.append(f"{name} has the shape {list(place['shape'])}, not {' or '.join(known.shapes)}")
    return found


def _fits(shape: Sequence[int], axes: str, kind: Mapping[str, Any] | None) -> bool:
    """Whether a shape has these axes; of those that its kind has too, the sizes."""
    names = axes.split()
    sizes: dict[str, set[int]] = {} if kind is None else {
        "L": {kind["layers"], 1}, "H": {kind["heads"]}, "Tq": {len(kind["queries"])},
        "Tk": {len(kind["keys"]), kind.get("whole", (0, 0))[1]}}
    return len(shape) == len(names) and all(
        size == int(name) if name.isdigit() else size in sizes.get(name, {size})
        for size, name in zip(shape, names, strict=True))


def _fields(hint: Any) -> dict[str, tuple[Any, bool]]:
    """The fields of a TypedDict or a dataclass, each with its type and whether it has to be there."""
    if not is_typeddict(hint) and not is_dataclass(hint):
        return {}
    found, required = {}, getattr(hint, "__required_keys__", None)
    for name, of in get_type_hints(hint, include_extras=True).items():
        needed = type(None) not in get_args(of) if required is None else name in required
        found[name] = (get_args(of)[0] if get_origin(of) in (NotRequired, Required) else of, needed)
    return found


def declarations() -> str:
    """The types as TypeScript, with what is said of them."""
    every = [one for one in vars(message_fields).values() if _fields(one)]
    return "\n".join([FIRST, *map(_interface, every), _arrays(), LAST])


FIRST = "// Made of message_fields.py by `python -m transformer.attention_view.message_types`: change that.\n"
LAST = """// What `unpack` makes of one. made: what is made from it, by name.
export interface Message extends Omit<Header, "arrays"> {
  arrays: Arrays;
  shapes: { [name: string]: number[] };
  made: Map<string, any>;
}

export type ModelMessage = Message & { model: Model };
export type PathMessage = Message & { path: Path };
"""


def _interface(hint: Any) -> str:
    lines = []
    for name, (of, needed) in _fields(hint).items():
        if get_origin(of) is Annotated:
            lines.append(f"  /** {get_args(of)[1]} */")
        lines.append(f"  {name}{'' if needed else '?'}: {_typescript(of)};")
    said = "\n".join(f" * {line}".rstrip() for line in (getdoc(hint) or "").split("\n"))
    return f"/**\n{said}\n */\nexport interface {hint.__name__} {{\n" + "\n".join(lines) + "\n}\n"


def _arrays() -> str:
    """By name; some are of one head alone, or of each kind or stack."""
    lines = []
    for name, array in ARRAYS.items():
        lines += [f"  /** {' or '.join(f'({shape})' for shape in array.shapes)}: {array.unit} */",
                  f"  {name}?: {NUMBERS[array.type]};", f"  [{name}: `{name}/${{string}}`]: {NUMBERS[array.type]};"]
    return "export interface Arrays {\n" + "\n".join(lines) + "\n}\n"


def _typescript(hint: Any) -> str:
    if hint in SIMPLE:
        return SIMPLE[hint][0]
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _typescript(parts[0])
    if origin is Literal:
        return " | ".join(json.dumps(part) for part in parts)
    if origin in (Union, types.UnionType):
        return " | ".join(dict.fromkeys(map(_typescript, parts)))
    if _fields(hint):
        return hint.__name__
    if origin in (dict, Mapping):
        return f"{{ [name: string]: {_typescript(parts[1])} }}"
    if origin is tuple and parts[-1] is not Ellipsis:
        return f"[{', '.join(map(_typescript, parts))}]"
    item = _typescript(parts[0])
    return f"({item})[]" if " " in item else f"{item}[]"


if __name__ == "__main__":
    DECLARED.write_text(declarations(), "utf-8")
