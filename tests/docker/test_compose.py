"""No Docker engine is needed here: the files are held against each other and against the configuration."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from monitoring_lib.config import load

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docker" / "compose.yml").read_text()


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return yaml.safe_load(TEXT)


def test_every_service_is_built_here_or_comes_from_a_pinned_image(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        tag = service["image"].partition(":")[2]
        assert tag, name
        assert tag != "latest", name
        if "build" in service:
            folder = ROOT / "docker" / service["build"]["context"]
            assert (folder / service["build"]["dockerfile"]).is_file()


def test_services_wait_only_for_services_that_are_there(compose: dict[str, Any]) -> None:
    services = compose["services"]
    for name, service in services.items():
        for other in service.get("depends_on", []):
            assert other in services, (name, other)
            conditions = service["depends_on"]
            if isinstance(conditions, dict) and conditions[other]["condition"] == "service_healthy":
                assert "healthcheck" in services[other], (name, other)


def test_ports_are_published_on_loopback_only(compose: dict[str, Any]) -> None:
    published = [port for service in compose["services"].values() for port in service.get("ports", [])]
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_every_variable_is_explained_and_no_secret_has_a_default() -> None:
    used = set(re.findall(r"(?<!\$)\$\{([A-Z_]+)", TEXT))
    example = (ROOT / "docker" / ".env.example").read_text()
    explained = dict(re.findall(r"^([A-Z_]+)=(.*)$", example, re.MULTILINE))
    assert used == set(explained)
    for name in used:
        if name.endswith(("PASSWORD", "KEY", "SECRET", "USER")):
            assert explained[name] == ""
            assert f"${{{name}:?" in TEXT


def test_the_configuration_of_this_environment_names_the_services(compose: dict[str, Any]) -> None:
    settings = load(ROOT / "conf", "docker").settings
    services = compose["services"]
    assert settings.spark.mode == "connect"
    assert urlsplit(settings.spark.remote or "").hostname in services
    assert urlsplit(str(settings.storage.options["AWS_ENDPOINT_URL"])).hostname in services
    bucket = urlsplit(settings.storage.coordinator).netloc
    assert any(f"store/{bucket}" in str(service.get("command")) for service in services.values())


def test_what_is_mounted_for_the_sources_is_seen_by_spark_too(compose: dict[str, Any]) -> None:
    for name in ("airflow-scheduler", "spark-worker", "spark-connect"):
        mounts = [str(volume) for volume in compose["services"][name]["volumes"]]
        assert any(":/opt/farwatch/data:ro" in mount for mount in mounts), name


def test_the_s3_client_is_of_the_hadoop_that_pyspark_brings() -> None:
    pyspark = pytest.importorskip("pyspark")
    [jar] = Path(pyspark.__file__).parent.glob("jars/hadoop-client-api-*.jar")
    version = jar.stem.rpartition("-")[2]
    assert f"org.apache.hadoop:hadoop-aws:{version}" in TEXT


def test_the_image_gets_all_that_its_set_up_needs() -> None:
    ignored = (ROOT / "docker" / "Dockerfile.dockerignore").read_text().split()
    taken = {line[1:] for line in ignored if line.startswith("!")}
    assert all((ROOT / name).exists() for name in taken)
    assert {
        "tools",
        "jobs",
        "monitoring_lib",
        "farwatch_airflow",
        "dags",
        "conf",
        "requirements.lock",
        "pyproject.toml",
    } <= taken


def test_the_image_installs_nothing_that_is_not_locked() -> None:
    text = (ROOT / "docker" / "Dockerfile").read_text()
    assert "make setup" in text
    assert "pip install" not in text
