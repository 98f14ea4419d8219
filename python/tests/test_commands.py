"""Tests of search, plan, sensitivity and maximum, on the hand-made hardware."""
import inspect
import json
import os
import pathlib
import re
import signal
import subprocess
import threading
import time
import typing
import unittest

import shardsim
from shardsim import _library

ROOT = pathlib.Path(os.environ["SHARDSIM_SOURCE_ROOT"])
PROGRAM = os.environ["SHARDSIM_PROGRAM"]
HARDWARE = ROOT / "docs/worked/hwprofiles"
INPUT = ROOT / "tests/cli/input"
FILE = str(ROOT / "docs/worked/1-ddp-two-gpus.yaml")
OPEN = {
    "cluster": {"node": "hand-pair", "nodes": 1},
    "model": {"arch": "llama", "n_layers": 1, "d_model": 200, "n_heads": 2, "d_ff": 400,
              "vocab": 500},
    "training": {"seq_len": 100, "global_batch": 8},
}
VARY = {"strategy.name": ["ddp", "fsdp2"], "micro_batch": "1,2"}
FULL = {**OPEN, "strategy": {"name": "ddp"}}


def search(**more: typing.Any) -> shardsim.Search:
    return shardsim.search(OPEN, hwprofiles=HARDWARE, vary=VARY, only=True, **more)


class TestSameAsTheProgram(unittest.TestCase):
    """What the library answers begins with what the program prints, byte for byte."""

    def check(self, function: str, request: typing.Dict[str, typing.Any],
              *words: str, file: str = FILE) -> None:
        request = {"file": file, "hwprofiles": str(HARDWARE), "jobs": 1, **request}
        answer = _library.ask(function, json.dumps(request))
        printed = subprocess.run(
            [PROGRAM, *words, file, "--hwprofiles", str(HARDWARE), "--jobs", "1", "--format",
             "json"], stdout=subprocess.PIPE, check=False).stdout.decode()
        self.assertTrue(printed.endswith("\n}\n"), printed)
        self.assertEqual(answer[:len(printed) - 3], printed[:-3])
        self.assertEqual(list(json.loads(answer))[len(json.loads(printed)):],
                         ["diagnostics", "error"])

    def test_search(self) -> None:
        self.check("search", {"only": True, "vary": ["micro_batch=1,2", "mesh.tp=1,2"],
                              "set": {"training.global_batch": 8}, "price": 2.5,
                              "objective": "cost", "within": 0, "memory_margin": 0, "best": 3},
                   "search", "--only", "--vary", "micro_batch=1,2", "--vary", "mesh.tp=1,2",
                   "--set", "training.global_batch=8", "--price", "2.5", "--objective", "cost",
                   "--within", "0", "--memory-margin", "0", "--best", "3")

    def test_plan(self) -> None:
        self.check("plan", {"tokens": "1G", "days": 2, "node_counts": "1,2", "price": 2,
                            "gpu_mtbf": "500 h", "restart": "1 min", "checkpoint_stall": "1 s"},
                   "plan", "--tokens", "1G", "--days", "2", "--node-counts", "1,2", "--price", "2",
                   "--gpu-mtbf", "500 h", "--restart", "1 min", "--checkpoint-stall", "1 s")

    def test_plan_that_searches(self) -> None:
        self.check("plan", {"tokens": 1e9, "gpu_nodes": ["hand-pair"], "vary": ["micro_batch=1,2"],
                            "only": True, "set": {"training.global_batch": 64,
                                                  "cluster.node": None, "cluster.nodes": None}},
                   "plan", "--tokens", "1G", "--gpu-nodes", "hand-pair", "--vary",
                   "micro_batch=1,2", "--only", "--set", "training.global_batch=64", "--set",
                   "cluster.node=~", "--set", "cluster.nodes=~")

    def test_plan_of_a_trace(self) -> None:
        self.check("plan", {"file": str(INPUT / "sites.yaml"), "tokens": "40M",
                            "set": {"strategy.elastic": True},
                            "membership": str(INPUT / "membership.csv")},
                   "plan", "--tokens", "40M", "--set", "strategy.elastic=true", "--membership",
                   str(INPUT / "membership.csv"), file=str(INPUT / "sites.yaml"))

    def test_sensitivity(self) -> None:
        self.check("sensitivity", {"figure": ["nic.bandwidth", "gpu.hbm_bandwidth"], "factor": 2},
                   "sensitivity", "--figure", "nic.bandwidth", "--figure", "gpu.hbm_bandwidth",
                   "--factor", "2")

    def test_heat_map(self) -> None:
        self.check("sensitivity", {"map": ["training.micro_batch=1,2", "mesh.tp=1,2"]},
                   "sensitivity", "--map", "training.micro_batch=1,2", "--map", "mesh.tp=1,2")

    def test_maximum(self) -> None:
        self.check("maximum", {"max": "seq_len", "set": {"mesh.tp": 2}},
                   "simulate", "--max", "seq_len", "--set", "mesh.tp=2")


class TestSearch(unittest.TestCase):
    def test_answer(self) -> None:
        found = search()
        assert found.answer is not None
        self.assertIn(found.answer, found)
        self.assertEqual(found.counts.configurations, 4)
        self.assertEqual(list(found), sorted(found, key=lambda one: -one.tokens_per_s))
        again = shardsim.simulate({**OPEN, "strategy": {"name": found.answer.strategy}},
                                  hwprofiles=HARDWARE, micro_batch=found.answer.micro_batch)
        self.assertEqual(again.step_time_s, found.answer.step_time_s)

    def test_nothing_fits(self) -> None:
        found = search(max_memory="1 MiB")
        self.assertEqual((len(found), found.answer), (0, None))
        self.assertGreater(found.counts.too_large, 0)

    def test_zero_is_given(self) -> None:
        """A search within 0 % answers with the fastest, as None would not."""
        found = search(within=0)
        self.assertIs(found.answer, found[0])

    def test_texts_with_commas(self) -> None:
        from shardsim import _commands
        self.assertEqual(_commands._axes({"cluster__slow_gpus": ["0:0.5,1:0.5", "none"]}),
                         ['cluster.slow_gpus="0:0.5,1:0.5",none'])

    def test_errors(self) -> None:
        with self.assertRaises(shardsim.InputError) as caught:
            search(objective="cost", effort=-1)
        first, second = caught.exception.diagnostics
        self.assertEqual((first.file, first.line), ("request", 1))
        self.assertIn("needs a price", second.message)
        with self.assertRaisesRegex(shardsim.InputError, "--vary tp=x"):
            shardsim.search(OPEN, hwprofiles=HARDWARE, vary=["tp=x"])
        with self.assertRaisesRegex(shardsim.InputError, "2 scenarios"):
            shardsim.search({**OPEN, "training": {"seq_len": [100, 200]}}, hwprofiles=HARDWARE)

    def test_threads(self) -> None:
        answers: typing.List[typing.Any] = []
        threads = [threading.Thread(target=lambda: answers.append([dict(one) for one in search()]))
                   for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(answers, [[dict(one) for one in search(jobs=1)]] * 4)


class TestPlan(unittest.TestCase):
    def test_fewest_nodes(self) -> None:
        plan, = shardsim.plan(FULL, hwprofiles=HARDWARE, tokens="10G", days=2,
                              node_counts=[1, 2, 4], price={"cluster": 2})
        self.assertEqual(plan.cluster, "cluster")
        self.assertEqual([one.n_nodes for one in plan.options], [1, 2, 4])
        met = [one.n_nodes for one in plan.options if one.meets]
        self.assertEqual(plan.answer["n_nodes"] if plan.answer else None, min(met, default=None))

    def test_types_of_node(self) -> None:
        plans = shardsim.plan(set={"cluster.node": None}, tokens=1e9, gpu_nodes="dgx-h100",
                              model="llama-3-8b", strategy="fsdp2", seq_len=2048, node_counts="1")
        self.assertEqual([(one.cluster, one.scenario) for one in plans], [("dgx-h100", None)])

    def test_several_scenarios(self) -> None:
        plans = shardsim.plan({**OPEN, "strategies": ["ddp", "fsdp2"]}, hwprofiles=HARDWARE,
                              tokens="1G", node_counts="1")
        self.assertEqual([one.scenario for one in plans], ["ddp", "fsdp2"])

    def test_nodes_that_leave_and_join(self) -> None:
        asked = {"hwprofiles": HARDWARE, "tokens": "40M", "membership": INPUT / "membership.csv"}
        elastic = shardsim.plan(INPUT / "sites.yaml", strategy__elastic=True, **asked)
        for plan in elastic:
            self.assertIsNone(plan.answer)
            self.assertEqual(plan.options[0].n_nodes, 3)  # as the trace begins
            self.assertGreaterEqual(sum(one.tokens for one in plan.options), 40e6)
        self.assertEqual(len({plan.scenario for plan in elastic}), 3)
        with self.assertRaisesRegex(shardsim.InputError, "nothing is searched"):
            shardsim.plan(INPUT / "sites.yaml", node_counts="1,2", **asked)
        cut = shardsim.plan(INPUT / "sites.yaml", strategy__elastic=True, time_limit="1 us",
                            **asked)
        self.assertEqual([plan.options for plan in cut], [[]])
        self.assertEqual(cut[0].partial.reason if cut[0].partial else None, "time limit")

    def test_errors(self) -> None:
        with self.assertRaisesRegex(shardsim.InputError, "--node-counts"):
            shardsim.plan(FULL, hwprofiles=HARDWARE, tokens="1G", node_counts="8..4")
        with self.assertRaisesRegex(shardsim.InputError, "needs the batch"):
            shardsim.plan({**OPEN, "training": {"seq_len": 100}}, hwprofiles=HARDWARE, tokens="1G")


class TestSensitivity(unittest.TestCase):
    def test_figures_and_options(self) -> None:
        found = shardsim.sensitivity(FULL, hwprofiles=HARDWARE, figure="gpu.hbm_bandwidth")
        self.assertEqual([one.figure for one in found.figures], ["gpu.hbm_bandwidth"])
        self.assertEqual(found.options, [])
        self.assertEqual(found.prediction.row(),
                         shardsim.simulate(FULL, hwprofiles=HARDWARE).row())
        only = shardsim.sensitivity(FULL, hwprofiles=HARDWARE, only="options")
        self.assertEqual(only.figures, [])
        self.assertIn("--micro-batch 2", [one.options for one in only.options])

    def test_heat_map(self) -> None:
        found = shardsim.heat_map(FULL, hwprofiles=HARDWARE, x="training.micro_batch=1,2",
                                  y="training.seq_len=50,100")
        self.assertEqual([(one.x_value, one.y_value) for one in found.cells],
                         [(1, 50), (2, 50), (1, 100), (2, 100)])

    def test_errors(self) -> None:
        with self.assertRaisesRegex(shardsim.InputError, "--figure asks about figures"):
            shardsim.sensitivity(FULL, hwprofiles=HARDWARE, figure="nic.bandwidth", only="options")


class TestMaximum(unittest.TestCase):
    def test_the_next_does_not_fit(self) -> None:
        found = shardsim.maximum("micro_batch", {**FULL, "training": {"seq_len": 100}},
                                 hwprofiles=HARDWARE)
        assert found.prediction is not None
        self.assertTrue(found.prediction.fits)
        self.assertIsNone(found.partial)
        self.assertEqual(found.prediction.micro_batch, found.value)
        beyond = shardsim.simulate({**FULL, "training": {"seq_len": 100}}, hwprofiles=HARDWARE,
                                   micro_batch=found.next)
        self.assertFalse(beyond.fits)

    def test_time_limit(self) -> None:
        found = shardsim.maximum("seq_len", FULL, hwprofiles=HARDWARE, time_limit="1 us")
        self.assertIsNone(found.prediction)
        self.assertEqual(found.partial.reason if found.partial else None, "time limit")

    def test_errors(self) -> None:
        with self.assertRaisesRegex(shardsim.InputError, "did you mean 'seq_len'"):
            shardsim.maximum("seq_lens", FULL, hwprofiles=HARDWARE)


# Minutes of search.
LONG = {"cluster": "8 x dgx-h100", "model": "llama-3-70b", "seq_len": 4096, "global_batch": 512,
        "effort": 100}


class TestEarlyEnds(unittest.TestCase):
    def test_time_limit(self) -> None:
        began = time.monotonic()
        found = shardsim.search(time_limit="1 s", **LONG)
        self.assertLess(time.monotonic() - began, 30)
        assert found.partial is not None
        self.assertEqual(found.partial.reason, "time limit")
        self.assertIsNone(search().partial)

    def test_time_limit_of_others(self) -> None:
        """A plan and a sensitivity that take minutes, too, and say so."""
        run = {"cluster": "2 x dgx-h100", "model": "llama-3-8b", "seq_len": 8192}
        began = time.monotonic()
        for found in (*shardsim.plan(tokens="2T", time_limit="1 s", **LONG),
                      shardsim.sensitivity(strategy="fsdp2", time_limit="2 s", **run)):
            assert found.partial is not None
            self.assertEqual(found.partial.reason, "time limit")
        self.assertLess(time.monotonic() - began, 60)

    def test_limit_of_memory(self) -> None:
        """Less than the process has ends a simulation, and the next one knows nothing of it."""
        try:
            shardsim.max_memory_use("1 MB")
            with self.assertRaisesRegex(shardsim.ShardsimError, "more memory than shardsim may"):
                shardsim.simulate(FULL, hwprofiles=HARDWARE)
        finally:
            shardsim.max_memory_use(None)
        self.assertTrue(shardsim.simulate(FULL, hwprofiles=HARDWARE).fits)
        for wrong in "0 B", "much":
            with self.assertRaisesRegex(shardsim.InputError, "max_memory_use: "):
                shardsim.max_memory_use(wrong)

    def test_interrupt(self) -> None:
        """The handler's exception is raised soon, and no thread is left at work."""
        began = time.monotonic()
        timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            shardsim.search(**LONG)
        self.assertLess(time.monotonic() - began, 30)
        timer.join()
        self.assertEqual(threading.active_count(), 1)
        self.assertEqual(len(search()), 4)  # the next call is whole

    def test_interrupt_of_a_comparison(self) -> None:
        many = {"cluster": {"name": "8 x dgx-h100"}, "model": {"config": "llama-3-70b"},
                "strategies": ["fsdp2"], "training": {"seq_len": [1024 * n for n in range(1, 513)]}}
        began = time.monotonic()
        timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            shardsim.compare(many)
        self.assertLess(time.monotonic() - began, 30)


class TestOptions(unittest.TestCase):
    def test_every_option_is_a_parameter(self) -> None:
        """The keys of a request, which an unknown one is told, are parameters by their name."""
        elsewhere = {"file", "name"}  # `scenario`; `name` lays another name over it
        for name, function, left_out in (
                ("search", shardsim.search, set()), ("plan", shardsim.plan, set()),
                ("sensitivity", shardsim.sensitivity, {"map"}),
                ("maximum", shardsim.maximum, {"jobs", "steps"})):
            hint = json.loads(_library.ask(name, '{"?": 1}'))["diagnostics"][0]["hint"]
            keys = set(re.sub("^valid keys: ", "", hint).split(", "))
            self.assertEqual(keys - set(inspect.signature(function).parameters),
                             elsewhere | left_out, name)


if __name__ == "__main__":
    unittest.main()
