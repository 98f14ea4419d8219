"""Predictions, searches and plans by shardsim, over its C library and without a build step.

    >>> import shardsim
    >>> run = shardsim.simulate(cluster="dgx-h100", model="llama-3-8b", strategy="fsdp2",
    ...                         seq_len=2048)
    >>> run.fits, round(run.step_time_s, 2)
    (True, 0.3)

docs/python.md explains it. Calls may run in threads: they share nothing but the limit that
max_memory_use() sets, and the interpreter's lock is released while the library works.
"""
from shardsim._commands import (
    HeatMap,
    Maximum,
    MembershipPlan,
    Plan,
    Search,
    Sensitivity,
    heat_map,
    maximum,
    plan,
    search,
    sensitivity,
)
from shardsim._library import LibraryError, library_path, version
from shardsim._predict import (
    clusters,
    compare,
    gpus,
    links,
    max_memory_use,
    models,
    nodes,
    simulate,
    strategies,
)
from shardsim._request import Scenario
from shardsim._results import (
    Comparison,
    Diagnostic,
    InputError,
    Item,
    Prediction,
    Record,
    ShardsimError,
)

__all__ = [
    "Comparison",
    "Diagnostic",
    "HeatMap",
    "InputError",
    "Item",
    "LibraryError",
    "Maximum",
    "MembershipPlan",
    "Plan",
    "Prediction",
    "Record",
    "Scenario",
    "Search",
    "Sensitivity",
    "ShardsimError",
    "clusters",
    "compare",
    "gpus",
    "heat_map",
    "library_path",
    "links",
    "max_memory_use",
    "maximum",
    "models",
    "nodes",
    "plan",
    "search",
    "sensitivity",
    "simulate",
    "strategies",
    "version",
]
