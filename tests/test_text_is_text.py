"""Nothing typed, uploaded or named by somebody is read as markdown: every value that reaches an element which reads
markdown is a number, or has gone through `markdown_text`.

This follows values through the source: a text is safe when it is written in the source, when it is made of safe parts,
when a function makes it whose every result is safe, or when it is a field that every construction of its class fills
with something safe. Names are looked up without imports, so a function counts as
safe when all functions of that name are.
"""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ESCAPES = {"markdown_text", "code_text", "without_images"}
# Elements that read markdown -> which of their arguments do, by place.
FIRST = """badge button caption checkbox dialog download_button error expander feedback file_uploader header info
    link_button markdown multiselect number_input pills popover radio segmented_control select_slider selectbox slider
    spinner status subheader success text_area text_input title toast toggle warning"""
PLACES = dict.fromkeys(FIRST.split(), (0,)) | {"tabs": (0,), "metric": (0, 1, 2), "progress": (1,)}
KEYWORDS = ("label", "help", "text", "body", "title")
OPTIONS = {"pills", "radio", "segmented_control"}  # whose options read markdown too
CHOOSERS = {"pills", "segmented_control", "select_slider", "selectbox"}  # whose value is one of their options
# Functions and methods that make numbers, and ones that make of safe values nothing but safe ones.
NUMBERS = set("len int float round sum bool log sqrt abs range numel item std norm index count".split())  # noqa: SIM905
KEEP = set("max min list tuple sorted reversed dict set next iter filter zip enumerate partial".split())  # noqa: SIM905
METHODS = set("""capitalize lower upper title strip rstrip lstrip removeprefix removesuffix replace split splitlines
    items values keys get copy __getitem__ tolist mean max min join format""".split())  # noqa: SIM905
# Types whose values are numbers, or words that stand in the source.
TYPES = set("""int float bool list tuple dict Sequence Tensor np ndarray range Summary Annotated Field Kind Size Length
    Layers Fraction Factor Id Part Activation Precision""".split())  # noqa: SIM905


class Source:
    """All functions, constants and declared types of a tree, by name."""

    def __init__(self, root: Path):
        self.trees = {path.relative_to(root).as_posix(): ast.parse(path.read_text("utf-8")) for path in sorted(
            path for part in ("app.py", "pages", "ui", "transformer") for path in (
                [root / part] if part.endswith(".py") else (root / part).rglob("*.py")) if path.exists())}
        self.functions, self.declared, self.constants = defaultdict(list), defaultdict(list), defaultdict(list)
        self.calls, self.fields, self.shared = defaultdict(list), defaultdict(list), defaultdict(list)
        for name, tree in self.trees.items():
            for node in ast.walk(tree):
                for child in ast.iter_child_nodes(node):
                    child.parent = node
                node.file = name
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and (called := _called(node.func)) and not (
                        called in PLACES and isinstance(node.func, ast.Attribute)):
                    self.calls[called].append((node, node.args))
                    if called == "partial":
                        self.calls[_called(node.args[0])].append((node, node.args[1:]))
                    elif called == "fragment":  # st.fragment(function)(arguments)
                        self.calls[_called(node.args[0])].append((node.parent, node.parent.args))
                if isinstance(node, ast.FunctionDef):
                    self.functions[node.name].append(node)
                    if any(isinstance(one, ast.Name) and "property" in one.id for one in node.decorator_list):
                        self.declared[node.name].append(node.returns)
                elif isinstance(node, ast.AnnAssign) and isinstance(node.parent, ast.ClassDef):
                    self.declared[node.target.id].append(node.annotation)
                    self.fields[node.target.id].append(node.parent)
                elif isinstance(node, ast.Assign) and isinstance(node.parent, ast.ClassDef) and isinstance(
                        node.targets[0], ast.Name):
                    self.shared[node.targets[0].id].append(node.value)
            for node in tree.body:
                if isinstance(node, ast.Assign):
                    for target in node.targets:
                        for one in ast.walk(target):
                            if isinstance(one, ast.Name):
                                self.constants[one.id].append((name, node))


def _called(func: ast.expr) -> str | None:
    return func.id if isinstance(func, ast.Name) else func.attr if isinstance(func, ast.Attribute) else None


def numeric(annotation: ast.expr | None) -> bool:
    """Whether a declared type holds numbers, or words that the source names, and nothing else."""
    if annotation is None:
        return False
    if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "Literal":
        return True
    names = {node.id if isinstance(node, ast.Name) else node.attr for node in ast.walk(annotation)
             if isinstance(node, ast.Name | ast.Attribute)}
    names |= {node.value for node in ast.walk(annotation)
              if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return bool(names) and names <= TYPES


class Checker:
    def __init__(self, source: Source):
        self.source, self.known = source, {}

    def wrong(self) -> list[str]:
        found = []
        for name, tree in self.source.trees.items():
            if name.startswith("transformer/"):
                continue
            for node in ast.walk(tree):
                if isinstance(node, ast.Call):
                    found += [f"{name}:{part.lineno}: {ast.unparse(part)[:100]}" for part in self._arguments(node)
                              if not self.safe(part)]
        return found

    def _arguments(self, call: ast.Call) -> list[ast.expr]:
        """The arguments of a call that are read as markdown."""
        elements = [node.attr for node in ast.walk(call.func) if isinstance(node, ast.Attribute)]
        element = next((name for name in elements if name in PLACES), None)
        if element is None or not (call.args or call.keywords):
            return []
        if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Constant):
            return []  # "a text".title()
        found = [call.args[place] for place in PLACES[element] if place < len(call.args)]
        found += [word.value for word in call.keywords if word.arg in KEYWORDS]
        form = next((word.value for word in call.keywords if word.arg == "format_func"), None)
        if element in OPTIONS:
            found += [form] if form is not None else call.args[1:2]
        return found

    # whether an expression is safe

    def safe(self, node: ast.expr | None) -> bool:
        key = id(node)
        if key not in self.known:
            self.known[key] = True  # while it is looked at: a loop adds nothing of its own
            self.known[key] = self._safe(node)
        return self.known[key]

    def _safe(self, node: ast.expr | None) -> bool:
        match node:
            case None | ast.Constant() | ast.Compare() | ast.Slice():
                return True
            case ast.JoinedStr():
                return all(self._field(part) for part in node.values)
            case ast.BinOp(left=left, right=right, op=op):
                if isinstance(op, ast.Sub | ast.Div | ast.FloorDiv | ast.Pow):
                    return True  # no text can be subtracted
                return (self.safe(left) and self.safe(right)) or (isinstance(op, ast.Add | ast.Mult) and any(
                    isinstance(one, ast.Constant) and not isinstance(one.value, str) for one in (left, right))
                    and isinstance(op, ast.Add))
            case ast.UnaryOp(op=ast.USub() | ast.Not()):
                return True
            case ast.BoolOp(values=values):
                return all(map(self.safe, values))
            case ast.IfExp(body=body, orelse=orelse):
                return self.safe(body) and self.safe(orelse)
            case ast.Tuple(elts=elts) | ast.List(elts=elts) | ast.Set(elts=elts):
                return all(map(self.safe, elts))
            case ast.Dict(keys=keys, values=values):
                return all(map(self.safe, [*keys, *values]))
            case ast.Starred(value=value) | ast.NamedExpr(value=value) | ast.Subscript(value=value):
                return self.safe(value)
            case ast.ListComp(elt=elt) | ast.GeneratorExp(elt=elt) | ast.SetComp(elt=elt):
                return self.safe(elt)
            case ast.DictComp(key=one, value=other):
                return self.safe(one) and self.safe(other)
            case ast.Lambda(body=body):
                return self.safe(body)
            case ast.Name():
                return self._name(node)
            case ast.Attribute(value=value, attr=attr):
                if attr in METHODS:  # as a format_func
                    return self.safe(value) or ast.unparse(value) == "str"
                return attr == "shape" or self._attribute(attr)
            case ast.Call():
                return self._call(node)
        return False

    def _field(self, part: ast.expr) -> bool:
        if isinstance(part, ast.Constant):
            return True
        form = ast.unparse(part.format_spec) if part.format_spec else ""
        return form.rstrip("'\"").endswith((",", "f", "g", "%", "d", "e")) or (  # which no text can be written in
            part.conversion == -1 and self.safe(part.value))

    def _attribute(self, attr: str) -> bool:
        declared = self.source.declared.get(attr, [])
        if declared and all(map(numeric, declared)):
            return True
        classes, properties = self.source.fields[attr], [one for one in self.source.functions.get(attr, [])
                                                         if one.decorator_list]
        shared = self.source.shared[attr]
        if (classes or shared) and all(self._filled(one, attr) for one in classes) and all(
                map(self.safe, shared)) and all(map(self._function, properties)):
            return True
        return attr.isupper() and bool(self.source.constants.get(attr)) and self._constant(attr, None)

    def _filled(self, owner: ast.ClassDef, field: str) -> bool:
        """Whether all that makes a dataclass or a named tuple gives a field something safe."""
        key = owner.file, owner.name, field
        if key in self.known:
            return self.known[key]
        self.known[key] = True
        annotations = {one.target.id: one for one in owner.body if isinstance(one, ast.AnnAssign)}
        plain = any("dataclass" in ast.unparse(one) for one in owner.decorator_list) or any(
            ast.unparse(one) == "NamedTuple" for one in owner.bases)
        changes = [(call, ()) for name in ("replace", "_replace") for call, _ in self.source.calls[name]
                   if field in {word.arg for word in call.keywords}]
        made = [(call, arguments) for call, arguments in self.source.calls[owner.name]
                if isinstance(call.func, ast.Name)] + [(call, arguments) for call, arguments in self.source.calls["cls"]
                                                if call.file == owner.file]
        self.known[key] = numeric(annotations[field].annotation) or (plain and bool(made) and all(
            self._gives(call, arguments, list(annotations), field, annotations[field].value)
            for call, arguments in made + changes))
        return self.known[key]

    def _gives(self, call: ast.Call, arguments: list, names: list[str], name: str, default: ast.expr | None) -> bool:
        """Whether a call gives a parameter something safe; names: of those that it may give by their place."""
        words = {word.arg: word.value for word in call.keywords}
        if name in words:
            return self.safe(words[name])
        if name in names and names.index(name) < len(arguments):
            return not any(isinstance(one, ast.Starred) for one in arguments) and self.safe(
                arguments[names.index(name)])
        return default is not None and None not in words and self.safe(default)

    def _constant(self, name: str, file: str | None) -> bool:
        found = self.source.constants.get(name, [])
        here = [node for where, node in found if where == file] or [node for _, node in found]
        return bool(here) and all(self._bound(node.targets[0], node.value, name) for node in here)

    def _call(self, call: ast.Call) -> bool:
        func, arguments = call.func, [*call.args, *(word.value for word in call.keywords)]
        name = func.id if isinstance(func, ast.Name) else func.attr if isinstance(func, ast.Attribute) else None
        if name in ESCAPES | NUMBERS:
            return True
        if isinstance(func, ast.Name) and name in KEEP:
            return all(map(self.safe, arguments))
        if isinstance(func, ast.Name) and name == "map":
            return _called(call.args[0]) in ESCAPES | NUMBERS or all(map(self.safe, arguments[1:]))
        if isinstance(func, ast.Attribute) and name in METHODS:
            return self.safe(func.value) and all(map(self.safe, arguments[name == "get":]))
        if name in PLACES:  # the value of a widget: one of its options, or a number
            return name in ("number_input", "slider") or (name in CHOOSERS and self.safe(call.args[1]))
        functions = self._functions(name, func)
        return bool(functions) and all(map(self._function, functions))

    def _functions(self, name: str, at: ast.AST) -> list[ast.FunctionDef]:
        """All of a name; where the file has its own, that."""
        found = self.source.functions.get(name, [])
        return [one for one in found if one.file == at.file and isinstance(at, ast.Name)] or found

    def _function(self, function: ast.FunctionDef) -> bool:
        if id(function) not in self.known:
            self.known[id(function)] = True
            self.known[id(function)] = numeric(function.returns) or self._returns(function)
        return self.known[id(function)]

    def _returns(self, function: ast.FunctionDef) -> bool:
        own = [node for node in ast.walk(function) if isinstance(node, ast.Return) and self._inside(node) is function]
        return bool(own) and all(self.safe(node.value) for node in own)

    def _inside(self, node: ast.AST) -> ast.AST | None:
        """The function that a node stands in."""
        while (node := getattr(node, "parent", None)) is not None:
            if isinstance(node, ast.FunctionDef | ast.Lambda):
                return node
        return None

    # names

    def _name(self, name: ast.Name) -> bool:
        """Every value that the name is given in the innermost function that gives it one; else the constant's."""
        scope = name
        for one in self._comprehensions(name):
            if name.id in {part.id for part in ast.walk(one.target) if isinstance(part, ast.Name)}:
                return self._bound(one.target, one.iter, name.id, each=True)
        while (scope := self._inside(scope)) is not None:
            parameters = scope.args
            for one in [*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs]:
                if one.arg == name.id:
                    return numeric(one.annotation) or (
                        self._option(scope) if isinstance(scope, ast.Lambda) else self._given(scope, one.arg))
            if (found := self._bindings(scope, name.id)) is not None:
                return found
        if functions := self._functions(name.id, name):
            return all(map(self._function, functions))
        found = self._bindings(self.source.trees[name.file], name.id)
        return found if found is not None else self._constant(name.id, name.file)

    def _given(self, function: ast.FunctionDef, parameter: str) -> bool:
        """Whether everybody who calls a function gives it something safe for a parameter."""
        key = function.file, function.name, parameter
        if key in self.known:
            return self.known[key]
        self.known[key] = True
        names = [one.arg for one in [*function.args.posonlyargs, *function.args.args]]
        if names[:1] == ["self"]:
            names = names[1:]
        defaults = dict(zip(names[::-1], function.args.defaults[::-1], strict=False)) | dict(
            zip([one.arg for one in function.args.kwonlyargs], function.args.kw_defaults, strict=True))
        calls = [(call, arguments) for call, arguments in self.source.calls.get(function.name, [])
                 if function in self._functions(function.name, call.func)
                 or (function.name not in {_called(call.func)} and call.file == function.file)]
        given = [self._gives(call, arguments, names, parameter, defaults.get(parameter)) for call, arguments in calls]
        self.known[key] = bool(given) and all(given)
        return self.known[key]

    def _option(self, scope: ast.Lambda) -> bool:
        """Of a format_func: whether the options that it is given are safe."""
        word = scope.parent
        call = getattr(word, "parent", None)
        return isinstance(word, ast.keyword) and word.arg == "format_func" and self.safe(call.args[1])

    def _comprehensions(self, node: ast.AST) -> list[ast.comprehension]:
        found = []
        while (node := getattr(node, "parent", None)) is not None:
            found += getattr(node, "generators", [])
        return found

    def _bindings(self, scope: ast.AST, name: str) -> bool | None:
        """Whether all values that a name is given in a scope are safe; None where it is given none."""
        found = []
        for node in ast.walk(scope):
            if self._inside(node) is not (scope if isinstance(scope, ast.FunctionDef | ast.Lambda) else None):
                continue
            match node:
                case ast.Assign(targets=targets, value=value):
                    found += [self._bound(target, value, name) for target in targets if self._names(target, name)]
                case ast.AnnAssign(target=target, value=value, annotation=annotation) if self._names(target, name):
                    found.append(numeric(annotation) or self.safe(value))
                case ast.AugAssign(target=target, value=value, op=op) if self._names(target, name):
                    found.append(self.safe(value) or isinstance(op, ast.Sub))
                case ast.For(target=target, iter=iter) if self._names(target, name):
                    found.append(self._bound(target, iter, name, each=True))
                case ast.NamedExpr(target=target, value=value) if self._names(target, name):
                    found.append(self.safe(value))
                case ast.Call(func=ast.Attribute(value=ast.Name(id=id), attr="append" | "extend")) if id == name:
                    found.append(self.safe(node.args[0]))
        return all(found) if found else None

    def _names(self, target: ast.expr, name: str) -> bool:
        match target:
            case ast.Name(id=id):
                return id == name
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                return any(self._names(one, name) for one in elts)
            case ast.Subscript(value=value) | ast.Starred(value=value):
                return self._names(value, name)
        return False

    def _bound(self, target: ast.expr, value: ast.expr, name: str, *, each: bool = False) -> bool:
        """Whether what `name` in a target is given is safe. each: of every item of the value."""
        called = value.func.id if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) else None
        if each and called == "enumerate" and isinstance(target, ast.Tuple):
            if self._names(target.elts[0], name):
                return True
            return self._bound(target.elts[1], value.args[0], name, each=True)
        if each and called == "zip" and isinstance(target, ast.Tuple):
            return all(self._bound(one, part, name, each=True)
                       for one, part in zip(target.elts, value.args, strict=False) if self._names(one, name))
        if each and called == "range":
            return True
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            if each:
                return self.safe(value)
            return all(self._bound(one, part, name) for one, part in zip(target.elts, value.elts, strict=True)
                       if self._names(one, name))
        if isinstance(target, ast.Tuple) and not each:
            returned = self._returned(value, len(target.elts))
            if returned:
                return all(numeric(part) for one, part in zip(target.elts, returned, strict=True)
                           if self._names(one, name)) or self.safe(value)
        if each and isinstance(value, ast.Tuple | ast.List) and isinstance(target, ast.Tuple) and all(
                isinstance(one, ast.Tuple) and len(one.elts) == len(target.elts) for one in value.elts):
            return all(self._bound(target, one, name) for one in value.elts)
        if each and isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and isinstance(
                target, ast.Tuple) and value.func.attr == "items" and isinstance(value.func.value, ast.Dict):
            return self.safe(value.func.value)
        return self.safe(value)

    def _returned(self, value: ast.expr, count: int) -> list[ast.expr] | None:
        """The declared types of the parts of a tuple that a function of ours returns."""
        if not isinstance(value, ast.Call):
            return None
        name = value.func.id if isinstance(value.func, ast.Name) else getattr(value.func, "attr", None)
        functions = self.source.functions.get(name, [])
        parts = [one.returns.slice.elts for one in functions if isinstance(one.returns, ast.Subscript)
                 and ast.unparse(one.returns.value) == "tuple" and isinstance(one.returns.slice, ast.Tuple)]
        return parts[0] if len(parts) == 1 == len(functions) and len(parts[0]) == count else None


@pytest.mark.slow
def test_nothing_but_numbers_and_escaped_text_reaches_markdown():
    assert Checker(Source(ROOT)).wrong() == []


def planted(folder: Path, text: str) -> list[str]:
    (folder / "ui").mkdir()
    (folder / "ui" / "view.py").write_text(text)
    return Checker(Source(folder)).wrong()


@pytest.mark.parametrize("line", [
    "st.error(str(error))",
    "st.markdown(f'**{name}**')",
    "st.caption('a run ' + name)",
    "st.button('Use it', help=name)",
    "st.progress(0.5, text=name)",
    "place.metric('Loss', name)",
    "(st.error if name else st.info)(name)",
    "st.pills('Classes', names)",
    "st.segmented_control('Class', range(3), format_func=lambda at: names[at])",
    "st.tabs(['One', name])",
    "st.info(' and '.join(names))",
    "said = 'a'\n    said += name\n    st.info(said)",
    "said = ['a']\n    said.append(name)\n    st.info(', '.join(said))",
    "for one in names: st.caption(one)",
    "st.caption(shown(name))",
    "label('One ' + name)",
])
def test_a_planted_value_is_found(line, tmp_path):
    assert planted(tmp_path, f"""import streamlit as st
def shown(text: str): return text.strip()
def label(text): st.button(text)
label("Two")
def show(name: str, names: list[str], error: ValueError):
    {line}
""")


@pytest.mark.parametrize("line", [
    "st.error(markdown_text(str(error)))",
    "st.markdown(f'{len(names)} of {count} and {share:.1%}, {names.index(name):,}')",
    "st.caption(TITLES[name] + TITLES.get(name, 'none').lower())",
    "st.segmented_control('View', list(TITLES), format_func=TITLES.get)",
    "st.info(shown(name))",
    "label('One')",
    "st.text(name)",
    "name.title()",
    "said = [f'at {at}' for at, _ in enumerate(names)]\n    st.info(', '.join(said))",
])
def test_what_is_written_in_the_source_counted_or_escaped_is_not_found(line, tmp_path):
    assert planted(tmp_path, f"""import streamlit as st
TITLES = {{"a": "One", "b": "Two"}}
def shown(text: str): return markdown_text(text) or "nothing"
def label(text): st.button(text)
label("Two")
def show(name: str, names: list[str], error: ValueError, count: int, share: float):
    {line}
""") == []
