"""The C library: found, loaded once, called with text."""
import ctypes
import functools
import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict, Optional

SONAME = "libshardsim.so.0"  # of the C interface that this module was written for
# Those of text to text that may be stopped.
FUNCTIONS = "predict_until", "search", "plan", "sensitivity", "maximum"


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
        for name in FUNCTIONS:
            function = getattr(library, f"shardsim_{name}")
            function.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
            function.restype = ctypes.c_void_p
        for name in ("list", "max_memory_use"):
            function = getattr(library, f"shardsim_{name}")
            function.argtypes = [ctypes.c_char_p]
            function.restype = ctypes.c_void_p
        library.shardsim_stop_new.argtypes = []
        library.shardsim_stop_new.restype = ctypes.c_void_p
        library.shardsim_stop_now.argtypes = [ctypes.c_void_p]
        library.shardsim_stop_now.restype = None
        library.shardsim_stop_free.argtypes = [ctypes.c_void_p]
        library.shardsim_stop_free.restype = None
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


class _Stop:
    """Ends a call; freed when neither the call nor who waits for it holds it."""

    def __init__(self) -> None:
        self._library = _load()
        self.pointer: int = self._library.shardsim_stop_new()

    def now(self) -> None:
        self._library.shardsim_stop_now(self.pointer)

    def __del__(self) -> None:
        self._library.shardsim_stop_free(self.pointer)


def ask(function: str, text: str) -> str:
    """What `shardsim_FUNCTION` answers to TEXT, see api/shardsim.h.

    In the main thread an interrupt ends it soon, as any exception of a signal's handler does: the
    library works in another thread, as Python runs handlers between its own steps only.
    """
    called = getattr(_load(), f"shardsim_{function}")
    encoded = text.encode("utf-8")
    if threading.current_thread() is not threading.main_thread():
        return _text(called(encoded, None))
    stop = _Stop()
    with ThreadPoolExecutor(1, "shardsim") as pool:
        answer = pool.submit(lambda: _text(called(encoded, stop.pointer)))
        try:
            return answer.result()
        except BaseException:
            stop.now()
            raise


def call(function: str, request: Dict[str, Any]) -> Dict[str, Any]:
    """The same of a request."""
    answer: Dict[str, Any] = json.loads(ask(function, json.dumps(request, ensure_ascii=False)))
    return answer


def list_of(kind: str) -> Dict[str, Any]:
    """What there is of KIND."""
    answer: Dict[str, Any] = json.loads(_text(_load().shardsim_list(kind.encode("utf-8"))))
    return answer


def max_memory_use(size: Optional[str]) -> Dict[str, Any]:
    """From now on the process has SIZE at most; None: no limit."""
    encoded = None if size is None else size.encode("utf-8")
    answer: Dict[str, Any] = json.loads(_text(_load().shardsim_max_memory_use(encoded)))
    return answer


def version() -> str:
    """The version of the C library."""
    text: bytes = _load().shardsim_version()
    return text.decode("ascii")
