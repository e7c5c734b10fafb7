"""A model's chat template, filled in once as an example to begin with."""

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import orjson

from transformer.checkpoints.weights import Refused, clean
from transformer.text.huggingface_tokenizers import HuggingFaceTokenizer
from transformer.text.tokenizer import TokenizerFile

SECONDS, LONGEST = 10, 4_000  # a template is a program: limits of its time and of its output in characters
QUESTION = "What is the capital of France?"
PROGRAM = Path(__file__).with_name("render_template.py")
NONE: Mapping[str, str] = {}


def turn(template: str, question: str = QUESTION, *, tokens: Mapping[str, str] = NONE) -> str:
    """A question as a user's turn, up to where the answer begins, as `apply_chat_template` of transformers spells it.

    tokens: the special tokens that a template may name: bos_token, eos_token, … Raises Refused if the template does not
    do it, with the reason.
    """
    if not find_spec("jinja2"):
        raise Refused("its chat template needs `pip install jinja2`, and to be imported again")
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as asked:
        asked.write(orjson.dumps({"template": template, "question": question,
                                  "tokens": {"bos_token": "", "eos_token": "", **tokens}}))
        asked.seek(0)
        try:
            done = subprocess.run([sys.executable, "-I", PROGRAM], stdin=asked, stdout=output, stderr=errors,
                                  timeout=SECONDS)
            output.seek(0)
            text = output.read().decode()
        except subprocess.TimeoutExpired:
            raise Refused(f"its chat template takes more than {SECONDS} s") from None
        except (OSError, UnicodeDecodeError):
            raise Refused("its chat template could not be filled in") from None
        errors.seek(0)
        why = errors.read().decode(errors="replace").strip().split("\n")[-1]
    if done.returncode != 0:
        raise Refused(f"its chat template ends in an error ({clean(why or 'it was stopped', longest=120)})")
    if len(text) > LONGEST:
        raise Refused(f"its chat template writes {len(text):,} characters about a question")
    if question not in text:
        raise Refused("its chat template leaves the question out")
    return text


def opening(template: str, tokenizer: TokenizerFile, *, tokens: Mapping[str, str]) -> str:
    """`turn`, without the first token if this tokenizer puts it before every text. Raises Refused as `turn` does."""
    text, first = turn(template, tokens=tokens), tokens.get("bos_token")
    if not first or not text.startswith(first) or not isinstance(tokenizer, HuggingFaceTokenizer):
        return text
    rest = text.removeprefix(first)
    return rest if tokenizer.encode(rest) == tokenizer.bare(text) else text
