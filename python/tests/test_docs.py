"""Runs what docs/python.md and the module's own page show, and the notebook."""
import contextlib
import doctest
import io
import os
import pathlib
import runpy
import unittest

import shardsim

ROOT = pathlib.Path(os.environ["SHARDSIM_SOURCE_ROOT"])


class TestDocs(unittest.TestCase):
    def test_page(self) -> None:
        page = ROOT / "docs/python.md"
        result = doctest.testfile(str(page), module_relative=False, encoding="utf-8",
                                  optionflags=doctest.ELLIPSIS)
        self.assertGreater(result.attempted, 0)
        self.assertEqual(result.failed, 0)

    def test_module(self) -> None:
        result = doctest.testmod(shardsim)
        self.assertGreater(result.attempted, 0)
        self.assertEqual(result.failed, 0)

    def test_notebook(self) -> None:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            runpy.run_path(str(ROOT / "docs/examples/notebook.py"))
        self.assertRegex(said.getvalue(), r"\nbest: \w+, bound by \w+\n")
        self.assertRegex(said.getvalue(), r"\nanswer: --micro-batch \d")


if __name__ == "__main__":
    unittest.main()
