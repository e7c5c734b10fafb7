"""Fills in a chat template, as a program of its own: a request in JSON comes in, the text goes out.

A template is a program of somebody unknown, so it runs in Jinja's sandbox, with little memory. It finds there what
`transformers.utils.chat_template_utils.render_jinja_template` gives it; nothing else of this project is imported.
"""

import json
import sys
from datetime import datetime
from typing import Any

import jinja2
from jinja2.ext import Extension, loopcontrols
from jinja2.nodes import Node, Scope
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

MEMORY, OUTPUT = 2**28, 2**16  # bytes


class Generation(Extension):
    """`{% generation %}` … `{% endgeneration %}`: what the model wrote, which is kept as it is."""

    tags = {"generation"}  # noqa: RUF012 - as Jinja has it

    def parse(self, parser: Parser) -> Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return Scope(body, lineno=line)


class Namespace(jinja2.utils.Namespace):
    """Jinja's namespace, without names that begin with an underscore."""

    def __init__(*args: object, **named: object) -> None:
        self, *values = args
        for name in (fields := dict(*values, **named)):
            _check_name(name)
        jinja2.utils.Namespace.__init__(self, fields)

    def __setitem__(self, name: str, value: object) -> None:
        _check_name(name)
        super().__setitem__(name, value)


class Dict:
    """`dict` for a template, which cannot reach the class itself."""

    def __call__(self, *values: object, **named: object) -> dict:
        return dict(*values, **named)

    def fromkeys(self, *values: Any) -> dict:
        """`dict.fromkeys`."""
        return dict.fromkeys(*values)


def _check_name(name: object) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise jinja2.exceptions.SecurityError(f"a namespace keeps no {name!r}")


def _tojson(value: object, ensure_ascii: bool = False, indent: int | None = None,
            separators: tuple[str, str] | None = None, sort_keys: bool = False) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _refuse(why: str) -> None:
    raise jinja2.exceptions.TemplateError(why)


def rendered(template: str, *, question: str, tokens: dict[str, str]) -> str:
    """The text for one question; tokens: special ones, by the names that a template has for them."""
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                                extensions=[Generation, loopcontrols])
    environment.filters["tojson"] = _tojson
    environment.globals |= {"raise_exception": _refuse, "dict": Dict(), "namespace": Namespace,
                            "strftime_now": lambda form: datetime.now().strftime(form)}
    return environment.from_string(template).render(
        messages=[{"role": "user", "content": question}], tools=None, documents=None, add_generation_prompt=True,
        **tokens)


if __name__ == "__main__":
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT, OUTPUT))  # of the text, which is read into memory
    try:
        sys.stdout.buffer.write(rendered(**json.loads(sys.stdin.buffer.read())).encode())
        sys.stdout.buffer.flush()
    except jinja2.exceptions.TemplateError as error:
        sys.exit(f"{error}"[:200])
    except OSError:
        sys.exit(f"it writes more than {OUTPUT:,} bytes")
