"""What `deploy/` says: parsed, and held against the code; nothing here starts a container."""

import re
import subprocess

import pytest

from tests.server.conftest import ROOT, need_caddy
from ui.server import caddy

yaml = pytest.importorskip("yaml")
DEPLOY = ROOT / "deploy"


@pytest.fixture(scope="module")
def services() -> dict:
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]


def test_its_caddyfile_is_the_one_that_the_code_writes_and_caddy_takes_it(services, tmp_path):
    assert (DEPLOY / "Caddyfile").read_text() == caddy.for_compose()
    need_caddy()
    workers = services["caddy"]["environment"]["HEADSUP_WORKERS"]
    done = subprocess.run([caddy.program(), "adapt", "--adapter", "caddyfile", "--config", DEPLOY / "Caddyfile"],
                          capture_output=True, text=True, env=caddy.environment(tmp_path) | {
                              "HEADSUP_NAME": "heads.example.org", "HEADSUP_WORKERS": workers})
    assert done.returncode == 0, done.stderr
    assert done.stdout.count('"dial":"app:8601"') == done.stdout.count('"dial":"app:8602"') == 2
    assert '"host":["heads.example.org"]' in done.stdout and '"listen":[":443"]' in done.stdout


def test_the_proxy_knows_as_many_workers_as_there_are(services):
    command = services["app"]["command"]
    count = int(command[command.index("--workers") + 1])
    assert services["caddy"]["environment"]["HEADSUP_WORKERS"].split() == [f"app:{8601 + one}" for one in range(count)]
    assert "--proxy-elsewhere" in (DEPLOY / "Dockerfile").read_text()


def test_no_service_may_do_or_write_more_than_it_needs(services):
    for name, service in services.items():
        assert service["read_only"] and service["cap_drop"] == ["ALL"], name
        assert int(service["logging"]["options"]["max-size"].removesuffix("m")) <= 100, name
        assert service["security_opt"] == ["no-new-privileges:true"] and not service.get("privileged"), name
    assert services["app"].get("ports") is None and services["app"].get("cap_add") is None
    assert re.fullmatch(r"caddy:\d+\.\d+\.\d+", services["caddy"]["image"])
    assert re.search(r"^USER headsup$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)


def test_what_the_image_is_built_of_is_there():
    listed = [line[1:] for line in (DEPLOY / "Dockerfile.dockerignore").read_text().split() if line.startswith("!")]
    assert all((ROOT / name).exists() for name in listed)
    wanted = re.search(r'only-include = \[(.*?)\]', (ROOT / "pyproject.toml").read_text(), re.DOTALL)[1]
    assert set(re.findall(r'"([^"]+)"', wanted)) <= {*listed, ".streamlit/config.toml"}
