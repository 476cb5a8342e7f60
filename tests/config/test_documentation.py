"""docs/configuration.md names every key, and its examples are read by the very code it explains."""

from __future__ import annotations

import re

import pytest
import yaml
from pydantic import BaseModel

from monitoring_lib import config

MODELS = (
    config.Airflow, config.Settings, config.Storage, config.Spark, config.Alerts, config.Source, config.CsvOptions,
    config.Quality, config.Volume, config.Severities, config.ValueColumn, config.Unpivot, config.MonitorKeys,
    config.Late, config.Drift, config.Email, config.Notifier,
)  # fmt: skip


@pytest.fixture(scope="module")
def page(project) -> str:
    return (project / "docs" / "configuration.md").read_text("utf-8")


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_key_stands_in_a_table_of_the_page(page: str, model: type[BaseModel]):
    documented = set(re.findall(r"^\| `([\w.]+)` \|", page, re.MULTILINE))
    keys = {key.rpartition(".")[2] for key in documented}
    assert set(model.model_fields) <= keys


def test_every_key_of_every_model_has_a_description():
    missing = [f"{model.__name__}.{key}" for model in MODELS for key, field in model.model_fields.items()
               if not field.description]  # fmt: skip
    assert missing == []


def test_the_examples_of_the_page_are_sound(page: str, tmp_path):
    examples = re.findall(r"```yaml\n# conf/(\S+)\n(.*?)```", page, re.DOTALL)
    assert len(examples) >= 3
    for name, text in examples:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        assert yaml.safe_load(text)
    assert [str(fault) for fault in config.faults(tmp_path, "cluster")] == []
