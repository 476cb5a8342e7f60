"""Every fault of every file, at once, with file, line, field, value and remedy."""

from __future__ import annotations

import pytest

from monitoring_lib import config
from monitoring_lib.documents.faults import MOST_SHOWN
from monitoring_lib.errors import ConfigError, ExitCode

from .conftest import MONITOR, SOURCE


def only_fault(folder, environment="local"):
    found = config.faults(folder, environment)
    assert len(found) == 1, [str(fault) for fault in found]
    return found[0]


def assert_explained(conf, file, sound, line, field, problem, remedy):
    """The line in place of the sound one with its key is the only fault, and is found where it stands."""
    key = line.partition(":")[0]
    kept = "".join(f"{old}\n" for old in sound.splitlines() if not old.startswith(key + ":"))
    fault = only_fault(conf({file: f"{kept}{line}\n"}))
    assert fault.field == field
    assert problem in fault.problem
    assert remedy in fault.remedy
    assert fault.line == len(kept.splitlines()) + 1


def test_a_sound_folder_has_no_faults(conf):
    assert config.faults(conf()) == []


def test_a_fault_names_file_line_field_value_and_remedy(conf):
    folder = conf({"base/monitors/busiest.yml": MONITOR + "tolerence: 50\n"})
    fault = only_fault(folder)
    assert fault.file.endswith("conf/base/monitors/busiest.yml")
    assert (fault.line, fault.field, fault.value) == (5, "tolerence", "50")
    assert (fault.problem, fault.remedy) == ("unknown key", "did you mean 'tolerance'?")
    assert str(fault).endswith(
        "conf/base/monitors/busiest.yml:5: tolerence: 50: unknown key; did you mean 'tolerance'?"
    )


def test_faults_of_all_files_come_at_once(conf):
    folder = conf(
        {
            "base/farwatch.yml": "storage: {coordinater: x}\nspark: {mode: remote}\n",
            "base/sources/flights.yml": SOURCE.replace("1d", "1 day") + "quality: {volume: {leest: 0.5}}\n",
            "base/monitors/busiest.yml": MONITOR.replace("k: 10", "k: 0") + "reset: 1d\nwindow: 7d\n",
            "local/monitors/other.yml": "question: topk\nsource: flights\n",
        }
    )
    found = {(fault.file.rpartition("conf/")[2], fault.line, fault.field) for fault in config.faults(folder)}
    assert found == {
        ("base/farwatch.yml", 1, "storage.coordinater"),
        ("base/farwatch.yml", 2, "spark.mode"),
        ("base/sources/flights.yml", 5, "epoch"),
        ("base/sources/flights.yml", 7, "quality.volume.leest"),
        ("base/monitors/busiest.yml", 4, "k"),
        ("base/monitors/busiest.yml", 5, "reset"),
        ("local/monitors/other.yml", 1, "question"),
    }
    with pytest.raises(ConfigError, match="the configuration has 7 faults:") as caught:
        config.load(folder)
    assert caught.value.exit_code == ExitCode.WRONG_USE
    assert len(str(caught.value).splitlines()) == 8


def test_many_faults_are_cut_and_counted(conf):
    wrong = "".join(f"key{number}: 1\n" for number in range(MOST_SHOWN + 7))
    folder = conf({"base/monitors/busiest.yml": MONITOR + wrong})
    assert len(config.faults(folder)) == MOST_SHOWN + 7
    lines = config.fault_lines(config.faults(folder))
    assert len(lines) == MOST_SHOWN + 1
    assert lines[-1] == "... and 7 more"


@pytest.mark.parametrize(
    ("line", "field", "problem", "remedy"),
    [
        ("source: flight", "source", "there is no such source", "did you mean 'flights'?"),
        ("method: cachng", "method", "'cachng' is no method for 'top-k'", "did you mean 'caching'?"),
        ("shadow: [nosuch]", "shadow[0]", "'nosuch' is no method for 'top-k'", "caching"),
        ("shadow: [margins]", "shadow", "shadows its own method 'margins'", "take it out"),
        ("window: 36h", "window", "is not a whole number of epochs of 1d", "write 1d or 2d"),
        ("reset: 1h", "reset", "is not a whole number of epochs of 1d", "write 1d"),
        ("measure: sum(bytes)", "measure", "the source 'flights' has no value 'bytes'", "known: value"),
        ("measure: mean(value)", "measure", "cannot be added up over epochs and sites", "write count or sum(value)"),
        ("measure: median(value)", "measure", "is not a measure", "write count, sum(value)"),
        ("by: site", "by", "top-k is about items, not pairs", "`item: concat(item, '/', site)`"),
        ("where: valeu > 3", "where", "the source 'flights' has no column 'valeu'", "did you mean 'value'?"),
        ("where: value >", "where", "position 8 of 'value >': the text ends", ""),
        ("where: item > 3", "where", "compares a text with a number", "write number(item)"),
        ("tick: 7h", "tick", "does not divide the epoch of 1d", "whole number"),
        ("tick: 2d", "tick", "does not divide the epoch of 1d", "whole number"),
        ("confidence: 1", "confidence", "is not valid", "it should be less than 1"),
        ("confidence: 0", "confidence", "is not valid", "it should be greater than 0"),
        ("item: concat(item, '>', dst)", "item", "has no column 'dst'", "known: item, site"),
        ("item: lowr(item)", "item", "unknown function 'lowr'", "did you mean 'lower'?"),
        ("item: time", "item", "has no column 'time'", ""),
        ("options: {caching: {speed: 1}}", "options.caching.speed", "unknown key", "drop it"),
        ("options: {requery: {}}", "options.requery", "the monitor does not use this method", "add it to `shadow`"),
        ("options: {nosuch: {}}", "options.nosuch", "'nosuch' is no method for 'top-k'", "caching"),
        ("window: seven", "window", "is not a duration", "write number"),
        ("window: 1000 events", "window", "which arrivals of all sites are the last ones", "write a length of time"),
        ("tolerance: -1", "tolerance", "is not valid", "it should be greater than or equal to 0"),
        ("tolerance: much", "tolerance", "is not valid", "decimal"),
        ("name: Busiest Objects", "name", "is not a name", "a-z"),
        ("title: [a]", "title", "is not valid", "string"),
        ("alert: {when: foo > 1}", "alert[0].when", "there is no column 'foo'", "known: estimate, high, key, low"),
        ("alert: [{when: high >}]", "alert[0].when", "position 7 of 'high >': the text ends", ""),
        ("alert: {when: key > 1}", "alert[0].when", "compares a text with a number", "write number(key)"),
        ("alert: {when: high}", "alert[0].when", "holds a number, not a truth value", "known: partial"),
        ("alert: {key: x}", "alert[0].when", "is missing", "add `when: ...`"),
        ("alert: {when: high > 1, for: 0}", "alert[0].for", "is not valid", "greater than or equal to 1"),
    ],
)
def test_a_wrong_line_of_a_monitor_is_explained(conf, line, field, problem, remedy):
    assert_explained(conf, "base/monitors/busiest.yml", MONITOR, line, field, problem, remedy)


@pytest.mark.parametrize(
    ("line", "field", "problem", "remedy"),
    [
        ("schedule: 36h", "schedule", "is not a whole number of epochs of 1d", "write 1d or 2d"),
        ("format: cvs", "format", "is not valid", "'csv', 'json', 'parquet' or 'delta'"),
        ("origin: 31/01/2001", "origin", "is not an ISO 8601 time", "write 2001-01-31"),
        ("epoch: 10", "epoch", "is not a duration", "10s"),
        ("columns: {time: t, site: s, item: concat(a}", "columns.item", "position 9", ""),
        ("columns: {time: t, item: i}", "columns.site", "is missing", "add `site: ...`"),
        ("columns: {site: s, item: i}", "columns.time", "is missing", "add `time: ...`"),
        ("time_format: iso", "time_format", "is neither a pattern", "auto"),
        ('time_format: "%Q"', "time_format", "is not a pattern", "%Y"),
        ('time_format: "%d/%m %Z"', "time_format", "%Z", "%z"),
        ("time_zone: Europe/Berlinn", "time_zone", "is no time zone", "Europe/Berlin"),
        ("scale: 0", "scale", "is not valid", "greater than or equal to 1"),
        ("csv: {header: false}", "csv.header", "is neither true nor a list of names", "names"),
        ("csv: {delimiter: ab}", "csv.delimiter", "is not valid", "at most 1 character"),
        ("sites: [LAS, 7]", "sites", "not a text", "in quotes"),
        ("sites: [LAS, LAS]", "sites", "names a site twice", "keep one"),
        ("skew: soon", "skew", "is not a duration", "10s"),
        ("tick: 7h", "tick", "does not divide the epoch of 1d", "whole number"),
        ("values: {value: v}", "values.value", "stands in `columns`", "move it there"),
        ("values: {item: v}", "values.item", "is a column of this source already", "name of its own"),
        ("values: {wind: concat(a}", "values.wind.column", "position 9", ""),
        ("values: {wind: {column: w, scale: 0}}", "values.wind.scale", "is not valid", "greater than or equal to 1"),
        ("unpivot: c9..c0", "unpivot.columns", "is no range of columns", "c0..c287"),
        ("unpivot: c0..d9", "unpivot.columns", "is no range of columns", "c0..c287"),
        ("unpivot: c00..c100", "unpivot.columns", "different lengths", "same number of digits"),
        ("unpivot: [a, a]", "unpivot.columns", "names a column twice", "keep one"),
        ("unpivot: c0..c999999", "unpivot.columns", "names 1000000 columns", "check its ends"),
        ("quality: {freshness: -1}", "quality.freshness", "is not valid", "greater than or equal to 0"),
        ("quality: {nulls: {valu: 0.1}}", "quality.nulls.valu", "is no column", "did you mean 'value'?"),
        ("quality: {nulls: {value: 2}}", "quality.nulls.value", "is not valid", "less than or equal to 1"),
        ("quality: {ranges: {value: [5, 1]}}", "quality.ranges.value", "the lowest lies above", "turn them"),
        ("quality: {ranges: {item: [1, 2]}}", "quality.ranges.item", "is not valid", "'value'"),
        ("quality: {unknown_sites: drop}", "quality.unknown_sites", "is not valid", "'set_aside'"),
        ("quality: {severity: {volume: low}}", "quality.severity.volume", "is not valid", "'warning'"),
    ],
)
def test_a_wrong_line_of_a_source_is_explained(conf, line, field, problem, remedy):
    assert_explained(conf, "base/sources/flights.yml", SOURCE, line, field, problem, remedy)


def test_a_wide_row_has_its_values_in_its_columns(conf):
    fault = only_fault(conf({"base/sources/flights.yml": SOURCE + "unpivot: c0..c9\n"}))
    assert (fault.field, fault.problem) == ("columns.value", "cannot stand beside `unpivot`")
    sound = SOURCE.replace(", value: delay", "")
    fault = only_fault(conf({"base/sources/flights.yml": sound + "unpivot: {columns: [a, b], name: item}\n"}))
    assert (fault.field, fault.value) == ("unpivot.name", "'item'")


def test_a_sum_needs_a_value(conf):
    folder = conf(
        {
            "base/sources/flights.yml": SOURCE.replace(", value: delay", ""),
            "base/monitors/busiest.yml": MONITOR + "measure: sum(value)\n",
        }
    )
    fault = only_fault(folder)
    assert (fault.line, fault.field) == (5, "measure")
    assert "'flights' has no value" in fault.problem


def test_a_monitor_of_a_faulty_source_is_not_blamed_for_it(conf):
    folder = conf({"base/sources/flights.yml": SOURCE.replace("epoch: 1d", "epoch: soon")})
    assert only_fault(folder).field == "epoch"


def test_missing_keys_say_what_they_are_for(conf):
    fault = only_fault(conf({"base/monitors/busiest.yml": MONITOR.replace("k: 10\n", "")}))
    assert (fault.field, fault.problem, fault.line) == ("k", "is missing", 1)
    assert fault.remedy == "add `k: ...` (how many items the answer has)"
    fault = only_fault(conf({"base/monitors/busiest.yml": MONITOR.replace("source: flights\n", "")}))
    assert (fault.field, fault.problem) == ("source", "is missing")


def test_two_files_of_one_name_are_a_fault(conf):
    folder = conf({"base/monitors/also.yml": MONITOR})
    fault = only_fault(folder)
    assert fault.file.endswith("busiest.yml")
    assert "also.yml has this name too" in fault.problem


def test_secrets_are_not_shown(conf):
    folder = conf({"base/farwatch.yml": "storage: {options: {AWS_SECRET_ACCESS_KEY: [s3cr3t]}}\n"})
    fault = only_fault(folder)
    assert "s3cr3t" not in str(fault)
    assert fault.value == "(hidden)"


def test_long_values_are_cut(conf):
    fault = only_fault(conf({"base/monitors/busiest.yml": MONITOR + f"measure: {'x' * 5000}\n"}))
    assert len(str(fault)) < 500


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("name: a\nname: b\n", 2, "the key stands here again, first in line 1"),
        ("name: a\n  k: 1\n", 2, "is not YAML"),
        ("name: [a\n", 2, "is not YAML"),
        ("- a\n- b\n", 1, "is not a mapping"),
        ("a: &x 1\nb: *x\n", 2, "aliases are not read"),
        ("k: !!python/object:os.system 1\n", 1, "the tag"),
        ("? [a, b]\n: 1\n", 1, "a key is a list or a mapping"),
        ("a: " + "[" * 40 + "]" * 40 + "\n", 1, "is nested deeper"),
        ("a: 1\n---\nb: 2\n", 2, "is not YAML"),
        ("a: \x07\n", None, "is not YAML"),
    ],
)
def test_yaml_that_cannot_be_meant_is_a_fault_with_its_line(conf, text, line, problem):
    found = config.faults(conf({"base/farwatch.yml": text}))
    assert any(fault.line == line and problem in fault.problem for fault in found), list(map(str, found))


def test_a_file_that_is_not_utf8_is_a_fault_with_its_line(conf):
    folder = conf()
    (folder / "base" / "farwatch.yml").write_bytes(b"storage:\n  sites: caf\xe9\n")
    fault = only_fault(folder)
    assert (fault.line, fault.problem) == (2, "is not UTF-8")


def test_files_that_nobody_reads_are_faults(conf):
    folder = conf({"base/monitors/late.yaml": MONITOR, "base/monitor/x.yml": MONITOR, "base/settings.yml": ""})
    found = {fault.file.rpartition("conf/")[2]: fault.remedy for fault in config.faults(folder)}
    assert found["base/monitors/late.yaml"] == "rename it to late.yml"
    assert "did you mean 'monitors'?" in found["base/monitor/x.yml"]
    assert "farwatch.yml" in found["base/settings.yml"]


def test_a_missing_folder_or_environment_is_a_fault(conf, tmp_path):
    assert "FARWATCH_CONF" in only_fault(tmp_path / "nowhere").remedy
    fault = only_fault(conf({"cluster/farwatch.yml": ""}), "clster")
    assert fault.remedy == "did you mean 'cluster'?"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("{retry: 1}", "airflow.retry: 1: unknown key; did you mean 'retries'?"),
        ("{catchup: yes}", "airflow.catchup: 'yes': is not valid; it should be a valid boolean"),
        ("{retries: -1}", "airflow.retries: -1: is not valid; it should be greater than or equal to 0"),
        ("{timeout: 30}", "airflow.timeout: 30: is not a duration; write a number and a unit: 10s, 5m, 1h, 1d"),
        ("{retry_delay: soon}", "airflow.retry_delay: 'soon': 'soon' is not a duration; write numbers with units"),
        ("{pool: ''}", "airflow.pool: '': is not valid; String should have at least 1 character"),
    ],
)
def test_what_is_said_to_the_scheduler_is_checked_too(conf, said, told):
    folder = conf({"base/sources/flights.yml": f"{SOURCE}airflow: {said}\n"})
    (fault,) = config.faults(folder)
    assert told in str(fault)


def test_a_rule_is_one_or_a_list_and_a_number_names_a_row_as_it_stands(conf):
    rules = "alert: {when: high > 1000, key: 443, for: 2, severity: critical}\n"
    (rule,) = config.load(conf({"base/monitors/busiest.yml": MONITOR + rules})).monitor("busiest").alert
    assert (rule.when, rule.key, rule.for_, rule.severity) == ("high > 1000", "443", 2, "critical")
    both = "alert: [{when: partial}, {when: rank = 1 and estimate < 3}]\n"
    rules_of = config.load(conf({"base/monitors/busiest.yml": MONITOR + both})).monitor("busiest").alert
    assert [(rule.key, rule.for_, rule.severity) for rule in rules_of] == [(None, 1, "warning")] * 2
