"""Colours, sizes of type, weights, corners and gaps come from design.json, and from nowhere else."""

import json
import re
import tomllib

from .repository import files, read

DESIGN = json.loads(read("transformer/attention_view/js/drawing/design.json"))
OURS = ("transformer", "ui", "pages", "app.py")
# a colour as digits; black and white stand where a number is written on a colour
DIGITS = re.compile(r"(?<![&\w])#[0-9a-fA-F]{3,8}\b(?!\()|\brgba?\(\s*\d|\bhsla?\(")
PAPER_AND_INK = re.compile(r'"#(?:000000|ffffff)"')
# of a declaration in a style: what may stand there
SIZE = r"var\(--(?:small|body|large|title|display|big)[^)]*\)"
MAY_BE = {
    "font-size": rf"(?:{SIZE}|inherit|calc\([^;]*{SIZE}[^;]*\)|max\([^;]*var\(--big[^;]*\))(?: !important)?",
    "font-weight": r"400|inherit|normal|var\(--bold\)",
    "font-family": r"inherit|var\(--(?:font|code)\)",
    r"border(?:-[a-z]+)*-radius": r"(?:(?:0|inherit|var\(--(?:radius|radius-cell|round)\))\s?)+",
    r"(?:row-|column-)?gap": r"(?:(?:0|normal|var\(--gap-[1-4]\))\s?)+(?: !important)?",
    "font": r"inherit|(?:(?:italic|var\(--bold\)|400) )?var\(--(?:small|body|large|title)\)(?:/[\d.]+)? "
            r"var\(--(?:font|code)\)",
}


def styles():
    """Every style: of files, and in the quotes of Python and of scripts."""
    yield from files(*OURS, suffixes=(".css",))
    for name, text in files(*OURS, suffixes=(".py", ".js")):
        for quoted in re.findall(r'"""(?:.|\n)*?"""|`[^`]*`', text):
            if re.search(r"[\w-]+: [^;{}\n]+;[^;]*[\w-]+: [^;{}\n]+", quoted):
                yield name, quoted.replace("{{", "{").replace("}}", "}")


def test_a_colour_stands_in_the_design_alone():
    found = []
    for name, text in files(*OURS, suffixes=(".css", ".py", ".js")):
        for line in PAPER_AND_INK.sub("", text).splitlines():
            code = re.sub(r"(?:^|\s)(?://|# ).*", "", line) if not name.endswith(".css") else line
            if DIGITS.search(code) and "pdf.js" not in name:
                found.append(f"{name}: {line.strip()}")
    assert found == [], "\n".join(["name these in attention_view/js/drawing/design.json, and use their names:", *found])


def test_sizes_weights_corners_and_gaps_are_those_of_the_design():
    found = []
    for name, text in styles():
        for what, allowed in MAY_BE.items():
            for one, value in re.findall(rf"(?<![\w-])({what}):\s+([^;{{}}]+?)\s*(?=[;}}`])", text):
                value = re.sub(r"\s+", " ", value)
                if not re.fullmatch(allowed, value) and "${" not in value:
                    found.append(f"{name}: {one}: {value}")
    assert found == [], "\n".join(["these are no sizes of the design (docs/design.md):", *found])


def test_what_is_used_is_there():
    from transformer.basics.design import properties  # imports nothing of ours

    own = {name for text in (text for _, text in files(*OURS, suffixes=(".css", ".py", ".js")))
           for name in re.findall(r"--([a-z][\w-]*)(?=\"?[:,])", text)}
    for name, text in styles():
        for used in re.findall(r"var\(--([a-z][\w-]*)", text):
            assert used in properties().keys() | own, f"{name}: --{used}"


def test_streamlit_is_told_the_same():
    theme = tomllib.loads(read(".streamlit/config.toml"))["theme"]
    colours = DESIGN["colours"]
    for at, mode in enumerate(("light", "dark")):
        named = {"primaryColor": "accent", "backgroundColor": "paper", "secondaryBackgroundColor": "tint",
                 "textColor": "ink", "linkColor": "accent", "borderColor": "line", "codeBackgroundColor": "tint",
                 "codeTextColor": "ink", "redColor": "wrong", "orangeColor": "warn", "yellowColor": "warn",
                 "greenColor": "right", "blueColor": "accent", "violetColor": "other", "grayColor": "quiet"}
        ramp = DESIGN["sequential"][::-1 if at else 1]
        assert theme[mode] == {**{key: colours[name][at] for key, name in named.items()},
                               "chartCategoricalColors": DESIGN["series"], "chartSequentialColors": ramp[:10]}
    sizes = DESIGN["type"]
    assert theme["baseFontSize"] == sizes["body"]
    assert {*theme["headingFontSizes"]} <= {f"{size}px" for size in sizes.values()}
    assert {*theme["headingFontWeights"]} == {DESIGN["bold"]}
    assert theme["baseRadius"] == f"{DESIGN['radius']['control']}px"


def test_no_style_is_matched_with_all_of_a_page_whenever_anything_on_it_changes():
    """A part of a class's name, or what a whole page holds, is looked for anew in every element: half of a step."""
    shell = read("ui/components/js/shell/shell.css")
    assert not re.findall(r'\[class[*^$]=[^\]]*\]|\.stMain:(?:not\(:)?has', shell)
    for name, text in files("transformer/attention_view/js", suffixes=(".css",)):
        assert not re.findall(r"\.(?:step-view|screen)[\w.:,() -]*:has\(\.\w+\)", text), name
