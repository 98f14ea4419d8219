"""Predictions: scenarios go in, results come out."""
import json
import os
from dataclasses import dataclass
from typing import (TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence,
                    Tuple, Union)

from shardsim import _library

if TYPE_CHECKING:
    import pandas

Value = Union[str, int, float, bool]
Paths = Union[str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]]]

# The file of a scenario; its text is given by the keyword `text`; or its sections as nested maps.
Scenario = Union[str, "os.PathLike[str]", Mapping[str, Any]]


@dataclass(frozen=True)
class Diagnostic:
    """What is wrong with an input, or doubtful, and where."""

    severity: str  # "error", "warning", "note"
    message: str
    hint: Optional[str]
    file: Optional[str]
    line: int  # from 1; 0: not known
    column: int

    def __str__(self) -> str:
        place = self.file or ""
        if self.line:
            place += f":{self.line}:{self.column}"
        hint = f" ({self.hint})" if self.hint else ""
        return f"{place}{': ' if place else ''}{self.severity}: {self.message}{hint}"


@dataclass(frozen=True)
class Item:
    """A strategy, a model or a hardware profile."""

    name: str
    title: Optional[str]


class Prediction(Mapping[str, Any]):
    """What is predicted of one scenario: the keys of docs/results.md, as attributes and as a map.

    Those below are the most used; `prediction.settings` holds every option that was used,
    `prediction.hbm` the memory of a GPU by category, `prediction.traffic` the collectives.
    """

    scenario: str
    strategy: str
    model: str
    cluster: str
    n_gpus: int
    fits: bool
    step_time_s: float
    tokens_per_s: float
    tokens_per_s_per_gpu: float
    samples_per_s: float
    mfu_percent: float
    hfu_percent: float
    hardware_tflops_per_gpu: float
    model_tflops_per_gpu: float
    peak_allocated_gib: float
    peak_reserved_gib: float
    peak_device_gib: float
    peak_host_gib: float
    inter_node_bytes_per_gpu: float
    intra_node_bytes_per_gpu: float
    exposed_comm_s: float
    binding_resource: str
    hbm: Dict[str, Any]
    host: Dict[str, Any]
    traffic: List[Dict[str, Any]]
    bindings: List[Dict[str, Any]]
    confidence: Dict[str, Any]
    settings: Dict[str, Dict[str, Any]]

    def __init__(self, values: Mapping[str, Any], warnings: Sequence[Diagnostic] = ()) -> None:
        self._values = dict(values)
        self.warnings: Tuple[Diagnostic, ...] = tuple(warnings)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_values"][name]
        except KeyError:
            raise AttributeError(f"a prediction has no '{name}'") from None

    def __dir__(self) -> List[str]:
        return sorted({*super().__dir__(), *self._values})

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        if not self.fits:
            return f"<Prediction '{self.scenario}': does not fit>"
        return (f"<Prediction '{self.scenario}': {self.step_time_s:.4g} s a step, "
                f"{self.tokens_per_s_per_gpu:.0f} tokens/s/GPU>")

    def row(self) -> Dict[str, Any]:
        """The single values, without lists and maps: a row of a table."""
        return {key: value for key, value in self._values.items()
                if not isinstance(value, (dict, list))}

    def to_frame(self) -> "pandas.DataFrame":
        """One row of the single values; needs pandas."""
        return _frame([self])


class Comparison(List[Prediction]):
    """Predictions in the order of their scenarios, and what was said about them."""

    def __init__(self, predictions: Iterable[Prediction],
                 warnings: Sequence[Diagnostic] = ()) -> None:
        super().__init__(predictions)
        self.warnings: Tuple[Diagnostic, ...] = tuple(warnings)

    def best(self, key: str = "tokens_per_s_per_gpu") -> Optional[Prediction]:
        """The one that fits with the most of KEY; None where none fits."""
        fitting = [one for one in self if one.fits]
        return max(fitting, key=lambda one: float(one[key])) if fitting else None

    def to_frame(self) -> "pandas.DataFrame":
        """A row a prediction, with the single values as columns; needs pandas."""
        return _frame(self)


class ShardsimError(Exception):
    """Something else than the input has failed: a file, a plug-in, the simulation."""


class InputError(ShardsimError, ValueError):
    """The input is wrong. `diagnostics` says what and where, `predictions` what could be had."""

    def __init__(self, diagnostics: Sequence[Diagnostic], left_out: Sequence[str] = (),
                 predictions: Sequence[Prediction] = ()) -> None:
        self.diagnostics = tuple(diagnostics)
        self.left_out = tuple(left_out)
        self.predictions = Comparison(predictions)
        super().__init__("\n".join(str(one) for one in diagnostics))

    def __reduce__(self) -> Tuple[Any, ...]:  # from a process of a pool
        return type(self), (self.diagnostics, self.left_out, tuple(self.predictions))


def _frame(predictions: Sequence[Prediction]) -> "pandas.DataFrame":
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_frame() needs pandas; row() gives the same as a dict") from error
    return pandas.DataFrame([one.row() for one in predictions])


def _spell(value: Any) -> str:
    """VALUE as an option is written."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _paths(paths: Paths) -> List[str]:
    """PATHS, one or several."""
    several = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    return [os.fspath(path) for path in several]


def _request(scenario: Optional[Scenario], text: Optional[str], options: Mapping[str, Any],
             keys: Mapping[str, Optional[Value]]) -> Dict[str, Any]:
    request: Dict[str, Any] = {name: value for name, value in options.items() if value}
    given = [(name.replace("__", "."), value) for name, value in keys.items()]
    given += request.pop("set", {}).items()
    laid_over = {key: _spell(value) for key, value in given if value is not None}
    if laid_over:
        request["set"] = laid_over
    if text is not None and scenario is not None:
        raise TypeError("a scenario and its text are both given")
    if isinstance(scenario, Mapping):
        text = json.dumps(scenario, ensure_ascii=False, indent=1)
    elif scenario is not None:
        request["file"] = os.fspath(scenario)
    if text is not None:
        request["text"] = text
    if "hwprofiles" in request:
        request["hwprofiles"] = os.fspath(request["hwprofiles"])
    return request


def _predict(request: Dict[str, Any]) -> Comparison:
    answer = _library.predict(request)
    diagnostics = [Diagnostic(**one) for one in answer["diagnostics"]]
    warnings = [one for one in diagnostics if one.severity != "error"]
    predictions = [Prediction(result, warnings) for result in answer["results"]]
    if len(warnings) < len(diagnostics):
        raise InputError(diagnostics, answer["left_out"], predictions)
    if answer["error"] is not None:
        raise ShardsimError(answer["error"])
    return Comparison(predictions, warnings)


def simulate(scenario: Optional[Scenario] = None, *, text: Optional[str] = None,
             set: Optional[Mapping[str, Optional[Value]]] = None,
             hwprofiles: Union[str, "os.PathLike[str]", None] = None,
             plugins: Paths = (), unfolded: bool = False, interval: bool = False,
             **keys: Optional[Value]) -> Prediction:
    """Predicts one scenario.

    SCENARIO is a file, or nested maps such as {"training": {"seq_len": 2048}}; TEXT that of a file.
    What is laid over it, or all there is: keywords, which are the command line's options with '_'
    for '-' (cluster, model, strategy, seq_len, tp, ...) or `section__key` for any key, such as
    strategy__shard; and SET, with keys as --set takes them. A scenario that does not fit is a
    result: `prediction.fits` is False.
    """
    options = {"set": set or {}, "hwprofiles": hwprofiles, "plugins": _paths(plugins),
               "unfolded": unfolded, "interval": interval}
    predictions = _predict(_request(scenario, text, options, keys))
    if len(predictions) != 1:
        raise ValueError(f"{len(predictions)} scenarios: compare() takes them")
    return predictions[0]


def compare(scenarios: Union[Scenario, Sequence[Mapping[str, Any]], None] = None, *,
            text: Optional[str] = None,
            set: Optional[Mapping[str, Optional[Value]]] = None,
            hwprofiles: Union[str, "os.PathLike[str]", None] = None, plugins: Paths = (),
            unfolded: bool = False, interval: bool = False, jobs: int = 0,
            **keys: Optional[Value]) -> Comparison:
    """Predicts several scenarios, in JOBS threads (0: one a core).

    SCENARIOS is a file as `shardsim compare` takes it, a map of its sections, in which a list of
    values makes a grid, or a list of such maps, one a scenario. The rest is as in simulate().
    """
    options = {"set": set or {}, "hwprofiles": hwprofiles, "plugins": _paths(plugins),
               "unfolded": unfolded, "interval": interval, "jobs": jobs}
    if scenarios is not None and not isinstance(scenarios, (str, os.PathLike, Mapping)):
        scenarios = {"scenarios": list(scenarios)}
    return _predict(_request(scenarios, text, options, keys))


def _list(kind: str) -> List[Item]:
    answer = _library.list_of(kind)
    return [Item(**item) for item in answer["items"]]


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
