"""Files to upload with a message."""

from __future__ import annotations

import mimetypes
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

__all__ = ["File"]


@dataclass(frozen=True, slots=True)
class File:
    """A file to upload: its name, its bytes, and its media type. ``File.read(path)`` takes a file of this machine."""

    name: str
    data: bytes
    content_type: str | None = None

    @classmethod
    def read(cls, path: str | PathLike[str], *, name: str | None = None) -> File:
        """Reads the file at ``path``. ``name`` is shown instead of the name of that file."""
        file = Path(path)
        return cls(name or file.name, file.read_bytes())

    @property
    def media_type(self) -> str:
        """``content_type``, or the usual one of the file's name."""
        return self.content_type or mimetypes.guess_type(self.name)[0] or "application/octet-stream"
