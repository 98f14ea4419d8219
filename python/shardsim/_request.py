"""What is asked: a scenario and options become a request of the library (api/shardsim.h)."""
import json
import os
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from shardsim import _library
from shardsim._results import Comparison, Diagnostic, InputError, Prediction, ShardsimError

Value = Union[str, int, float, bool]
Path = Union[str, "os.PathLike[str]"]
Paths = Union[Path, Sequence[Path]]

# The file of a scenario; its text is given by the keyword `text`; or its sections as nested maps.
Scenario = Union[Path, Mapping[str, Any]]


def spell(value: Any) -> str:
    """VALUE as an option is written."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={spell(one)}" for name, one in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(spell(one) for one in value)
    return str(value)


def paths_of(paths: Paths) -> List[str]:
    """PATHS, one or several."""
    several = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    return [os.fspath(path) for path in several]


def request_of(scenario: Optional[Scenario], text: Optional[str], options: Mapping[str, Any],
             keys: Mapping[str, Optional[Value]]) -> Dict[str, Any]:
    request: Dict[str, Any] = {name: value for name, value in options.items()
                               if value is not None and value is not False
                               and value != [] and value != {}}
    given = [(name.replace("__", "."), value) for name, value in keys.items()]
    given += request.pop("set", {}).items()
    laid_over = {key: spell(value) for key, value in given if value is not None}
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


def answer_to(function: str, request: Dict[str, Any]) -> Dict[str, Any]:
    """The library's answer; its "warnings" are Diagnostics. Raises what is wrong."""
    answer = _library.call(function, request)
    diagnostics = [Diagnostic(**one) for one in answer["diagnostics"]]
    warnings = [one for one in diagnostics if one.severity != "error"]
    if len(warnings) < len(diagnostics):
        raise InputError(diagnostics, answer.get("left_out", ()),
                         predictions_of(answer, warnings))
    if answer["error"] is not None:
        raise ShardsimError(answer["error"])
    answer["warnings"] = warnings
    return answer


def predictions_of(answer: Dict[str, Any], warnings: Sequence[Diagnostic]) -> List[Prediction]:
    """The results of ANSWER."""
    return [Prediction(result, warnings) for result in answer.get("results", ())]
