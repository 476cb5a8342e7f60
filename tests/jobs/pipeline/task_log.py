"""Which tasks a Spark driver has given to which executor, and which it has lost: as the driver's own log says it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from jobs.spark.options import QUICK_START

_SETTINGS = """\
rootLogger.level = error
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{{HH:mm:ss}} %p %c{{1}}: %m%n%ex
appender.tasks.type = File
appender.tasks.name = tasks
appender.tasks.fileName = {file}
appender.tasks.append = false
appender.tasks.layout.type = PatternLayout
appender.tasks.layout.pattern = %m%n
logger.tasks.name = org.apache.spark.scheduler.TaskSetManager
logger.tasks.level = info
logger.tasks.additivity = false
logger.tasks.appenderRef.tasks.ref = tasks
"""


@dataclass
class TaskLog:
    """Of the driver that was started last."""

    folder: Path

    def java_options(self) -> str:
        """What a driver has to be started with."""
        settings = self.folder / "log4j2.properties"
        settings.write_text(_SETTINGS.format(file=self.file))
        return f"{QUICK_START} -Dlog4j2.configurationFile={settings.as_uri()}"

    @property
    def file(self) -> Path:
        return self.folder / "tasks.log"

    def running(self, executor: str) -> set[str]:
        """Tasks that were given to an executor and have not ended."""
        ended = self._found(r"^(?:Finished|Lost) task .*\(TID (\d+)\)")
        return self._found(rf"^Starting task .*\(TID (\d+)\) .*executor {executor},") - ended - self.lost()

    def lost(self) -> set[str]:
        """Tasks that ended because their executor did; Spark says so in one way or the other."""
        return self._found(r"^Lost task .*\(TID (\d+)\) .*: ExecutorLostFailure") | self._found(
            r"^task .*\(TID (\d+)\) failed because while it was being computed, its executor exited"
        )

    def _found(self, pattern: str) -> set[str]:
        text = self.file.read_text(errors="replace") if self.file.exists() else ""
        return set(re.findall(pattern, text, re.MULTILINE))
