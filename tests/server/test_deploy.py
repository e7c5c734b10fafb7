"""What Dockerfile and `deploy/` say: parsed, and held against the code; nothing here starts a container."""

import json
import re
import subprocess
import tomllib

import pytest

from tests.server.conftest import need_caddy
from tests.waiting import ROOT
from transformer.basics.paths import PACKAGE
from ui.server import caddy

yaml = pytest.importorskip("yaml")
DEPLOY = ROOT / "deploy"
DOCKERFILE = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text())  # an instruction a line
COLOURS = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}  # that a Space's front matter may name


@pytest.fixture(scope="module")
def services() -> dict:
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]


def test_its_caddyfile_is_the_one_that_the_code_writes_and_caddy_takes_it(services, tmp_path):
    assert (DEPLOY / "Caddyfile").read_text() == caddy.for_compose()
    workers, command = services["caddy"]["environment"]["HEADSUP_WORKERS"], services["app"]["command"]
    count = int(command[command.index("--workers") + 1])
    assert workers.split() == [f"app:{7860 + one}" for one in range(count)]
    need_caddy()
    done = subprocess.run([caddy.program(), "adapt", "--adapter", "caddyfile", "--config", DEPLOY / "Caddyfile"],
                          capture_output=True, text=True, env=caddy.environment(tmp_path) | {
                              "HEADSUP_NAME": "heads.example.org", "HEADSUP_WORKERS": workers})
    assert done.returncode == 0, done.stderr
    assert done.stdout.count('"dial":"app:7860"') == done.stdout.count('"dial":"app:7861"') == 2
    assert '"host":["heads.example.org"]' in done.stdout and '"listen":[":443"]' in done.stdout


def test_no_service_may_do_or_write_more_than_it_needs(services):
    for name, service in services.items():
        assert service["read_only"] and service["cap_drop"] == ["ALL"], name
        assert int(service["logging"]["options"]["max-size"].removesuffix("m")) <= 100, name
        assert service["security_opt"] == ["no-new-privileges:true"] and not service.get("privileged"), name
        assert re.fullmatch(r"(\$\{HEADSUP_MEMORY:-)?\d+g\}?", service["mem_limit"]) and service["pids_limit"], name
        assert all(re.fullmatch(r"/\w+:size=\d+[mg]", place) for place in service["tmpfs"]), name
    assert services["app"].get("ports") is None and services["app"].get("cap_add") is None
    assert re.fullmatch(r"caddy:\d+\.\d+\.\d+", services["caddy"]["image"])
    assert re.search(r"^USER 1000$", DOCKERFILE, re.MULTILINE)


def test_what_the_image_is_built_of_is_there():
    listed = [line[1:] for line in (ROOT / ".dockerignore").read_text().split() if line.startswith("!")]
    assert all((ROOT / name).exists() for name in listed)
    wanted = re.search(r'only-include = \[(.*?)\]', (ROOT / "pyproject.toml").read_text(), re.DOTALL)[1]
    assert set(re.findall(r'"([^"]+)"', wanted)) <= {*listed, ".streamlit/config.toml"}


def test_the_image_serves_on_one_port_takes_more_options_and_answers_to_its_name_in_a_space(tmp_path):
    command = json.loads(re.search(r"^ENTRYPOINT (.*)$", DOCKERFILE, re.MULTILINE)[1])
    program = tmp_path / "headsup"
    program.write_text('#!/bin/sh\necho "$FORWARDED_ALLOW_IPS"; printf "%s\\n" "$@"\n')
    program.chmod(0o755)

    def started(*arguments: str, **environment: str) -> tuple[str, list[str]]:
        """Whose word on visitors is taken, and the arguments that `headsup` gets of the image's ENTRYPOINT."""
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=True,
                              env={"PATH": f"{tmp_path}:/usr/bin:/bin"} | environment)
        trusted, *given = done.stdout.splitlines()
        return trusted, given

    (port,) = re.findall(r"^EXPOSE (\d+)$", DOCKERFILE, re.MULTILINE)
    assert f"http://127.0.0.1:{port}/health" in DOCKERFILE
    always = ["serve", "--proxy-elsewhere", "--host", "0.0.0.0", "--port", port]
    given = ["--workers", "2", "--name", "heads up.example"]
    assert started(*given) == ("", [*always, *given])
    trusted, given = started("--workers", "1", SPACE_HOST="ada-heads-up.hf.space")
    assert given == [*always, "--name", "ada-heads-up.hf.space", "--framed-by", "https://huggingface.co", "--workers",
                     "1"]
    assert "10.0.0.0/8" in trusted.split(",") and "*" not in trusted


def test_the_front_matter_of_a_space_is_what_the_image_does():
    _, front, _ = (DEPLOY / "space.md").read_text().split("---\n", 2)
    front = yaml.safe_load(front)
    assert front["sdk"] == "docker" and re.search(rf"^EXPOSE {front['app_port']}$", DOCKERFILE, re.MULTILINE)
    assert {front["colorFrom"], front["colorTo"]} <= COLOURS and len(front["emoji"]) == 1
    assert len(front["short_description"]) <= 60
    assert "useradd --uid 1000" in DOCKERFILE


def test_what_is_published_has_one_name_and_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f"image: headsup:{project['version']}\n" in (DEPLOY / "compose.yaml").read_text()
    assert project["name"] == PACKAGE and {"headsup", PACKAGE} == set(project["scripts"])
    texts = [*ROOT.glob("*.md"), *ROOT.glob("docs/*"), *ROOT.glob("transformer/**/*.py"), *ROOT.glob("ui/**/*.py"),
             *ROOT.glob("pages/*.py"), ROOT / "pyproject.toml"]
    extras = {name for path in texts if path.suffix in (".md", ".py", ".ipynb", ".toml")
              for name in re.findall(r"([\w-]+)\[(?:app|cluster|gguf|huggingface|sign-in|spaces|tensorboard|test)\b",
                                     path.read_text()) if name.startswith("headsup")}
    assert extras == {PACKAGE}
