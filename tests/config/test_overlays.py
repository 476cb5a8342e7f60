"""Base and overlay: mappings merge, all else is replaced, and a fault names the file that said so."""

from __future__ import annotations

from pathlib import Path

from monitoring_lib import config
from monitoring_lib.epochs import Clock, parse_duration, parse_time

from .conftest import MONITOR, SOURCE

DAY = parse_duration("1d")


def test_an_overlay_replaces_scalars_and_lists_and_merges_mappings(conf):
    folder = conf(
        {
            "base/farwatch.yml": "storage: {coordinator: a, sites: b}\nalerts: {sinks: [log, 'file:x']}\n",
            "cluster/farwatch.yml": "storage: {sites: s3a://bucket/b/}\nalerts: {sinks: [log]}\n",
            "cluster/monitors/busiest.yml": "k: 3\n",
        }
    )
    base, cluster = config.load(folder), config.load(folder, "cluster")
    assert (base.settings.storage.sites, base.monitors["busiest"].params.k) == ("b", 10)
    assert (cluster.settings.storage.coordinator, cluster.settings.storage.sites) == ("a", "s3a://bucket/b")
    assert [sink.name for sink in cluster.settings.alerts.sinks] == ["log"]
    assert cluster.monitors["busiest"].params.k == 3


def test_an_overlay_adds_files_and_can_switch_a_check_off(conf):
    folder = conf(
        {
            "base/sources/flights.yml": SOURCE + "quality: {volume: {least: 0.5}, freshness: 2}\n",
            "local/sources/flights.yml": "quality: {volume: null}\n",
            "local/monitors/more.yml": MONITOR.replace("busiest", "more"),
        }
    )
    found = config.load(folder)
    assert sorted(found.monitors) == ["busiest", "more"]
    assert found.sources["flights"].quality.volume is None
    assert found.sources["flights"].quality.freshness == 2


def test_a_fault_names_the_file_that_had_the_last_word(conf):
    folder = conf({"local/monitors/busiest.yml": "# overlay\nk: 0\n"})
    (fault,) = config.faults(folder)
    assert fault.file.endswith("local/monitors/busiest.yml")
    assert fault.line == 2


def test_yaml_makes_no_guesses(conf):
    folder = conf(
        {
            "base/sources/flights.yml": SOURCE + "sites: [no, on, '1', 2001-01-01, '0x1F']\n",
            "base/farwatch.yml": "spark: {options: {a: true, b: 4, c: 1:30, d: 0x10}}\n",
        }
    )
    found = config.load(folder)
    assert found.sources["flights"].sites == ["no", "on", "1", "2001-01-01", "0x1F"]
    assert found.settings.spark.options == {"a": "true", "b": "4", "c": "1:30", "d": "0x10"}


def test_what_is_not_said_has_its_default(conf):
    found = config.load(conf())
    source, monitor = found.sources["flights"], found.monitors["busiest"]
    assert source.clock == Clock(parse_time("2001-01-01"), DAY)
    assert (source.schedule, source.skew, source.scale) == (DAY, DAY, 1)
    assert (source.time_format, source.time_zone) == ("auto", "UTC")
    assert (monitor.method, monitor.shadow, monitor.measure, monitor.item) == ("margins", (), "count", "item")
    assert (monitor.window, monitor.reset) == (None, None)
    assert found.settings.spark.mode == "local"


def test_a_name_is_by_default_that_of_the_file(conf):
    folder = conf({"base/monitors/other-name.yml": MONITOR.replace("name: busiest\n", "")})
    assert config.load(folder).monitors["other-name"].name == "other-name"


def test_a_monitor_becomes_an_ask_in_epochs(conf):
    text = MONITOR + "window: 7d\nmeasure: sum(value)\ntolerance: 0.5\n"
    folder = conf({"base/monitors/busiest.yml": text, "base/sources/flights.yml": SOURCE + "scale: 100\n"})
    found = config.load(folder)
    source, monitor = found.sources["flights"], found.monitors["busiest"]
    ask = monitor.ask(source)
    assert (ask.window.length, ask.window.reset, ask.scale, ask.params.k) == (7, None, 100, 10)
    chosen, shadows = monitor.method_objects(source)
    assert (chosen.name, shadows) == ("margins", ())
    assert chosen.ask == ask
    assert monitor.promise(source) == "valid within 0.5 (always)"


def test_counts_have_no_scale(conf):
    text = MONITOR + "reset: 2d\ntick: 6h\nconfidence: 0.9\n"
    found = config.load(conf({"base/monitors/busiest.yml": text, "base/sources/flights.yml": SOURCE + "scale: 100\n"}))
    ask = found.monitors["busiest"].ask(found.sources["flights"])
    assert (ask.scale, ask.window.length, ask.window.reset) == (1, None, 2)
    assert (ask.epoch, ask.tick, ask.ticks, ask.span, ask.confidence) == (DAY, DAY // 4, 4, None, 0.9)


def test_the_environment_says_which_folder_and_overlay():
    assert config.folder_and_environment({}) == (Path("conf"), "local")
    given = {"FARWATCH_CONF": "/etc/x", "FARWATCH_ENV": "docker"}
    assert config.folder_and_environment(given) == (Path("/etc/x"), "docker")


def test_the_shipped_configuration_is_sound_in_every_environment(project):
    for environment in ("base", "local", "cluster", "docker"):
        found = config.load(project / "conf", environment)
        assert len(found.monitors_of("cdn")) == len(list((project / "conf/base/monitors").glob("*.yml")))
    assert found.settings.storage.sites.startswith("s3a://")
    assert found.settings.spark.mode == "connect"
