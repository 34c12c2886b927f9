"""What exists: instances, and the databases in them. One small file, replaced as a whole."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import threading
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from google.cloud.spanner_admin_instance_v1 import Instance as ProtoPlusInstance
from google.protobuf import json_format

from lab_helpers.sandbox.spanner.database import Database
from lab_helpers.sandbox.spanner.errors import (
    already_exists,
    database_not_found,
    instance_not_found,
    invalid,
    storage_failed,
)

Instance = ProtoPlusInstance.pb()

_INSTANCE_ID = re.compile(r"[a-z][-a-z0-9]{0,62}[a-z0-9]")
_DATABASE_ID = re.compile(r"[a-z][-_a-z0-9]{0,28}[a-z0-9]")


class Instances:
    """Names on disk, open databases in memory. No file is named by a client.

    Raises OSError where the folder cannot be used: not writable, damaged, or used by another.
    """

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir
        self._file = data_dir / "instances.json"
        self._guard = threading.RLock()
        data_dir.mkdir(parents=True, exist_ok=True)
        self._lock = FileLock(data_dir / "in-use.lock")
        self._instances: dict[str, Any] = {}
        self._files: dict[str, str] = {}
        self._open: dict[str, Database] = {}
        self._take_folder()
        self._load()
        self._remove_unlisted_files()

    def close(self) -> None:
        with self._guard:
            for database in self._open.values():
                database.close()
            self._open.clear()
            self._lock.release()

    # ------------------------------------------------------------ instances

    def create(self, parent: str, instance_id: str, fields: Any) -> Any:
        """The new Instance. Raises ALREADY_EXISTS or INVALID_ARGUMENT."""
        if not _INSTANCE_ID.fullmatch(instance_id):
            raise invalid(
                "Instance ID must start with a lowercase letter, be 2-64 characters long, contain "
                "only lowercase letters, numbers, or hyphens, and not end with a hyphen. Got: "
                f"{instance_id}"
            )
        name = f"{parent}/instances/{instance_id}"
        with self._guard:
            if name in self._instances:
                raise already_exists(f"Instance already exists: {name}")
            instance = Instance()
            instance.CopyFrom(fields)
            instance.name = name
            instance.state = Instance.State.READY
            if instance.processing_units:
                instance.node_count = instance.processing_units // 1000
            else:
                instance.processing_units = instance.node_count * 1000
            instance.create_time.GetCurrentTime()
            instance.update_time.CopyFrom(instance.create_time)
            self._save({**self._instances, name: instance}, self._files)
            return instance

    def instance(self, name: str) -> Any:
        found = self._instances.get(name)
        if found is None:
            raise instance_not_found(name)
        return found

    def list_instances(self, parent: str) -> list[Any]:
        instances = list(self._instances.items())
        return [each for name, each in instances if name.startswith(f"{parent}/instances/")]

    def update(self, instance: Any, paths: list[str]) -> Any:
        with self._guard:
            changed = Instance()
            changed.CopyFrom(self.instance(instance.name))
            for path in paths or ["display_name", "labels", "processing_units", "edition"]:
                changed.ClearField(path)
                if path == "labels":
                    changed.labels.update(instance.labels)
                else:
                    setattr(changed, path, getattr(instance, path))
            changed.update_time.GetCurrentTime()
            self._save({**self._instances, instance.name: changed}, self._files)
            return changed

    def delete(self, name: str) -> None:
        """Its databases go with it."""
        with self._guard:
            self.instance(name)
            mine = [each for each in self._files if each.startswith(f"{name}/databases/")]
            instances = {n: each for n, each in self._instances.items() if n != name}
            files = {n: file for n, file in self._files.items() if n not in mine}
            gone = {n: self._files[n] for n in mine}
            self._save(instances, files)
            self._remove(gone)

    # ------------------------------------------------------------ databases

    def create_database(self, parent: str, database_id: str, statements: list[str]) -> str:
        """The new database's name; nothing remains of it where a statement fails."""
        if not _DATABASE_ID.fullmatch(database_id):
            raise invalid(
                "Invalid database name. Database name must start with a lowercase letter, be 2-30 "
                "characters long, contain only lowercase letters, numbers, underscores or hyphens, "
                f"and not end with an underscore or hyphen. Got: {database_id}"
            )
        name = f"{parent}/databases/{database_id}"
        with self._guard:
            self.instance(parent)
            if name in self._files:
                raise already_exists(f"Database already exists: {name}")
            file = f"{secrets.token_hex(6)}.duckdb"
            database = Database(self._folder / file)
            try:
                database.update_ddl(statements)
                self._save(self._instances, {**self._files, name: file})
            except BaseException:
                database.close()
                self._remove_file(file)
                raise
            self._open[name] = database
            return name

    def database(self, name: str) -> Database:
        """The open database; opens its file where needed. Raises NOT_FOUND."""
        found = self._open.get(name)
        if found is not None and not found.broken:
            return found
        with self._guard:
            if name not in self._files:
                raise database_not_found(name)
            found = self._open.get(name)
            if found is not None and found.broken:
                found.close()
                found = None
            if found is None:
                found = self._open[name] = Database(self._folder / self._files[name])
            return found

    def incarnation(self, name: str) -> str:
        """Tells a database from an earlier one of the same name. Raises NOT_FOUND."""
        file = self._files.get(name)
        if file is None:
            raise database_not_found(name)
        return file.removesuffix(".duckdb")

    def list_databases(self, instance: str) -> list[str]:
        self.instance(instance)
        return [name for name in list(self._files) if name.startswith(f"{instance}/databases/")]

    def drop_database(self, name: str) -> None:
        with self._guard:
            if name not in self._files:
                raise database_not_found(name)
            gone = {name: self._files[name]}
            self._save(self._instances, {n: file for n, file in self._files.items() if n != name})
            self._remove(gone)

    # ------------------------------------------------------------ files

    def _take_folder(self) -> None:
        try:
            self._lock.acquire(timeout=0)
        except Timeout as error:
            raise OSError(
                f"The data folder {self._folder} is in use by another Spanner sandbox. Stop that "
                "one, or choose another folder."
            ) from error

    def _load(self) -> None:
        if not self._file.exists():
            return
        try:
            stored = json.loads(self._file.read_text("utf-8"))
            self._instances = {
                name: json_format.ParseDict(fields, Instance())
                for name, fields in stored["instances"].items()
            }
            self._files = dict(stored["databases"])
        except (ValueError, KeyError, TypeError, json_format.ParseError) as error:
            self._lock.release()
            raise OSError(
                f"{self._file} is damaged ({error}). Move it away to begin with no databases."
            ) from error

    def _save(self, instances: dict[str, Any], files: dict[str, str]) -> None:
        """On disk first, then in memory: what is answered afterwards survives a kill."""
        content = {
            "instances": {
                name: json_format.MessageToDict(each) for name, each in instances.items()
            },
            "databases": files,
        }
        new = self._file.with_suffix(".new")
        try:
            with new.open("w", encoding="utf-8") as out:
                json.dump(content, out, indent=1)
                out.flush()
                os.fsync(out.fileno())
            new.replace(self._file)
        except OSError as error:
            raise storage_failed(error) from error
        self._instances, self._files = instances, files

    def _remove(self, gone: dict[str, str]) -> None:
        for name, file in gone.items():
            if database := self._open.pop(name, None):
                database.close()
            self._remove_file(file)

    def _remove_file(self, file: str) -> None:
        for suffix in ("", ".wal"):
            with contextlib.suppress(OSError):  # Windows keeps a file that is still open
                (self._folder / f"{file}{suffix}").unlink(missing_ok=True)
        shutil.rmtree(self._folder / f"{file}.tmp", ignore_errors=True)  # what a query spilled

    def _remove_unlisted_files(self) -> None:
        """Left by a kill between making a database and listing it, or between the reverse."""
        listed = set(self._files.values())
        for path in self._folder.glob("*.duckdb"):
            if path.name not in listed:
                self._remove_file(path.name)
