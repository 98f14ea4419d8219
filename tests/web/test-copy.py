#!/usr/bin/env python3
"""The copy of the page that `shardsim web --export` writes: from a file, in a real browser, without
a server; and what is never written over."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from browser import Browser
from controls import CHROMIUM, PICTURES, READY, SUMMARY, pressing, setting, touching

PROGRAM, ROOT = sys.argv[1], sys.argv[2]
GRID = {  # with one that does not fit, and one that cannot be
    "model": ["llama-3.2-1b", "llama-3-70b"],
    "cluster": ["1 x dgx-h100", "2 x dgx-h100"],
    "strategy": ["fsdp2", "ddp"],
    "seq_len": ["2048"],
    "micro_batch": ["1", "2"],
    "tp": ["1", "3"],
}
WORDS = [f"--vary={key}={','.join(values)}" for key, values in GRID.items()]
STYLES = [name for name in os.listdir(f"{ROOT}/html/web") if name.endswith(".css")]
FILES = sorted(["data.js", "index.html", "page.js", *STYLES])


def export(*words):
    return subprocess.run(
        [PROGRAM, "web", *words], capture_output=True, text=True, check=False, timeout=300
    )


@unittest.skipIf(CHROMIUM is None, "there is no Chromium")
class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.copy = f"{cls.folder.name}/a copy"
        cls.said = export("--export", cls.copy, *WORDS)
        if CHROMIUM:
            cls.browser = Browser(CHROMIUM)

    @classmethod
    def tearDownClass(cls):
        if CHROMIUM:
            cls.browser.close()
        cls.folder.cleanup()

    def setUp(self):
        self.browser.console.clear()
        self.browser.asked.clear()
        self.browser.size(1280, 900)

    def tearDown(self):
        self.assertEqual(self.browser.console, [])
        for url in self.browser.asked:
            self.assertRegex(url, "^(file|about|data):")
        for word in ("NaN", "undefined", "null", "[object"):
            self.assertNotIn(word, self.browser.run("document.body.textContent"))

    def start(self, words=""):
        self.browser.open(f"file://{self.copy}/index.html{words}")
        self.browser.wait(READY)

    def change(self, key, value):
        before = self.browser.run(SUMMARY)
        self.browser.run(setting(key, value))
        self.browser.wait(f"{SUMMARY} !== {json.dumps(before)}")
        self.browser.wait("!document.querySelector('#answer.busy')")

    def test_said(self):
        self.assertEqual(self.said.returncode, 0, self.said.stderr)
        self.assertRegex(self.said.stdout, r"a copy/index\.html: 32 scenarios, \d+\.\d MiB\n$")
        self.assertIn("16 of the 32 cannot be", self.said.stderr)
        self.assertEqual(sorted(os.listdir(self.copy)), FILES)

    def test_values_are_those_of_the_command(self):
        """All of the grid, one after the other, as whoever presses sees it."""
        self.start()
        for point in range(32):
            values, rest = {}, point
            for key in reversed(GRID):
                rest, i = divmod(rest, len(GRID[key]))
                values[key] = GRID[key][i]
            own = subprocess.run(
                [PROGRAM, "simulate", "--no-remedies", "--format=json"]
                + [f"--{key.replace('_', '-')}={value}" for key, value in values.items()],
                capture_output=True,
                text=True,
                check=False,
            )
            set_ = {
                "model.config": values["model"],
                "cluster.name": values["cluster"],
                "strategy.name": values["strategy"],
                "training.seq_len": values["seq_len"],
                "training.micro_batch": values["micro_batch"],
                "mesh.tp": values["tp"],
            }
            body = json.dumps(json.dumps({"set": set_}))
            answer = self.browser.run(
                f"fetch('/api/predict', {{ method: 'POST', body: {body} }}).then(a => a.json())"
            )
            with self.subTest(values=values):
                if own.returncode in (0, 3):
                    wanted = json.loads(own.stdout)["results"][0]
                    for key in wanted.keys() - {"scenario", "remedies", "remedy_search"}:
                        self.assertEqual(answer["results"][0][key], wanted[key], key)
                else:
                    self.assertEqual(answer["results"], [])
                    self.assertIn(answer["diagnostics"][0]["message"], own.stderr)

    def test_controls(self):
        """The grid's can be set, and show the command's number; nothing else can be."""
        self.start()
        for key, value in (
            ("training.micro_batch", "2"),
            ("cluster.name", "2 x dgx-h100"),
            ("strategy.name", "ddp"),
            ("model.config", "llama-3-70b"),
        ):
            self.change(key, value)
        self.assertIn("DOES NOT FIT", self.browser.run(SUMMARY))
        free = self.browser.run(
            "[...document.querySelectorAll('#form :is(input, select)')].filter(e => !e.disabled &&"
            " e.checkVisibility()).map(e => e.closest('[data-key]').dataset.key).sort()"
        )
        self.assertEqual(
            free,
            [
                "cluster.name",
                "mesh.tp",
                "model.config",
                "strategy.name",
                "training.micro_batch",
            ],
        )
        self.assertIn("32 scenarios", self.browser.run("document.body.textContent"))

    def test_what_cannot_be_is_said(self):
        self.start()
        self.browser.run(setting("mesh.tp", "3"))
        self.browser.wait(f"{SUMMARY}.startsWith('This cannot be')")

    def test_links(self):
        self.start()
        self.change("training.micro_batch", "2")
        said, link = self.browser.run(SUMMARY), self.browser.run("location.href")
        self.browser.open(link)
        self.browser.wait(READY)
        self.assertEqual(self.browser.run(SUMMARY), said)
        self.browser.open(link.replace("micro_batch=2", "micro_batch=7"))
        self.browser.wait(
            "document.querySelector('[data-key=\"training.micro_batch\"] .wrong')?.textContent"
            " === 'this copy of the page has 1, 2'"
        )

    def test_tools(self):
        self.start()
        self.browser.run("document.getElementById('pin').click()")
        self.change("training.micro_batch", "2")
        self.assertIn("%", self.browser.run("document.getElementById('pinned').textContent"))
        self.browser.run(pressing("Draw"))
        self.browser.wait("document.querySelectorAll('#curve circle').length === 2")
        self.browser.run("document.getElementById('show-text').click()")
        self.browser.wait("document.getElementById('texts').open")
        command = self.browser.run("document.getElementById('command').textContent")
        self.assertIn("--micro-batch 2", command)
        self.browser.run("document.getElementById('texts').close()")
        self.assertTrue(
            self.browser.run(
                "[...document.querySelectorAll('#tools button')].find(b =>"
                " b.textContent === 'Find the best configuration').disabled"
            )
        )

    def test_random_presses(self):
        draw = random.Random(os.environ.get("SHARDSIM_WEB_SEED", "1"))
        self.start()
        for _ in range(100):
            value = draw.choice(["1", "2", "0", "x", "dgx-h100"])
            self.browser.run(touching(draw.randrange(10**6), value))
        self.start()

    def test_widths(self):
        for width in (1280, 390):
            self.browser.size(width, 1400)
            self.start()
            self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), width)
            if PICTURES:
                self.browser.picture(f"{PICTURES}/copy-{width}.png")


class Folders(unittest.TestCase):
    SMALL = [
        "--vary=model=llama-3.2-1b",
        "--vary=cluster=1 x dgx-h100",
        "--vary=strategy=fsdp2",
        "--vary=micro_batch=1",
        "--vary=seq_len=512",
    ]

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.dir = f"{self.folder.name}/copy"

    def tearDown(self):
        self.folder.cleanup()

    def refused(self, status, text, *words):
        own = export("--export", self.dir, *words)
        self.assertEqual(own.returncode, status, own.stderr)
        self.assertEqual(own.stdout, "")
        self.assertIn(text, own.stderr)

    def test_earlier_copies_are_replaced(self):
        self.assertEqual(export("--export", self.dir, *self.SMALL).returncode, 0)
        first = os.stat(f"{self.dir}/data.js").st_size
        own = export("--export", self.dir, *self.SMALL[:-1], "--vary=seq_len=512,1024")
        self.assertEqual(own.returncode, 0)
        self.assertEqual(sorted(os.listdir(self.dir)), FILES)
        self.assertGreater(os.stat(f"{self.dir}/data.js").st_size, first)

    def test_other_folders_stay(self):
        for names in (["notes.txt"], ["index.html"], FILES):
            os.mkdir(self.dir)
            for name in names:
                with open(f"{self.dir}/{name}", "w", encoding="utf-8") as file:
                    file.write("mine")
            self.refused(2, "name an empty folder", *self.SMALL)
            for name in names:
                with open(f"{self.dir}/{name}", encoding="utf-8") as file:
                    self.assertEqual(file.read(), "mine")
            self.assertEqual(sorted(os.listdir(self.dir)), sorted(names))
            shutil.rmtree(self.dir)

    def test_a_file_is_no_folder(self):
        with open(self.dir, "w", encoding="utf-8") as file:
            file.write("mine")
        self.refused(1, "--export", *self.SMALL)

    def test_grids_that_are_none(self):
        for status, text, words in (
            (2, "at most 2000", ["--vary=micro_batch=1..100"]),
            (2, "no option", ["--vary=training.nothing=1"]),
            (2, "varied twice", ["--vary=tp=1", "--vary=mesh.tp=2"]),
            (2, "expected KEY=VALUES", ["--vary=tp"]),
            (1, "no scenario of the grid can be", [*self.SMALL, "--vary=mesh.tp=7"]),
        ):
            with self.subTest(text=text):
                self.refused(status, text, *words)
                self.assertFalse(os.path.exists(self.dir))
        self.assertEqual(export("--vary=tp=1").returncode, 2)
        self.assertEqual(export("--export", self.dir, "--open").returncode, 2)

    def test_an_interrupt_leaves_nothing(self):
        own = subprocess.Popen(
            [PROGRAM, "web", "--export", self.dir],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        time.sleep(1)
        own.send_signal(signal.SIGINT)
        said, why = own.communicate(timeout=60)
        self.assertEqual((own.returncode, said), (130, ""))
        self.assertIn("nothing was written", why)
        self.assertFalse(os.path.exists(self.dir))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
