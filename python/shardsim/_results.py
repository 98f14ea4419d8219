"""What is answered: predictions, rows of tables, and what is wrong."""
from dataclasses import dataclass
from typing import (TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence,
                    Tuple)

if TYPE_CHECKING:
    import pandas


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


class Record(Mapping[str, Any]):
    """Named values of an answer, as attributes and as a map."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_values"][name]
        except KeyError:
            kind = type(self).__name__.lower()
            raise AttributeError(f"a {kind} has no '{name}'") from None

    def __dir__(self) -> List[str]:
        return sorted({*super().__dir__(), *self._values})

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.row()}>"

    def row(self) -> Dict[str, Any]:
        """The single values, without lists and maps: a row of a table."""
        return {key: value for key, value in self._values.items()
                if not isinstance(value, (dict, list))}

    def to_frame(self) -> "pandas.DataFrame":
        """One row of the single values; needs pandas."""
        return frame_of([self])


class Prediction(Record):
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
        super().__init__(values)
        self.warnings: Tuple[Diagnostic, ...] = tuple(warnings)

    def __repr__(self) -> str:
        if not self.fits:
            return f"<Prediction '{self.scenario}': does not fit>"
        return (f"<Prediction '{self.scenario}': {self.step_time_s:.4g} s a step, "
                f"{self.tokens_per_s_per_gpu:.0f} tokens/s/GPU>")


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
        return frame_of(self)


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


def frame_of(records: Sequence[Record]) -> "pandas.DataFrame":
    """A row a record, with the single values as columns; needs pandas."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_frame() needs pandas; row() gives the same as a dict") from error
    return pandas.DataFrame([one.row() for one in records])
