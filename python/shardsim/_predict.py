"""Predictions: scenarios go in, results come out."""
import os
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from shardsim import _library
from shardsim._request import (Path, Paths, Scenario, Value, answer_to, paths_of, predictions_of,
                               request_of, spell)
from shardsim._results import Comparison, Diagnostic, InputError, Item, Prediction


def _predict(request: Dict[str, Any]) -> Comparison:
    answer = answer_to("predict_until", request)
    return Comparison(predictions_of(answer, answer["warnings"]), answer["warnings"])


def simulate(scenario: Optional[Scenario] = None, *, text: Optional[str] = None,
             set: Optional[Mapping[str, Optional[Value]]] = None,
             hwprofiles: Optional[Path] = None,
             plugins: Paths = (),
             job_as: Optional[str] = None, lenient: bool = False,
             unfolded: bool = False, interval: bool = False,
             **keys: Optional[Value]) -> Prediction:
    """Predicts one scenario.

    SCENARIO is a file, or nested maps such as {"training": {"seq_len": 2048}}; TEXT that of a file.
    What is laid over it, or all there is: keywords, which are the command line's options with '_'
    for '-' (cluster, model, strategy, seq_len, tp, ...) or `section__key` for any key, such as
    strategy__shard; and SET, with keys as --set takes them. A scenario that does not fit is a
    result: `prediction.fits` is False.
    """
    options = {"set": set or {}, "hwprofiles": hwprofiles, "plugins": paths_of(plugins),
               "job_as": job_as, "lenient": lenient,
               "unfolded": unfolded, "interval": interval}
    predictions = _predict(request_of(scenario, text, options, keys))
    if len(predictions) != 1:
        raise ValueError(f"{len(predictions)} scenarios: compare() takes them")
    return predictions[0]


def compare(scenarios: Union[Scenario, Sequence[Mapping[str, Any]], None] = None, *,
            text: Optional[str] = None,
            set: Optional[Mapping[str, Optional[Value]]] = None,
            hwprofiles: Optional[Path] = None, plugins: Paths = (),
            job_as: Optional[str] = None, lenient: bool = False,
            unfolded: bool = False, interval: bool = False, jobs: int = 0,
            **keys: Optional[Value]) -> Comparison:
    """Predicts several scenarios, in JOBS threads (0: one a core).

    SCENARIOS is a file as `shardsim compare` takes it, a map of its sections, in which a list of
    values makes a grid, or a list of such maps, one a scenario. The rest is as in simulate().
    """
    options = {"set": set or {}, "hwprofiles": hwprofiles, "plugins": paths_of(plugins),
               "job_as": job_as, "lenient": lenient,
               "unfolded": unfolded, "interval": interval, "jobs": jobs}
    if scenarios is not None and not isinstance(scenarios, (str, os.PathLike, Mapping)):
        scenarios = {"scenarios": list(scenarios)}
    return _predict(request_of(scenarios, text, options, keys))


def _list(kind: str) -> List[Item]:
    answer = _library.list_of(kind)
    return [Item(**item) for item in answer["items"]]


def max_memory_use(size: Optional[Value]) -> None:
    """Limits the memory that this process may have of the machine while it simulates.

    SIZE is as in "16 GB"; None: as much as there is, as from the start. It holds for all calls from
    now on. A simulation that comes to more raises ShardsimError, a row of many fails.
    """
    answer = _library.max_memory_use(None if size is None else spell(size))
    if answer["diagnostics"]:
        raise InputError([Diagnostic(**one) for one in answer["diagnostics"]])


def strategies() -> List[Item]:
    """The strategies of the program."""
    return _list("strategies")


def models() -> List[Item]:
    """The models that are shipped."""
    return _list("models")


def gpus() -> List[Item]:
    """The GPUs' profiles that are shipped."""
    return _list("gpu")


def nodes() -> List[Item]:
    """The nodes' profiles that are shipped."""
    return _list("node")


def links() -> List[Item]:
    """The links' profiles that are shipped."""
    return _list("link")


def clusters() -> List[Item]:
    """The clusters' profiles that are shipped."""
    return _list("cluster")
