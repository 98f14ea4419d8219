"""Predictions of training runs by shardsim, over its C library and without a build step.

    >>> import shardsim
    >>> run = shardsim.simulate(cluster="dgx-h100", model="llama-3-8b", strategy="fsdp2",
    ...                         seq_len=2048)
    >>> run.fits, round(run.step_time_s, 2)
    (True, 0.31)

docs/python.md explains it. Calls may run in threads: they share nothing, and the interpreter's lock
is released while the library works.
"""
from shardsim._library import LibraryError, library_path, version
from shardsim._predict import (
    Comparison,
    Diagnostic,
    InputError,
    Item,
    Prediction,
    Scenario,
    ShardsimError,
    clusters,
    compare,
    gpus,
    links,
    models,
    nodes,
    simulate,
    strategies,
)

__all__ = [
    "Comparison",
    "Diagnostic",
    "InputError",
    "Item",
    "LibraryError",
    "Prediction",
    "Scenario",
    "ShardsimError",
    "clusters",
    "compare",
    "gpus",
    "library_path",
    "links",
    "models",
    "nodes",
    "simulate",
    "strategies",
    "version",
]
