"""Tests of the Python module against the built library, on the hand-made hardware."""
import os
import pathlib
import pickle
import sys
import threading
import types
import typing
import unittest
from unittest import mock

import shardsim

ROOT = pathlib.Path(os.environ["SHARDSIM_SOURCE_ROOT"])
HARDWARE = ROOT / "docs/worked/hwprofiles"
SECTIONS = {
    "cluster": {"node": "hand-pair", "nodes": 1},
    "model": {"arch": "llama", "n_layers": 1, "d_model": 200, "n_heads": 2, "d_ff": 400,
              "vocab": 500},
    "training": {"seq_len": 100, "fused_norm": True},
    "strategy": {"name": "ddp"},
}
TOO_BIG = {"vocab": 16_000_000}


def simulate(scenario: typing.Any = None, **more: typing.Any) -> shardsim.Prediction:
    return shardsim.simulate(scenario or SECTIONS, hwprofiles=HARDWARE, **more)


class TestSimulate(unittest.TestCase):
    def test_attributes_are_keys(self) -> None:
        run = simulate(micro_batch=2)
        self.assertTrue(run.fits)
        self.assertEqual(run.step_time_s, run["step_time_s"])
        self.assertEqual(run.settings["training"]["micro_batch"], 2)
        self.assertIn("hbm", dir(run))
        self.assertEqual(len(run), len(list(run)))
        with self.assertRaises(AttributeError):
            _ = run.step_time

    def test_annotated_results_are_there(self) -> None:
        run = simulate()
        plain = {str: str, bool: bool, int: int, float: (int, float)}
        for name, hint in typing.get_type_hints(shardsim.Prediction).items():
            wanted: typing.Any = plain.get(hint) or typing.get_origin(hint)
            self.assertIsInstance(run[name], wanted, name)

    def test_keywords_sections_and_set_say_the_same(self) -> None:
        runs = [
            simulate(seq_len=50, fused_norm=False),
            simulate(training__seq_len=50, training__fused_norm=False),
            simulate(set={"training.seq_len": 50, "training.fused_norm": "off"}),
            simulate({**SECTIONS, "training": {"seq_len": 50, "fused_norm": False}}),
        ]
        for run in runs[1:]:
            self.assertEqual(run.row(), runs[0].row())
        self.assertNotEqual(runs[0].step_time_s, simulate().step_time_s)

    def test_figures_are_a_map_or_a_list(self) -> None:
        said = [simulate(figure=figure).step_time_s
                for figure in ("gpu.hbm_bandwidth=100 GB/s, gpu.hbm_bytes=9 GB",
                               {"gpu.hbm_bandwidth": "100 GB/s", "gpu.hbm_bytes": "9 GB"},
                               ["gpu.hbm_bandwidth=100 GB/s", "gpu.hbm_bytes=9 GB"])]
        self.assertEqual(said, said[:1] * 3)
        self.assertNotEqual(said[0], simulate().step_time_s)

    def test_job(self) -> None:
        job = ROOT / "workloads/jobs/zero3.json"
        keys = {"cluster": "dgx-h100", "model": "llama-3-8b", "seq_len": 512}
        run = shardsim.simulate(job, job_as="deepspeed", lenient=True, **keys)
        self.assertEqual(run.strategy, "zero3")
        with self.assertRaises(shardsim.InputError):
            shardsim.simulate(job, job_as="torchtitan", **keys)

    def test_file_and_text(self) -> None:
        path = ROOT / "docs/worked/1-ddp-two-gpus.yaml"
        run = simulate(path)
        again = shardsim.simulate(text=path.read_text(encoding="utf-8"), hwprofiles=HARDWARE)
        self.assertEqual(run.scenario, "one step by hand, DDP on two GPUs")
        self.assertEqual(run.row(), again.row())

    def test_what_does_not_fit_is_a_result(self) -> None:
        run = simulate(set=TOO_BIG)
        self.assertFalse(run.fits)
        self.assertIn("does not fit", repr(run))

    def test_errors_are_data(self) -> None:
        with self.assertRaises(shardsim.InputError) as caught:
            simulate({**SECTIONS, "training": {"seq_len": "long"}}, micro_bach=2)
        first, second = caught.exception.diagnostics
        self.assertEqual((first.severity, first.file, first.line), ("error", "scenario", 15))
        self.assertIn("'long'", first.message)
        self.assertIn("micro_bach", second.message)
        with self.assertRaisesRegex(shardsim.InputError, "^tp 0: error: .*'tp'"):
            simulate(tp=0)
        self.assertIn("scenario:15:", str(caught.exception))

    def test_misspelt_keywords(self) -> None:
        """The nearest is named, be it an option of a scenario or of the function."""
        for word, meant in (("micro_bach", "micro_batch"), ("straregy", "strategy"),
                            ("unfoldd", "unfolded"), ("intervall", "interval")):
            with self.assertRaisesRegex(shardsim.InputError,
                                        f"unknown key '{word}' .did you mean '{meant}'"):
                simulate(**{word: 1})
        with self.assertRaisesRegex(shardsim.InputError, "did you mean 'time_limit'"):
            shardsim.search(SECTIONS, hwprofiles=HARDWARE, time_limt="1 s")

    def test_what_is_not_there(self) -> None:
        with self.assertRaises(shardsim.ShardsimError) as caught:
            simulate(plugins=["/no/such.so"])
        self.assertIn("/no/such.so", str(caught.exception))
        with self.assertRaises(shardsim.InputError):
            shardsim.simulate("/no/such.yaml")
        with self.assertRaises(TypeError):
            shardsim.simulate("a.yaml", text="")

    def test_none_is_left_out(self) -> None:
        plain = simulate()
        self.assertEqual(simulate(micro_batch=None).row(), plain.row())
        self.assertEqual(simulate(set={"training.micro_batch": None}).row(), plain.row())
        self.assertEqual(simulate(micro_batch=2, set={"micro_batch": None}).micro_batch, 2)

    def test_a_plugin_may_be_one(self) -> None:
        for plugins in "/absent.so", pathlib.Path("/absent.so"), ["/absent.so"]:
            with self.assertRaisesRegex(shardsim.ShardsimError, "/absent.so"):
                simulate(plugins=plugins)

    def test_errors_cross_processes(self) -> None:
        with self.assertRaises(shardsim.InputError) as caught:
            simulate(colour="red")
        again = pickle.loads(pickle.dumps(caught.exception))
        self.assertEqual(again.diagnostics, caught.exception.diagnostics)
        self.assertEqual(str(again), str(caught.exception))

    def test_name(self) -> None:
        self.assertEqual(simulate(name="mine").scenario, "mine")

    def test_names_in_any_script(self) -> None:
        self.assertEqual(simulate({**SECTIONS, "name": "größe \U0001f40e"}).scenario,
                         "größe \U0001f40e")

    def test_threads(self) -> None:
        rows: typing.List[typing.Any] = []
        threads = [threading.Thread(target=lambda: rows.append(simulate().row()))
                   for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(rows, [simulate().row()] * 4)


class TestCompare(unittest.TestCase):
    def compare(self, scenarios: typing.Any, **more: typing.Any) -> shardsim.Comparison:
        return shardsim.compare(scenarios, hwprofiles=HARDWARE, **more)

    def test_list_grid_and_best(self) -> None:
        runs = self.compare([{**SECTIONS, "name": name, "training": {"seq_len": 100 * n}}
                             for n, name in ((1, "short"), (2, "long"))])
        self.assertEqual([run.scenario for run in runs], ["short", "long"])
        grid = self.compare({**SECTIONS, "training": {"seq_len": [100, 200]}}, fused_norm=False)
        self.assertEqual([run.step_time_s for run in grid], [run.step_time_s for run in runs])
        best = runs.best()
        assert best is not None
        self.assertEqual(best.tokens_per_s_per_gpu, max(run.tokens_per_s_per_gpu for run in runs))
        self.assertIsNone(shardsim.Comparison([simulate(set=TOO_BIG)]).best())

    def test_what_is_left_out(self) -> None:
        with self.assertRaises(shardsim.InputError) as caught:
            self.compare([{**SECTIONS, "name": "good"},
                          {**SECTIONS, "name": "bad", "mesh": {"tp": 3}}])
        self.assertEqual(caught.exception.left_out, ("bad",))
        self.assertEqual([run.scenario for run in caught.exception.predictions], ["good"])

    def test_simulate_wants_one(self) -> None:
        with self.assertRaises(ValueError):
            simulate({**SECTIONS, "training": {"seq_len": [100, 200]}})


class TestFrames(unittest.TestCase):
    def test_rows_become_a_frame(self) -> None:
        frames = types.SimpleNamespace(DataFrame=list)  # as pandas is called
        with mock.patch.dict(sys.modules, {"pandas": frames}):
            frame: typing.Any = simulate().to_frame()
        self.assertEqual(frame, [simulate().row()])
        self.assertTrue(all(not isinstance(value, (dict, list)) for value in frame[0].values()))

    def test_pandas_is_asked_for(self) -> None:
        with mock.patch.dict(sys.modules, {"pandas": None}):
            with self.assertRaisesRegex(ImportError, "pandas"):
                simulate().to_frame()

    def test_pandas(self) -> None:
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not installed")
        frame = shardsim.Comparison([simulate(), simulate()]).to_frame()
        self.assertIsInstance(frame, pandas.DataFrame)
        self.assertEqual(len(frame), 2)


class TestLists(unittest.TestCase):
    def test_lists(self) -> None:
        for items, name in ((shardsim.strategies(), "fsdp2"), (shardsim.models(), "llama-3-8b"),
                            (shardsim.gpus(), "h100-sxm-80"), (shardsim.nodes(), "dgx-h100"),
                            (shardsim.links(), "ib-ndr-400"),
                            (shardsim.clusters(), "frontier-system")):
            self.assertIn(name, [item.name for item in items])
        self.assertTrue(all(item.title for item in shardsim.gpus()))


class TestLibrary(unittest.TestCase):
    def test_version(self) -> None:
        self.assertRegex(shardsim.version(), r"^\d+\.\d+")

    def test_absent(self) -> None:
        from shardsim import _library
        _library._load.cache_clear()
        try:
            with mock.patch.dict(os.environ, {"SHARDSIM_LIBRARY": "/no/lib.so"}):
                with self.assertRaisesRegex(shardsim.LibraryError, "SHARDSIM_LIBRARY"):
                    shardsim.version()
        finally:
            _library._load.cache_clear()


if __name__ == "__main__":
    unittest.main()
