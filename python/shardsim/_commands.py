"""The commands search, plan, sensitivity and `simulate --max`, as functions."""
import os
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from shardsim._request import (Path, Paths, Scenario, Value, answer_to, paths_of, predictions_of,
                               request_of, spell)
from shardsim._results import Comparison, Diagnostic, Prediction, Record, frame_of

if TYPE_CHECKING:
    import pandas

Keys = Mapping[str, Optional[Value]]
Quantity = Union[str, int, float]
# A number, or one for each type of node.
Rates = Union[Quantity, Mapping[str, Quantity]]
# Values of each key, "training.micro_batch" or "micro_batch": a list, or a text: "1,2,4..64".
Vary = Union[Mapping[str, Union[str, Sequence[Value]]], Sequence[str]]

# Parameters that are no options of a command.
_SHARED = {"scenario", "text", "keys", "set", "plugins", "vary"}


def _word(value: Value) -> str:
    """VALUE among others: a text with commas of its own is quoted."""
    text = spell(value)
    return f'"{text}"' if "," in text else text


def _axis(key: str, values: Union[str, Sequence[Value]]) -> str:
    """"KEY=V1,V2", as the command line takes it."""
    name = key.replace("__", ".")
    return f"{name}={values if isinstance(values, str) else ','.join(map(_word, values))}"


def _axes(vary: Vary) -> List[str]:
    if isinstance(vary, Mapping):
        return [_axis(key, values) for key, values in vary.items()]
    return [vary] if isinstance(vary, str) else list(vary)


def _ask(function: str, given: Mapping[str, Any], **more: Any) -> Dict[str, Any]:
    """GIVEN: the parameters of a command's function; MORE stand in place of some."""
    options = {name: value for name, value in {**given, **more}.items() if name not in _SHARED}
    options["set"] = given["set"] or {}
    options["plugins"] = paths_of(given["plugins"])
    options["vary"] = _axes(given.get("vary", ()))
    return answer_to(function, request_of(given["scenario"], given["text"], options,
                                          given["keys"]))


def _partial(answer: Mapping[str, Any]) -> Optional[Record]:
    """At what step the time limit ended the work, and how far it was; None: it is whole."""
    return Record(answer["partial"]) if "partial" in answer else None


class Search(Comparison):
    """The configurations that a search lists, the fastest first.

    Each is a Prediction with `options`, the command line that gives it, and `runs_on`, the
    frameworks that run it where somebody asked.
    """

    def __init__(self, answer: Mapping[str, Any]) -> None:
        super().__init__(predictions_of(answer, answer["warnings"]), answer["warnings"])
        index = answer["search"].get("answer")
        # The simplest that is hardly slower than the fastest; None: nothing fits.
        self.answer: Optional[Prediction] = None if index is None else self[index]
        # How many configurations there were, were cut, refused, left open: docs/results.md.
        self.counts = Record(answer["search"])
        self.partial = _partial(answer)


def search(scenario: Optional[Scenario] = None, *, text: Optional[str] = None,
           set: Optional[Keys] = None, hwprofiles: Optional[Path] = None, plugins: Paths = (),
           job_as: Optional[str] = None, lenient: bool = False,
           jobs: int = 0, vary: Vary = (), only: bool = False,
           max_memory: Optional[Quantity] = None, max_host_memory: Optional[Quantity] = None,
           within: Optional[float] = None, memory_margin: Optional[float] = None,
           simulate: Optional[int] = None, effort: Optional[float] = None,
           no_refine: bool = False, objective: Optional[str] = None,
           price: Optional[float] = None, best: Optional[int] = None,
           time_limit: Optional[Quantity] = None, **keys: Optional[Value]) -> Search:
    """Finds the fastest configuration that fits, as `shardsim search` does.

    What the scenario sets stays; what it leaves open of strategy, mesh, micro-batch and
    checkpointing is searched, and what VARY names. SCENARIO, TEXT, SET and the other keywords are
    those of simulate(), the named options those of the command line. At TIME_LIMIT, such as
    "2 min", it is what was found by then, and `partial` says so.
    """
    return Search(_ask("search", locals()))


class Plan:
    """What it takes to train the tokens on one type of node."""

    def __init__(self, values: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        self.cluster: str = values["cluster"]  # the type of node
        # The numbers of nodes that were tried, ascending: the columns of `shardsim plan`.
        self.options: List[Record] = [Record(one) for one in values["options"]]
        # Of several that are planned; None: one is.
        self.scenario: Optional[str] = next((one["scenario"] for one in self.options), None)
        # The fewest nodes that meet the goal; None: none does.
        self.answer: Optional[Record] = next(
            (one for one in self.options if one["best"]), None)
        self.partial = _partial(answer)
        self.warnings: Tuple[Diagnostic, ...] = tuple(answer["warnings"])

    def __repr__(self) -> str:
        nodes = f"{self.answer['n_nodes']} nodes" if self.answer else "no number of nodes"
        where = f"{self.scenario} on {self.cluster}" if self.scenario else self.cluster
        return f"<Plan '{where}': {nodes} of {len(self.options)} tried>"

    def to_frame(self) -> "pandas.DataFrame":
        """A row a number of nodes; needs pandas."""
        return frame_of(self.options)


class MembershipPlan(Plan):
    """The run of a scenario whose nodes leave and join; there is no number of nodes to choose."""

    def __init__(self, values: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        super().__init__({"cluster": "cluster", "options": []}, answer)
        # The parts of the trace that the run saw, in their order.
        self.options = [Record(one) for one in values["spans"]]
        self.scenario = values["scenario"]
        self.wall_s: float = values["wall_s"]
        # Why there is no run: its strategy stops when a node leaves. None: there is.
        self.why: Optional[str] = values["why"]

    def __repr__(self) -> str:
        return f"<MembershipPlan '{self.scenario}': {self.why or f'{self.wall_s:.0f} s'}>"


def _rates(rates: Optional[Rates]) -> Optional[Quantity]:
    if isinstance(rates, Mapping):
        return ",".join(f"{name}={value}" for name, value in rates.items())
    return rates


def plan(scenario: Optional[Scenario] = None, *, tokens: Quantity, text: Optional[str] = None,
         set: Optional[Keys] = None, hwprofiles: Optional[Path] = None, plugins: Paths = (),
         job_as: Optional[str] = None, lenient: bool = False,
         jobs: int = 0, gpu_nodes: Union[str, Sequence[str]] = (),
         node_counts: Union[str, Sequence[int], None] = None, days: Optional[float] = None,
         budget: Optional[float] = None, price: Optional[Rates] = None,
         power: Optional[Rates] = None, gpu_mtbf: Optional[Quantity] = None,
         node_mtbf: Optional[Quantity] = None, job_mtbf: Optional[Quantity] = None,
         restart: Optional[Quantity] = None, checkpoint_bytes: Optional[Quantity] = None,
         checkpoint_bandwidth: Optional[Quantity] = None,
         checkpoint_node_bandwidth: Optional[Quantity] = None,
         checkpoint_tier: Optional[str] = None, checkpoint_stall: Optional[Quantity] = None,
         checkpoint_interval: Optional[Quantity] = None, spares: Optional[int] = None,
         repair: Optional[Quantity] = None, site_mtbf: Optional[Quantity] = None,
         site_repair: Optional[Quantity] = None, notice: Optional[Quantity] = None,
         join: Optional[Quantity] = None, straggler_mtbf: Optional[Quantity] = None,
         straggler_time: Optional[Quantity] = None, straggler_slowdown: Optional[float] = None,
         slow_node_probability: Optional[Quantity] = None,
         slow_node_rate: Optional[Quantity] = None, jitter: Optional[Quantity] = None,
         runs: Optional[int] = None, runs_seed: Optional[int] = None, search: bool = False,
         vary: Vary = (), only: bool = False, max_memory: Optional[Quantity] = None,
         max_host_memory: Optional[Quantity] = None, within: Optional[float] = None,
         memory_margin: Optional[float] = None, simulate: Optional[int] = None,
         effort: Optional[float] = None, no_refine: bool = False,
         membership: Optional[Path] = None, time_limit: Optional[Quantity] = None,
         **keys: Optional[Value]) -> List[Plan]:
    """Plans a run, as `shardsim plan` does: a Plan for each type of node and each scenario.

    GPU_NODES are types of node, in the place of the scenario's cluster. Where the scenario names no
    strategy, each number of nodes runs the best configuration that a search finds. PRICE and POWER
    may be maps of a type of node each. MEMBERSHIP is the file of a trace of nodes that leave and
    join: a MembershipPlan for each scenario, whose `options` are the parts of the trace.
    The rest is as in search().
    """
    given = dict(locals())
    types = [gpu_nodes] if isinstance(gpu_nodes, str) else list(gpu_nodes)
    counts = (node_counts if node_counts is None or isinstance(node_counts, str)
              else ",".join(map(str, node_counts)))
    answer = _ask("plan", given, gpu_nodes=types, node_counts=counts, price=_rates(price),
                  power=_rates(power),
                  membership=None if membership is None else os.fspath(membership))
    if membership is not None:
        return [MembershipPlan(one, answer) for one in answer["runs"]]
    return [Plan(one, answer) for one in answer["plans"]]


class Sensitivity:
    """What a change of each figure of the hardware, and of each option, does to a scenario."""

    def __init__(self, answer: Mapping[str, Any]) -> None:
        values = answer["sensitivity"]
        self.warnings: Tuple[Diagnostic, ...] = tuple(answer["warnings"])
        self.partial = _partial(answer)
        self.prediction = Prediction(answer["results"][0], self.warnings)  # as it is
        self.factor: float = values["factor"]
        # The largest effect first.
        self.figures: List[Record] = [Record(one) for one in values["figures"]]
        self.options: List[Record] = [Record(one) for one in values["options"]]

    def to_frame(self) -> "pandas.DataFrame":
        """A row a figure, or where there are none an option; needs pandas."""
        return frame_of(self.figures or self.options)


def sensitivity(scenario: Optional[Scenario] = None, *, text: Optional[str] = None,
                set: Optional[Keys] = None, hwprofiles: Optional[Path] = None,
                plugins: Paths = (),
                job_as: Optional[str] = None, lenient: bool = False,
                jobs: int = 0, factor: Optional[float] = None,
                figure: Union[str, Sequence[str]] = (), only: Optional[str] = None,
                no_break_even: bool = False, time_limit: Optional[Quantity] = None,
                **keys: Optional[Value]) -> Sensitivity:
    """What buys how much, as `shardsim sensitivity` says it.

    FIGURE: these figures of the hardware only, such as "nic.bandwidth"; ONLY: "figures" or
    "options". SCENARIO and the rest are as in simulate().
    """
    given = dict(locals())
    figures = [figure] if isinstance(figure, str) else list(figure)
    return Sensitivity(_ask("sensitivity", given, figure=figures))


class HeatMap:
    """Two things that were varied together: all cells of the first value of y, then the next."""

    def __init__(self, answer: Mapping[str, Any]) -> None:
        self.cells: List[Record] = [Record(one) for one in answer["heat_map"]["cells"]]
        self.partial = _partial(answer)
        self.warnings: Tuple[Diagnostic, ...] = tuple(answer["warnings"])

    def to_frame(self) -> "pandas.DataFrame":
        """A row a cell; needs pandas."""
        return frame_of(self.cells)


def heat_map(scenario: Optional[Scenario] = None, *, x: str, y: str, text: Optional[str] = None,
             set: Optional[Keys] = None, hwprofiles: Optional[Path] = None, plugins: Paths = (),
             job_as: Optional[str] = None, lenient: bool = False,
             jobs: int = 0, time_limit: Optional[Quantity] = None,
             **keys: Optional[Value]) -> HeatMap:
    """Varies two things together, as `shardsim sensitivity --map X --map Y` does.

    Each is a figure of the hardware or an option and its values: "training.micro_batch=1,2,4",
    "nic.bandwidth=100 Gbit/s..800 Gbit/s:4". SCENARIO and the rest are as in simulate().
    """
    given = {name: value for name, value in locals().items() if name not in ("x", "y")}
    return HeatMap(_ask("sensitivity", given, map=[x, y]))


class Maximum(Record):
    """The largest value that fits: `value`, and `next`, the first found that does not."""

    def __init__(self, answer: Mapping[str, Any]) -> None:
        super().__init__(answer["maximum"])
        self.warnings: Tuple[Diagnostic, ...] = tuple(answer["warnings"])
        # Of the value; where none fits, of the least; None: the time limit came before any.
        self.prediction: Optional[Prediction] = next(
            (Prediction(one, self.warnings) for one in answer["results"]), None)
        self.partial = _partial(answer)


def maximum(max: str, scenario: Optional[Scenario] = None, *, text: Optional[str] = None,
            set: Optional[Keys] = None, hwprofiles: Optional[Path] = None, plugins: Paths = (),
            job_as: Optional[str] = None, lenient: bool = False,
            unfolded: bool = False, interval: bool = False, time_limit: Optional[Quantity] = None,
            **keys: Optional[Value]) -> Maximum:
    """The largest MAX that fits, "micro_batch", "seq_len" or "n_layers", all else as it is.

    As `shardsim simulate --max` finds it. At TIME_LIMIT it is the largest known to fit by then.
    SCENARIO and the rest are as in simulate().
    """
    return Maximum(_ask("maximum", locals()))
