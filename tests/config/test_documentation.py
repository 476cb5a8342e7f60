"""docs/configuration.md names every key, and its examples are read by the very code it explains."""

from __future__ import annotations

import re

import pytest
import yaml
from pydantic import BaseModel

from monitoring_lib import config, protocols
from monitoring_lib.methods import Method

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


@pytest.mark.parametrize("method", protocols.methods().values(), ids=lambda method: method.__name__)
def test_the_page_of_a_question_names_its_keys_and_every_method_with_its_options(
    page: str, project, method: type[Method]
):
    question = method.question.name
    [linked] = re.findall(rf"^\| `{question}` \| \[.*\]\((\S+)\) \|$", page, re.MULTILINE)
    text = (project / "docs" / linked).read_text("utf-8")
    keys = [key.rstrip("_") for key in (*method.question.Params.model_fields, *method.Options.model_fields)]
    assert [word for word in (method.name, *keys) if not re.search(rf"\b{word}\b", text)] == []


@pytest.mark.parametrize("question", protocols.questions())
def test_the_monitor_on_the_page_of_a_question_can_be_pasted(page: str, project, tmp_path, question: str):
    [linked] = re.findall(rf"^\| `{question}` \| \[.*\]\((\S+)\) \|$", page, re.MULTILINE)
    text = (project / "docs" / linked).read_text("utf-8")
    [monitor] = re.findall(r"```yaml\n(question: .*?)```", text, re.DOTALL)
    keys = yaml.safe_load(monitor)
    columns = dict.fromkeys(("time", "site", "item", "value", keys.get("by", "item"), keys.get("item", "item")))
    source = {"format": "csv", "path": "rows-*.csv", "columns": {name: name for name in columns}}
    source |= {"epoch": "1h", "tick": "1s", "origin": "2026-01-01"}
    for name, content in (("monitors/pasted", monitor), (f"sources/{keys['source']}", yaml.safe_dump(source))):
        path = tmp_path / "base" / f"{name}.yml"
        path.parent.mkdir(parents=True)
        path.write_text(content, "utf-8")
    assert keys["question"] == question
    assert [str(fault) for fault in config.faults(tmp_path, "local")] == []


def test_links_between_the_pages_lead_somewhere(project):
    pages = [project / "README.md", *(project / "docs").glob("*.md")]
    links = [
        (path, link) for path in pages for link in re.findall(r"\]\((?!http|#)([^)#\s]+)", path.read_text("utf-8"))
    ]
    assert [f"{path.name}: {link}" for path, link in links if not (path.parent / link).exists()] == []


def test_modules_that_the_pages_name_are_there(project):
    module = re.compile(r"\b(?:jobs|monitoring_lib|farwatch_airflow|benchmarks|tests)/[\w/]+\.py\b")
    pages = [project / "README.md", *(project / "docs").glob("*.md")]
    named = [(path, name) for path in pages for name in module.findall(path.read_text("utf-8"))]
    recipe = re.compile(r"(monitoring_lib/protocols|tests/laws/questions)/total\b")  # the family that the README makes
    wrong = [name for _, name in named if not recipe.match(name) and not (project / name).exists()]
    assert wrong == []
