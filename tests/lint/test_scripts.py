"""The modules of the scripts fit together: one script is made of each with all that it imports, as browsers get it."""

from tests.lint.repository import ROOT, files, refuse
from transformer.attention_view.script_bundle import script


def test_every_module_is_one_script_with_what_it_imports():
    wrong = []
    for name, _ in files("transformer", "ui", suffixes=(".js",)):
        try:
            script(ROOT / name)
        except (ValueError, OSError) as error:
            wrong.append(f"{name}: {error}")
    refuse(wrong)
