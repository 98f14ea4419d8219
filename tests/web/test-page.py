#!/usr/bin/env python3
"""The page of `shardsim web` in a real browser: each control, the address, files, and no noise."""

import os
import random
import subprocess
import json
import sys
import tempfile
import time
import unittest
from urllib.parse import urlsplit

from browser import Browser
from controls import CHROMIUM, PICTURES, READY, SUMMARY, pressing, setting, touching, uploading
from served import Served

PROGRAM, ROOT = sys.argv[1], sys.argv[2]


@unittest.skipIf(CHROMIUM is None, "there is no Chromium")
class PageCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if CHROMIUM is None:
            return
        cls.server = Served(PROGRAM)
        cls.browser = Browser(CHROMIUM)

    @classmethod
    def tearDownClass(cls):
        if CHROMIUM is None:
            return
        cls.browser.close()
        assert cls.server.close() == 0

    def setUp(self):
        self.browser.console.clear()
        self.browser.asked.clear()
        self.browser.size(1280, 900)

    def tearDown(self):
        self.assertEqual(self.browser.console, [])
        text = self.browser.run("document.body.textContent")
        for word in ("NaN", "undefined", "null", "[object"):
            self.assertNotIn(word, text)
        for url in self.browser.asked:
            if not url.startswith(("about:", "data:")):
                self.assertEqual(urlsplit(url).port, self.server.port, url)

    def start(self, words=""):
        self.browser.open(self.server.address + words)
        self.browser.wait(READY)

    def change(self, key, value):
        before = self.browser.run(SUMMARY)
        self.browser.run(setting(key, value))
        self.browser.wait(f"{SUMMARY} !== {json.dumps(before)}")
        self.browser.wait("!document.querySelector('#answer.busy')")


class Controls(PageCase):
    def test_first_answer(self):
        self.start()
        self.assertIn("a step", self.browser.run(SUMMARY))
        self.assertIn("cluster.name=8+x+dgx-h100", self.browser.run("location.hash"))

    def test_every_essential_control(self):
        self.start()
        for key, value in (
            ("model.config", "llama-2-7b"),
            ("cluster.name", "4"),
            ("strategy.name", "zero1"),
            ("training.seq_len", "2048"),
            ("training.micro_batch", "2"),
            ("training.grad_accum", "2"),
            ("mesh.tp", "2"),
            ("mesh.pp", "2"),
            ("training.activation_checkpointing", "full"),
            ("training.precision", "fp32"),
        ):
            with self.subTest(key=key):
                self.change(key, value)

    def test_who_drags_asks_once(self):
        """Of many changes at once the last is asked about; an answer on its way is given up."""
        self.start()
        before = self.browser.run(SUMMARY)
        self.browser.asked.clear()
        self.browser.run(
            "(() => { const range = document.querySelector("
            "'[data-key=\"training.seq_len\"] [type=range]');"
            "for (const power of [9, 10, 11, 12, 10, 11, 12, 11]) { range.value = power;"
            "range.dispatchEvent(new Event('input', { bubbles: true })); } })()"
        )
        self.browser.wait(f"{SUMMARY} !== {json.dumps(before)}")
        self.browser.wait("!document.querySelector('#answer.busy')")
        asked = [url for url in self.browser.asked if url.endswith("/api/predict")]
        self.assertEqual(len(asked), 1)
        self.assertIn("training.seq_len=2048", self.browser.run("location.hash"))

    def test_every_option_is_there(self):
        self.start()
        tables = self.server.get("/api/options")
        keys = {f"{s['name']}.{o['key']}" for s in tables["sections"] for o in s["options"]}
        shown = set(
            self.browser.run("[...document.querySelectorAll('[data-key]')].map(e => e.dataset.key)")
        )
        self.assertEqual(keys - shown, set())

    def test_options_are_found(self):
        self.start()
        self.browser.run(
            "(() => { const f = document.getElementById('filter'); f.value = 'oversubscription';"
            "f.dispatchEvent(new Event('input')); })()"
        )
        found = self.browser.run(
            "[...document.querySelectorAll('#sections .field')].filter(e => !e.hidden)"
            ".map(e => e.dataset.key)"
        )
        self.assertIn("cluster.oversubscription", found)
        self.assertLess(len(found), 12)

    def test_what_is_wrong_stands_beside_its_field(self):
        self.start()
        self.change("mesh.tp", "many")
        text = self.browser.run(
            "document.querySelector('[data-key=\"mesh.tp\"] .wrong').textContent"
        )
        self.assertIn("many", text)

    def test_remedies_apply_themselves(self):
        self.start(
            "#cluster.name=1+x+dgx-h100&model.config=llama-3-70b&strategy.name=fsdp2"
            "&training.seq_len=4096"
        )
        self.assertIn("DOES NOT FIT", self.browser.run(SUMMARY))
        self.browser.wait("document.querySelector('#remedies button') !== null")
        self.browser.run("document.querySelector('#remedies button').click()")
        self.browser.wait(f"{SUMMARY}.startsWith('fits')")

    def test_pinned_are_compared(self):
        self.start()
        self.browser.run("document.getElementById('pin').click()")
        self.change("cluster.name", "16")
        rows = self.browser.run("document.querySelectorAll('#pinned tbody tr').length")
        self.assertEqual(rows, 2)
        self.assertIn("%", self.browser.run("document.getElementById('pinned').textContent"))

    def test_curve(self):
        self.start()
        self.browser.run(pressing("Draw"))
        self.browser.wait("document.querySelectorAll('#curve circle').length === 4")

    def test_curve_is_of_one_scenario(self):
        """That it was drawn of, also where another is shown before it is done."""
        drawn = "document.querySelectorAll('#curve circle').length === 4"
        text = "document.getElementById('curve').textContent"
        self.start()
        self.browser.run(pressing("Draw"))
        self.browser.wait(drawn)
        said = self.browser.run(text)
        self.browser.run("document.getElementById('curve').replaceChildren()")
        self.browser.run(f"{pressing('Draw')}; {setting('training.seq_len', '2048')}")
        self.browser.wait(drawn)
        self.assertEqual(self.browser.run(text), said)

    def test_largest(self):
        self.start()
        self.browser.run(pressing("Longest sequence"))
        self.browser.wait(
            "Number(document.querySelector('[data-key=\"training.seq_len\"] input')"
            ".value) > 8192"
        )

    def test_search(self):
        """The best so far stands there while a search runs; what is stopped has at least that."""
        self.start(
            "#cluster.name=1+x+dgx-h100&model.config=llama-3.1-8b&strategy.name=fsdp2"
            "&training.seq_len=4096&mesh.tp=8"
        )
        self.browser.run(pressing("Find the best configuration"))
        self.browser.wait("document.querySelector('.progress tbody tr') !== null")
        self.assertRegex(
            self.browser.run("document.querySelector('.progress p').textContent"),
            r"^[a-z ]+, \d+ (so far|of \d+), \d+\.\d s; best: .* a step, \d+ tokens/s/GPU$",
        )
        if PICTURES:
            self.browser.picture(f"{PICTURES}/progress-1280.png")
            self.browser.size(390, 1400)
            self.browser.picture(f"{PICTURES}/progress-390.png")
        speed = "Number(document.querySelector('{} tbody tr').cells[3].textContent)"
        so_far = self.browser.run(speed.format(".progress"))
        self.browser.run(pressing("Stop with what there is"))
        self.browser.wait("document.querySelector('#found tbody tr') !== null", 120)
        self.assertGreaterEqual(self.browser.run(speed.format("#found")), so_far)
        self.assertIsNone(self.browser.run("document.querySelector('.progress')"))
        before = self.browser.run(SUMMARY)
        found = self.browser.run(speed.format("#found"))
        self.browser.run("document.querySelector('#found button').click()")
        self.browser.wait(f"{SUMMARY} !== {json.dumps(before)}")
        shown = self.browser.run(
            "document.querySelectorAll('#headline b')[2].textContent.replace(',', '')"
        )
        self.assertAlmostEqual(float(shown), found, delta=0.001 * found)

    def test_what_is_found_can_be_taken_before_the_end(self):
        self.start(
            "#cluster.name=1+x+dgx-h100&model.config=llama-3.1-8b&strategy.name=fsdp2"
            "&training.seq_len=4096"
        )
        before = self.browser.run("location.hash")
        self.browser.run(pressing("Find the best configuration"))
        self.browser.wait("document.querySelector('.progress button') !== null")
        self.browser.run("document.querySelector('.progress button').click()")
        self.browser.wait(f"location.hash !== {json.dumps(before)}")
        self.browser.run(pressing("Stop with what there is"))
        self.browser.wait("document.querySelector('#found').textContent !== ''", 120)
        self.browser.wait(READY)

    def test_advice_applies_itself(self):
        self.start(
            "#cluster.name=1+x+dgx-h100&model.config=llama-2-7b&strategy.name=zero3"
            "&training.seq_len=1024"
        )
        self.browser.run(pressing("What would be faster"))
        self.browser.wait("document.querySelector('#remedies button') !== null")
        self.assertIn("more", self.browser.run("document.getElementById('found').textContent"))
        before = self.browser.run(SUMMARY)
        self.browser.run("document.querySelector('#remedies button').click()")
        self.browser.wait(f"{SUMMARY} !== {json.dumps(before)}")

    def test_goal(self):
        self.start()
        self.assertIn("days", self.browser.run("document.getElementById('goal-text').textContent"))

    def test_texts(self):
        self.start()
        self.browser.run("document.getElementById('show-text').click()")
        self.browser.wait("document.getElementById('texts').open")
        command = self.browser.run("document.getElementById('command').textContent")
        own = subprocess.run(
            command.replace("shardsim", f"'{PROGRAM}'", 1) + " --format json",
            shell=True,
            capture_output=True,
            text=True,
            check=True,
        )
        step = json.loads(own.stdout)["results"][0]["step_time_s"]
        shown = self.browser.run("document.querySelectorAll('#headline b')[1].textContent")
        self.assertAlmostEqual(float(shown.split()[0]), step * 1000, delta=step)


class Address(PageCase):
    def test_a_link_says_the_same(self):
        self.start()
        self.change("training.micro_batch", "2")
        link, said = self.browser.run("location.href"), self.browser.run(SUMMARY)
        other = Browser(CHROMIUM)
        other.open(link)
        other.wait(READY)
        self.assertEqual(other.run(SUMMARY), said)
        self.assertEqual(other.run("location.href"), link)
        other.close()

    def test_history_undoes(self):
        self.start()
        said = self.browser.run(SUMMARY)
        self.change("training.seq_len", "2048")
        self.browser.run("history.back()")
        self.browser.wait(f"{SUMMARY} === {json.dumps(said)}")

    def test_uploads_are_in_the_link(self):
        self.start()
        with open(f"{ROOT}/workloads/models/llama-2-7b.json", encoding="utf-8") as file:
            text = file.read()
        before = self.browser.run(SUMMARY)
        self.browser.run(uploading("config.json", text))
        self.browser.wait(f"{SUMMARY} !== {json.dumps(before)}")
        said, link = self.browser.run(SUMMARY), self.browser.run("location.href")
        self.browser.open(link)
        self.browser.wait(READY)
        self.assertEqual(self.browser.run(SUMMARY), said)

    def test_a_job_is_predicted(self):
        self.start()
        job = (
            "cluster: 2 x dgx-h100\nmodel: llama-2-7b\nstrategy: zero1\ntraining: { seq_len: 2048 }"
        )
        before = self.browser.run(SUMMARY)
        self.browser.run(uploading("mine.yaml", job))
        self.browser.wait(f"{SUMMARY} !== {json.dumps(before)}")
        self.browser.wait(READY)
        self.assertIn(
            "16", self.browser.run("document.querySelectorAll('#headline span')[3].textContent")
        )


class Token(PageCase):
    """A page that wants a token, and gets it once."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = tempfile.TemporaryDirectory()
        if CHROMIUM is None:
            return
        cls.server.close()
        file = f"{cls.folder.name}/token"
        cls.server = Served(PROGRAM, "--listen", "127.0.0.1", "--token-file", file)
        with open(file, encoding="utf-8") as made:
            cls.token = made.read().strip()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.folder.cleanup()

    def test_first_visit(self):
        """Without it the page says so; with it once, it stays, and the address has it no more."""
        self.browser.open(self.server.address)
        self.browser.wait(
            "document.getElementById('summary')?.textContent.includes('wants its token')"
        )
        self.browser.console.clear()  # where Chromium says that something was refused, too
        scenario = (
            "#cluster.name=1+x+dgx-h100&model.config=llama-2-7b&strategy.name=fsdp2"
            "&training.seq_len=1024"
        )
        self.start(f"?token={self.token}{scenario}")
        self.assertEqual(self.browser.run("location.search"), "")
        self.assertEqual(self.browser.run("location.hash"), scenario)
        self.assertEqual(self.browser.run("document.cookie"), "")
        self.start()
        everything = self.browser.run("location.href + document.documentElement.outerHTML")
        self.assertNotIn(self.token, everything)
        session = self.browser.send("Network.getCookies")["cookies"]
        self.assertEqual([one["sameSite"] for one in session], ["Strict"])
        self.assertTrue(session[0]["httpOnly"])


class Speed(unittest.TestCase):
    """An answer takes no longer than the command of the same scenario does by some factor, both in
    turn on whatever machine; how many milliseconds that is docs/web.md says of one."""

    MOST = 3  # times as long

    @classmethod
    def setUpClass(cls):
        cls.server = Served(PROGRAM)

    @classmethod
    def tearDownClass(cls):
        assert cls.server.close() == 0

    def compare(self, scenario, turns):
        words = [f"--{key.replace('_', '-')}={value}" for key, value in scenario.items()]
        command = [PROGRAM, "simulate", *words, "--no-remedies", "--format", "json"]
        own, answers = [], []
        for _ in range(turns):
            begin = time.perf_counter()
            said = subprocess.run(command, capture_output=True, text=True, check=False)
            own.append(time.perf_counter() - begin)
            self.assertIn(said.returncode, (0, 3), said.stderr)
            begin = time.perf_counter()
            answer = self.server.post("/api/predict", {"set": scenario})
            answers.append(time.perf_counter() - begin)
            self.assertEqual(
                answer["results"][0]["step_time_s"],
                json.loads(said.stdout)["results"][0]["step_time_s"],
            )
        print(f"answer {min(answers):.3f} s, command {min(own):.3f} s", file=sys.stderr)
        self.assertLess(min(answers), self.MOST * min(own))

    def test_8b_on_512(self):
        scenario = {"cluster": "64 x dgx-h100", "model": "llama-3.1-8b", "strategy": "fsdp2"}
        self.compare({**scenario, "seq_len": "8192"}, 5)

    def test_405b_on_16384(self):
        scenario = {"cluster": "2048 x dgx-h100", "model": "llama-3.1-405b", "strategy": "fsdp2"}
        self.compare({**scenario, "seq_len": "8192", "tp": "8", "pp": "16", "grad_accum": "16"}, 2)


class Looks(PageCase):
    def test_widths(self):
        for width in (1280, 390):
            for dark in (False, True):
                self.browser.size(width, 1400)
                self.browser.dark(dark)
                self.start()
                wide = self.browser.run("document.documentElement.scrollWidth")
                self.assertLessEqual(wide, width)
                if PICTURES:
                    self.browser.picture(
                        f"{PICTURES}/page-{width}-{'dark' if dark else 'light'}.png"
                    )
        self.browser.dark(False)

    def test_labels(self):
        """What a screen reader says of each control."""
        self.start()
        bare = self.browser.run(
            "[...document.querySelectorAll('input, select, button')].filter(e => !(e.labels?.length"
            " || e.getAttribute('aria-label') || e.textContent.trim())).map(e => e.outerHTML)"
        )
        self.assertEqual(bare, [])


class Random(PageCase):
    def test_random_changes(self):
        """Whatever is pressed, and in whatever order: no error in the console."""
        draw = random.Random(os.environ.get("SHARDSIM_WEB_SEED", "1"))
        self.start()
        # back as often as there is something to go back to: before it lies another page
        self.browser.run(
            "(() => { const push = history.pushState.bind(history); window.went = 0;"
            " history.pushState = (...all) => { window.went++; push(...all); }; })()"
        )
        for _ in range(int(os.environ.get("SHARDSIM_WEB_CLICKS", "60"))):
            value = draw.choice(["1", "2", "0", "-1", "8", "", "x", "1e9", "2 GB/s", "<b>"])
            self.browser.run(touching(draw.randrange(10**6), value))
            if draw.random() < 0.2:  # until it has gone: what comes next would be gone from, too
                self.browser.run(
                    "window.went === 0 || new Promise(done => { window.went--;"
                    " addEventListener('popstate', () => done(true), { once: true });"
                    " history.back(); })"
                )
        self.browser.run(
            "location.hash = '#cluster.name=1+x+dgx-h100&model.config=llama-2-7b"
            "&strategy.name=ddp&training.seq_len=1024'"
        )
        self.browser.wait(READY, 120)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
