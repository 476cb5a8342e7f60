"""Input files: found by pattern, digested, opened whatever they are packed in."""

from __future__ import annotations

import gzip
import hashlib
import lzma
import os
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.fs
import pytest

from jobs.input import files
from jobs.input import storage as places
from jobs.input.reading import read
from jobs.input.streams import CHUNK
from monitoring_lib.config import parse_source
from monitoring_lib.errors import DataError

PACK = {
    "": lambda content: content,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": lambda content: pa.compress(content, "zstd", asbytes=True),
}


def noise(size: int) -> bytes:
    """Bytes that do not pack."""
    return random.Random(size).randbytes(size)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    names = [
        "a.csv", "b.csv.gz", "c.txt", ".hidden.csv", "_facts.json", "odd [1] *.csv", "day=1/x.csv",
        "day=2/x.csv", "day=2/deep/er/y.csv", "_tmp/z.csv", "day=1/_x.csv", "päth/ü.csv",
    ]  # fmt: skip
    for name in names:
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("data/a.csv", ["a.csv"]),
        ("data/*.csv", ["a.csv", "odd [1] *.csv"]),
        ("data/[ab].csv*", ["a.csv", "b.csv.gz"]),
        ("data/?.csv", ["a.csv"]),
        ("data/[!a]*.txt", ["c.txt"]),
        ("data/day=*/*.csv", ["day=1/x.csv", "day=2/x.csv"]),
        ("data/**/y.csv", ["day=2/deep/er/y.csv"]),
        ("data/**/x.csv", ["day=1/x.csv", "day=2/x.csv"]),
        ("data/day=2/**", ["day=2/deep/er/y.csv", "day=2/x.csv"]),
        ("data/day=*/**/*.csv", ["day=1/x.csv", "day=2/deep/er/y.csv", "day=2/x.csv"]),
        ("data/day=2", ["day=2/deep/er/y.csv", "day=2/x.csv"]),
        ("data/p*/*", ["päth/ü.csv"]),
        ("data/nothing-*.csv", []),
        ("nowhere/**", []),
        ("nowhere/a.csv", []),
    ],
)
def test_a_pattern_finds_its_files_and_no_hidden_ones(tree, pattern, names):
    assert [file.path for file in files.find(pattern, tree)] == [str(tree / "data" / name) for name in names]


def test_what_is_found_can_be_opened_whatever_its_name(tree):
    for file in files.find("data/**", tree):
        with files.open_stream(file.path) as stream:
            if not file.path.endswith(".gz"):
                assert stream.read() == Path(file.path).read_bytes()


def test_a_found_file_has_its_size_and_time(tree):
    os.utime(tree / "data" / "a.csv", ns=(0, 1_234_567_891_000))
    (found,) = files.find("data/a.csv", tree)
    assert (found.size, found.modified) == (5, 1_234_567_891)


def test_absolute_paths_and_uris_stand_for_themselves(tree):
    absolute = str(tree / "data" / "a.csv")
    assert files.find(absolute, Path("/")) == files.find("file://" + absolute, Path("/"))


def test_an_object_store_is_searched_and_read_like_a_disk(tree, monkeypatch):
    store = pa.fs.SubTreeFileSystem(str(tree), pa.fs.LocalFileSystem())
    monkeypatch.setattr(places, "_remote", lambda scheme, authority: (store, authority))
    found = files.find("s3a://data/day=*/**/*.csv", Path("/home"))
    assert [file.path for file in found] == [
        "s3a://data/day=1/x.csv", "s3a://data/day=2/deep/er/y.csv", "s3a://data/day=2/x.csv",
    ]  # fmt: skip
    assert files.digest(found[0].path) == hashlib.sha256(b"day=1/x.csv").hexdigest()
    with files.open_stream(found[1].path) as stream:
        assert stream.read() == b"day=2/deep/er/y.csv"


def test_an_object_store_is_the_one_of_the_environment(monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    system, path, before = places.locate("s3a://bucket-of-a-test/a/b.csv")
    assert (system.region, path, before) == ("eu-central-1", "bucket-of-a-test/a/b.csv", "s3a://")


def test_the_digest_is_of_the_content_alone(tree):
    copy = tree / "other name.csv"
    copy.write_bytes((tree / "data" / "a.csv").read_bytes())
    assert files.digest(str(copy)) == hashlib.sha256(b"a.csv").hexdigest() == files.digest(str(tree / "data/a.csv"))


@pytest.mark.parametrize("ending", PACK)
def test_a_stream_unpacks_by_the_ending_of_the_name(tmp_path, ending):
    content = noise(CHUNK) + b"text" * CHUNK
    path = tmp_path / f"x.csv{ending}"
    path.write_bytes(PACK[ending](content))
    with files.open_stream(str(path)) as stream:
        assert stream.peek(10) == content[:10]
        assert stream.peek(2 * CHUNK) == content[: 2 * CHUNK]
        assert stream.read(3) + stream.read() == content
        assert stream.read(1) == b""


def test_archives_one_after_another_are_one_content(tmp_path):
    for ending in (".gz", ".xz", ".zst"):
        path = tmp_path / f"x{ending}"
        path.write_bytes(PACK[ending](b"one,") + PACK[ending](b"two"))
        with files.open_stream(str(path)) as stream:
            assert stream.read() == b"one,two"


@pytest.mark.parametrize("ending", [".gz", ".xz", ".zst"])
@pytest.mark.parametrize("left", [0.3, 0.999])
def test_a_truncated_archive_is_a_data_error_that_names_it(tmp_path, ending, left):
    packed = PACK[ending](noise(3 * CHUNK))
    path = tmp_path / f"cut{ending}"
    path.write_bytes(packed[: int(len(packed) * left)])
    with files.open_stream(str(path)) as stream, pytest.raises(DataError, match=f"cut{ending}: is truncated"):
        stream.read()


@pytest.mark.parametrize("ending", [".gz", ".xz", ".zst"])
def test_a_corrupt_archive_is_a_data_error_that_names_it(tmp_path, ending):
    for number, content in enumerate((b"plain text, no archive" * 10, noise(5000))):
        path = tmp_path / f"bad{number}{ending}"
        path.write_bytes(content)
        with (
            files.open_stream(str(path)) as stream,
            pytest.raises(DataError, match="is corrupt or not what its name"),
        ):
            stream.read()


def test_a_flipped_byte_in_an_archive_is_noticed(tmp_path):
    for ending in (".gz", ".xz"):
        packed = bytearray(PACK[ending](noise(CHUNK)))
        packed[len(packed) // 2] ^= 0xFF
        path = tmp_path / f"flip{ending}"
        path.write_bytes(packed)
        with files.open_stream(str(path)) as stream, pytest.raises(DataError, match="is corrupt"):
            stream.read()


def test_a_file_that_is_gone_is_a_data_error(tmp_path):
    for call in (files.digest, files.open_stream):
        with pytest.raises(DataError, match=r"absent\.csv: is gone"):
            call(str(tmp_path / "absent.csv"))
    with pytest.raises(DataError, match="is a folder"):
        files.digest(str(tmp_path))


@pytest.mark.parametrize("format_", ["csv", "json", "parquet"])
def test_reading_a_file_that_is_gone_is_a_data_error(tmp_path, format_):
    source = parse_source(
        {
            "name": "s",
            "format": format_,
            "path": "x",
            "columns": {"time": "time"},
            "epoch": "1h",
            "origin": "2001-01-01",
        },
        "test",
    )
    with pytest.raises(DataError, match="is gone"):
        list(read(str(tmp_path / "absent"), source))


@pytest.mark.parametrize("size", [2 * CHUNK, 4 * CHUNK])
def test_a_file_that_changes_while_it_is_read_is_a_data_error(tmp_path, size):
    path = tmp_path / "x.csv"
    path.write_bytes(b"x" * 3 * CHUNK)
    with files.open_stream(str(path)) as stream:
        stream.read(CHUNK)
        os.truncate(path, size)
        with pytest.raises(DataError, match="changed while it was read"):
            stream.read()
