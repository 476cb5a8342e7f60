"""Methods are found by folder and by entry point; clashes and broken offers are refused with the remedy."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from monitoring_lib import protocols
from monitoring_lib.errors import UsageError
from monitoring_lib.methods import Method, Question
from monitoring_lib.protocols import find_method, find_question, methods, questions
from monitoring_lib.protocols.topk.caching import Caching
from monitoring_lib.suggest import nearest
from tests.installing import offer as install_offer

Offer = Callable[[str, str], None]

OTHERS_METHOD = """
from monitoring_lib.protocols.topk.caching import Caching
class Echoes(Caching):
    name = "{name}"
"""
OTHER_QUESTION = """
from monitoring_lib.protocols.topk.caching import Caching
from monitoring_lib.protocols.topk.question import TopK
class Other(TopK):
    pass
class Echoes(Caching):
    name = "echoes"
    question = Other()
"""


@pytest.fixture
def offer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Offer]:
    """Installs a package that offers ``module:Echoes`` under the entry-point group."""

    def install(module: str, source: str) -> None:
        (tmp_path / f"{module}.py").write_text(source)
        install_offer(tmp_path, module, [f"{module}:Echoes"])

    known = set(sys.modules)
    monkeypatch.syspath_prepend(tmp_path)
    methods.cache_clear()
    yield install
    methods.cache_clear()
    for module in set(sys.modules) - known:
        if module.startswith("others_"):
            del sys.modules[module]


def test_the_group_has_the_documented_name() -> None:
    assert protocols.ENTRY_POINTS == "farwatch.methods"


def test_families_are_found_by_folder() -> None:
    folders = [path for path in Path(protocols.__file__).parent.iterdir() if (path / "__init__.py").exists()]
    families = {method.__module__.split(".")[2] for method in methods().values()}
    assert families == {folder.name for folder in folders}
    assert methods()["top-k", "caching"] is Caching


def test_what_is_found_is_whole() -> None:
    for (question, name), method in methods().items():
        assert issubclass(method, Method)
        assert (method.question.name, method.name) == (question, name)
        assert method.letters
        assert method.__doc__
    for name, question in questions().items():
        assert isinstance(question, Question)
        assert (name, question.default_method) in methods()
        assert question.__doc__


def test_a_package_adds_a_method_through_the_entry_point(offer: Offer) -> None:
    offer("others_echo", OTHERS_METHOD.format(name="echoes"))
    found = find_method("top-k", "echoes")
    assert found.__module__ == "others_echo"
    assert find_method("top-k", "caching") is Caching
    assert set(questions()) == {question for question, _ in methods()}


def test_an_offer_of_what_the_folder_has_already_is_no_clash(offer: Offer) -> None:
    offer("others_same", "from monitoring_lib.protocols.topk.caching import Caching as Echoes\n")
    assert find_method("top-k", "caching") is Caching


def test_two_methods_of_one_name_are_refused_with_both_packages_named(offer: Offer) -> None:
    offer("others_clash", OTHERS_METHOD.format(name="caching"))
    with pytest.raises(UsageError) as refusal:
        methods()
    text = str(refusal.value)
    assert "two packages offer the method 'caching' for 'top-k'" in text
    assert "others_clash" in text
    assert "monitoring_lib.protocols.topk.caching" in text
    assert "uninstall one" in text


def test_two_packages_that_clash_with_each_other_are_refused_too(offer: Offer) -> None:
    offer("others_one", OTHERS_METHOD.format(name="echoes"))
    offer("others_two", OTHERS_METHOD.format(name="echoes"))
    with pytest.raises(UsageError, match=r"(?s)others_\w+ and others_\w+"):
        methods()


def test_two_questions_of_one_name_are_refused(offer: Offer) -> None:
    offer("others_asked", OTHER_QUESTION)
    with pytest.raises(UsageError, match="others_asked mean different questions by 'top-k'"):
        methods()


@pytest.mark.parametrize("source", ["import no_such_module_at_all\n", "Echo = 1\n"])
def test_an_offer_that_cannot_be_loaded_is_named(offer: Offer, source: str) -> None:
    offer("others_broken", source)
    with pytest.raises(UsageError, match=r"echoes = others_broken:Echoes .* cannot be loaded .*uninstall"):
        methods()


@pytest.mark.parametrize("source", ["Echoes = 7\n", "class Echoes: pass\n"])
def test_an_offer_that_is_no_method_is_named(offer: Offer, source: str) -> None:
    offer("others_odd", source)
    with pytest.raises(UsageError, match=r"echoes = others_odd:Echoes .* is no Method class"):
        methods()


def test_unknown_names_come_with_the_nearest_known_one() -> None:
    with pytest.raises(UsageError, match="unknown question 'topk'; did you mean 'top-k'"):
        find_question("topk")
    with pytest.raises(UsageError, match="'cacheing' is no method for 'top-k'; did you mean 'caching'"):
        find_method("top-k", "cacheing")
    with pytest.raises(UsageError, match=r"'caching' is no method for 'nothing'$"):
        find_method("nothing", "caching")
    assert find_question("top-k").name == "top-k"


def test_suggestions_list_what_there_is_where_nothing_is_near() -> None:
    assert nearest("zzz", ["b", "a"]) == "; known: a, b"
    assert nearest("zzz", []) == ""
    assert nearest("tolerence", ["tolerance", "k"]) == "; did you mean 'tolerance'?"


def test_finding_methods_starts_no_engine() -> None:
    heavy = "pyspark deltalake airflow great_expectations duckdb delta"
    found = f"set(sys.modules) & set('{heavy}'.split())"
    code = f"import sys, monitoring_lib.protocols as p; p.methods(); print({found})"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "set()"
