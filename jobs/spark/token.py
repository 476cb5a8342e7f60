"""The secret that a Spark Connect server asks its clients for: in a file that only its owner reads, in no command line.

Without one, anybody who reaches the port runs code as the server's owner, on loopback too. An address names the file,
``sc://localhost:15002/;token_file=/path``, so that nothing else has to be handed on.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from urllib.parse import quote, unquote

from monitoring_lib.errors import SparkUnavailable

SERVER_VARIABLE = "SPARK_CONNECT_AUTHENTICATE_TOKEN"
"""Environment variable by which a server is told its token: nobody but its owner can read it there."""
_PARAMETER = "token_file="


def make_token(path: Path) -> str:
    """A new token, and its file; whoever still holds the last one is refused."""
    token = secrets.token_urlsafe(32)
    write_private(path, token)
    return token


def write_private(path: Path, text: str) -> None:
    """A file that was never readable to others, not even for a moment."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    new.replace(path)


def with_token_file(remote: str, path: Path) -> str:
    """The address of a server whose token lies in a file."""
    return f"{remote}/;{_PARAMETER}{quote(str(path))}"


def token_file(remote: str) -> Path | None:
    """The file that an address names, None where it names none."""
    named = [unquote(one.removeprefix(_PARAMETER)) for one in remote.split(";") if one.startswith(_PARAMETER)]
    return Path(named[-1]) if named else None


def split_token(remote: str) -> tuple[str, str]:
    """The address without the file, and the token that lies in it; '' where none is named.

    The first is for people: a token never stands in a message.
    """
    address, *parameters = remote.split(";")
    path = token_file(remote)
    bare = ";".join([address, *(one for one in parameters if not one.startswith(_PARAMETER))])
    if path is None:
        return remote, ""
    try:
        return bare, path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise SparkUnavailable(
            f"the token of the Spark Connect server at {bare} cannot be read from {path} ({error.strerror});"
            " it is there while the server runs, for its owner alone"
        ) from error


def authorised(remote: str, token: str) -> str:
    """The address that a client of pyspark is given. The token goes as a header: pyspark would send it without TLS to
    the host `localhost` only, and between containers there is no TLS."""
    if not token:
        return remote
    return f"{remote.rstrip('/')}{';' if '/;' in remote else '/;'}authorization={quote(f'Bearer {token}', safe='')}"
