"""A model's chat template, filled in once as an example to begin with."""

import subprocess
import sys
import tempfile
from importlib.util import find_spec

import orjson

SECONDS, LONGEST = 10, 4_000  # a template is a program: limits of its time and of its output in characters
QUESTION = "What is the capital of France?"
# In a process of its own, in Jinja's sandbox, with little memory: whoever wrote the template is not known.
FILL = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (2**28, 2**28))
resource.setrlimit(resource.RLIMIT_FSIZE, (2**16, 2**16))  # of what it writes, which is read into memory
from jinja2.sandbox import ImmutableSandboxedEnvironment
said = json.load(sys.stdin)
template = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True).from_string(said["template"])
messages = [{"role": "user", "content": said["question"]}]
sys.stdout.write(template.render(messages=messages, add_generation_prompt=True, bos_token="", eos_token=""))
"""


def turn(template: str, question: str = QUESTION) -> str | None:
    """A question as a user's turn, up to where the answer begins. None if the template does not do it, or Jinja is not
    installed."""
    if not find_spec("jinja2"):
        return None
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as input_file:
        input_file.write(orjson.dumps({"template": template, "question": question}))
        input_file.seek(0)
        try:
            done = subprocess.run([sys.executable, "-I", "-c", FILL], stdin=input_file, stdout=output,
                                  stderr=subprocess.DEVNULL, timeout=SECONDS)
            output.seek(0)
            text = output.read().decode()
        except (subprocess.TimeoutExpired, OSError, UnicodeDecodeError):
            return None
    return text if done.returncode == 0 and question in text and len(text) <= LONGEST else None
