"""The C library: found, loaded once, called with text."""
import ctypes
import functools
import json
import os
from typing import Any, Dict, Optional

SONAME = "libshardsim.so.0"  # of the C interface that this module was written for


class LibraryError(OSError):
    """The C library cannot be loaded, or is not the one that this module needs."""


def library_path() -> str:
    """The library: $SHARDSIM_LIBRARY, or its name, which the system's loader looks for."""
    return os.environ.get("SHARDSIM_LIBRARY") or SONAME


@functools.lru_cache(maxsize=None)
def _load() -> ctypes.CDLL:
    path = library_path()
    try:
        library = ctypes.CDLL(path)
        library.shardsim_predict.argtypes = [ctypes.c_char_p]
        library.shardsim_predict.restype = ctypes.c_void_p
        library.shardsim_list.argtypes = [ctypes.c_char_p]
        library.shardsim_list.restype = ctypes.c_void_p
        library.shardsim_version.argtypes = []
        library.shardsim_version.restype = ctypes.c_char_p
        library.shardsim_free.argtypes = [ctypes.c_void_p]
        library.shardsim_free.restype = None
    except (OSError, AttributeError) as error:
        raise LibraryError(
            f"cannot load '{path}': {error}; SHARDSIM_LIBRARY names the file of the library"
        ) from error
    return library


def _text(answer: Optional[int]) -> str:
    """The text at ANSWER, which is freed."""
    if answer is None:
        raise LibraryError("the library gave no answer")
    try:
        return ctypes.string_at(answer).decode("utf-8", errors="replace")
    finally:
        _load().shardsim_free(answer)


def predict(request: Dict[str, Any]) -> Dict[str, Any]:
    """The library's answer to REQUEST, see api/shardsim.h."""
    text = json.dumps(request, ensure_ascii=False)
    answer: Dict[str, Any] = json.loads(_text(_load().shardsim_predict(text.encode("utf-8"))))
    return answer


def list_of(kind: str) -> Dict[str, Any]:
    """What there is of KIND, see api/shardsim.h."""
    answer: Dict[str, Any] = json.loads(_text(_load().shardsim_list(kind.encode("utf-8"))))
    return answer


def version() -> str:
    """The version of the C library."""
    text: bytes = _load().shardsim_version()
    return text.decode("ascii")
