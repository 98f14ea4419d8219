#!/usr/bin/env python3
"""The page of `shardsim web` in a real browser: each control, the address, files, and no noise."""

import csv
import os
import random
import json
import statistics
import subprocess
import sys
import tempfile
import time
import unittest
from urllib.parse import urlsplit

from browser import Browser
from controls import (
    CHROMIUM,
    PICTURES,
    READY,
    SUMMARY,
    dropping,
    field_of,
    pasting,
    pressing,
    setting,
    setting_of,
    touching,
    uploading,
)
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
        self.change("training.micro_batch", "2")
        heads = "[...document.querySelectorAll('.compare thead th')].map(e => e.textContent)"
        self.assertEqual(len(self.browser.run(heads)), 2)
        rows = self.browser.run(
            "Object.fromEntries([...document.querySelectorAll('.compare tbody tr')].map(row =>"
            " [row.cells[0].textContent, [...row.cells].slice(1).map(e => e.textContent)]))"
        )
        self.assertEqual(rows["training.micro_batch"], ["1", "2"])
        self.assertEqual(rows["GPUs"], ["64", "128 +100 %"])
        self.assertNotIn("training.seq_len", rows)
        now = self.browser.run("document.querySelectorAll('#headline b')[1].textContent")
        self.assertTrue(rows["Step"][1].startswith(now))
        self.browser.run("document.querySelector('.compare thead button').click()")
        self.browser.wait(
            "document.querySelector('[data-key=\"training.micro_batch\"] input')" ".value === ''"
        )
        self.browser.wait(READY)
        self.browser.run("document.querySelectorAll('.compare thead button')[1].click()")
        self.assertEqual(self.browser.run(heads), [])

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

    def test_a_model_is_dropped_or_pasted(self):
        self.start()
        for name, bring in [
            ("llama-2-7b", lambda text: dropping("config.json", text)),
            ("llama-2-13b", pasting),
        ]:
            with open(f"{ROOT}/workloads/models/{name}.json", encoding="utf-8") as file:
                text = file.read()
            before = self.browser.run(SUMMARY)
            self.browser.run(bring(text))
            self.browser.wait(f"{SUMMARY} !== {json.dumps(before)}")
            self.browser.wait(READY)
            self.assertIn("config.json", self.browser.run("location.href"))

    def test_a_broken_model_is_diagnosed(self):
        self.start()
        self.browser.run(dropping("config.json", '{ "architectures": ['))
        self.browser.wait("document.getElementById('problems').textContent !== ''")
        self.assertIn(
            "parsing", self.browser.run("document.getElementById('problems').textContent")
        )

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


class Panels(PageCase):
    """What opens below the prediction. Each is opened and looked at in both widths by Looks."""

    def open_panel(self, name, ready="true"):
        self.browser.run(f"document.getElementById('panel-{name}').open = true")
        self.browser.wait(ready)

    def text_of(self, selector):
        return self.browser.run(f"document.querySelector('{selector}').textContent")

    def key(self, selector, key, shift="false"):
        self.browser.run(
            f"document.querySelector('{selector}').dispatchEvent(new KeyboardEvent('keydown',"
            f" {{ key: '{key}', shiftKey: {shift}, bubbles: true }}))"
        )

    def test_timeline_by_keyboard(self):
        self.start()
        self.open_panel("timeline", "document.querySelectorAll('.timeline rect').length > 100")
        about, boxes = ".about", "document.querySelectorAll('.timeline rect:not(.chosen)').length"
        self.key(".timeline", "ArrowDown")
        self.key(".timeline", "ArrowDown")
        self.key(".timeline", "ArrowRight")
        self.assertRegex(self.text_of(about), r"bound by \w+; rank 0.*, compute\)")
        first = self.text_of(about)
        self.key(".timeline", "ArrowRight")
        self.assertNotEqual(self.text_of(about), first)
        self.key(".timeline", "ArrowLeft")
        self.assertEqual(self.text_of(about), first)
        whole = self.browser.run(boxes)
        rows = "document.querySelector('.timeline').getAttribute('height')"
        tall = self.browser.run(rows)
        for _ in range(6):
            self.key(".timeline", "+")
        self.assertLess(self.browser.run(boxes), whole)
        # the server has cut what is seen anew: ops stand by themselves
        self.browser.wait("document.querySelectorAll('.timeline rect + text').length > 3")
        self.assertEqual(self.browser.run(rows), tall)
        self.key(".timeline", "Home")
        self.browser.wait(f"{boxes} > {whole} / 2")

    def test_timeline_of_many_stages(self):
        """405B on 16 stages: a row each, and few enough boxes to be drawn at once."""
        self.start(
            "#cluster.name=2048+x+dgx-h100&model.config=llama-3.1-405b&strategy.name=fsdp2"
            "&training.seq_len=8192&mesh.tp=8&mesh.pp=16&training.grad_accum=16"
            "&training.activation_checkpointing=full"
        )
        self.open_panel("timeline", "document.querySelectorAll('.timeline rect').length > 100")
        rows = self.browser.run(
            "[...document.querySelectorAll('.timeline text')].map(e => e.textContent)"
            ".filter(text => text.startsWith('stage')).length"
        )
        self.assertEqual(rows, 16)
        self.assertLess(
            self.browser.run("document.querySelectorAll('.timeline rect').length"), 6000
        )

    def test_timeline_follows_the_scenario(self):
        self.start()
        self.open_panel("timeline", "document.querySelectorAll('.timeline rect').length > 100")
        before = self.text_of("#panel-timeline .soft")
        self.change("training.micro_batch", "2")
        self.browser.wait(
            f"document.querySelector('#panel-timeline .soft').textContent !== {json.dumps(before)}"
        )

    def heat(self, values):
        """Draws tp down and micro-batches of VALUES to the right."""
        self.open_panel("heat", "document.querySelector('#panel-heat input').value !== ''")
        self.browser.run(
            "(() => { const all = document.querySelectorAll('#panel-heat input');"
            f" all[1].value = '{values}'; all[3].value = '1, 2'; }})()"
        )
        self.browser.run(pressing("Draw the map"))

    def test_heat_map(self):
        self.start()
        self.heat("1, 2, 1000")
        self.browser.wait("document.querySelectorAll('.heat .cell').length === 6")
        cells = self.browser.run(
            "[...document.querySelectorAll('.heat .cell')].map(e => [e.className, e.textContent])"
        )
        scenario = {"cluster": "8 x dgx-h100", "model": "llama-3.1-8b", "strategy": "fsdp2"}
        for (kind, text), (tp, batch) in zip(cells, ((t, b) for t in (1, 2) for b in (1, 2, 1000))):
            own = {**scenario, "seq_len": "8192", "tp": str(tp), "micro_batch": str(batch)}
            result = self.server.post("/api/predict", {"set": own})["results"][0]
            rate = float(text.replace(",", ""))
            self.assertAlmostEqual(rate / result["tokens_per_s_per_gpu"], 1, delta=1e-3)
            self.assertEqual("unfit" in kind, not result["fits"])
        self.browser.run("document.querySelector('.heat .cell[tabindex=\"0\"]').focus()")
        for key in ("ArrowRight", "ArrowDown"):
            self.browser.run(
                "document.activeElement.dispatchEvent(new KeyboardEvent('keydown',"
                f" {{ key: '{key}', bubbles: true }}))"
            )
        self.assertIn(
            "mesh.tp 2", self.browser.run("document.activeElement.getAttribute('aria-label')")
        )
        self.browser.run("document.activeElement.click()")
        self.browser.wait("location.hash.includes('mesh.tp=2')")
        self.assertIn("training.micro_batch=2", self.browser.run("location.hash"))
        self.browser.wait("document.querySelector('#panel-heat .old') !== null")

    def test_what_is_wrong_with_a_map(self):
        self.start()
        self.heat("1, many")
        self.browser.wait("document.querySelector('#panel-heat .wrong').textContent !== ''")
        self.assertIn("many", self.text_of("#panel-heat .wrong"))

    def test_sensitivity(self):
        """The bars are of what the interface says; figures that do nothing have none."""
        self.start()
        self.open_panel("sensitivity")
        self.browser.run(setting_of("sensitivity", "Divided and multiplied by", "2"))
        self.browser.run(pressing("Which hardware matters"))
        self.browser.wait("document.querySelectorAll('.bars rect').length > 4", 120)
        scenario = {"cluster": "8 x dgx-h100", "model": "llama-3.1-8b", "strategy": "fsdp2"}
        answer = self.server.post(
            "/api/sensitivity",
            {"set": {**scenario, "seq_len": "8192"}, "only": "figures", "factor": "2"},
        )
        step = answer["results"][0]["step_time_s"]
        effects = {
            one["figure"]: max(
                abs((one[key] or step) / step - 1)
                for key in ("less_step_time_s", "more_step_time_s")
            )
            for one in answer["sensitivity"]["figures"]
        }
        first = self.text_of("#panel-sensitivity tbody td")
        self.assertEqual(effects[first], max(effects.values()))
        rows = self.browser.run("document.querySelectorAll('#panel-sensitivity tbody tr').length")
        self.assertEqual(rows, sum(one >= 5e-4 for one in effects.values()))

    def test_plan(self):
        self.start()
        self.open_panel("plan")
        self.browser.run(setting_of("plan", "Numbers of nodes", "2,4,8"))
        self.browser.run(setting_of("plan", "Types of node to choose from", "dgx-h100, dgx-a100"))
        self.browser.run(pressing("Plan the run"))
        self.browser.wait("document.querySelectorAll('.plan tbody tr').length === 6", 120)
        self.assertIn("8 x dgx-h100 meet it", self.text_of("#panel-plan [role=status]"))
        self.browser.run(
            "document.querySelector('.plan [aria-label=\"take 4 x dgx-a100\"]').click()"
        )
        self.browser.wait("location.hash.includes('cluster.name=4+x+dgx-a100')")
        self.browser.wait("document.querySelector('#panel-plan .old') !== null")

    def test_what_is_wrong_with_a_plan_stands_beside_its_field(self):
        self.start()
        self.open_panel("plan")
        for label, value, word in (
            ("Price of a GPU-hour", "a/b", "a/b"),
            ("Deadline, days", "soon", "soon"),
            ("Numbers of nodes", "0", "0"),
        ):
            self.browser.run(setting_of("plan", label, value))
            self.browser.run(pressing("Plan the run"))
            beside = f"{field_of('plan', label)}.querySelector('.wrong').textContent"
            self.browser.wait(f"{beside} !== ''")
            self.assertIn(word, self.browser.run(beside))
            self.browser.run(setting_of("plan", label, ""))

    def test_record(self):
        """Every run of the shipped table is a dot; medians are those of the table."""
        with open(f"{ROOT}/hwprofiles/record/training.csv", encoding="utf-8") as file:
            runs = list(csv.DictReader(file))
        self.start()
        self.open_panel("record", "document.querySelector('.record .dot') !== null")
        dots = self.browser.run("document.querySelectorAll('.record .dot').length")
        self.assertEqual(dots, len(runs))
        rows = self.browser.run(
            "Object.fromEntries([...document.querySelectorAll('#panel-record tbody tr')].map(row =>"
            " [row.cells[0].textContent, row.cells[2].textContent]))"
        )
        own = [abs(float(one["error"])) for one in runs if one["strategy"] == "fsdp2"]
        self.assertAlmostEqual(
            float(rows["fsdp2 (this one)"].split()[0]), 100 * statistics.median(own), delta=0.05
        )

    def test_machine(self):
        self.start()
        self.open_panel("machine", "document.querySelectorAll('.machine .gpu').length === 8")
        self.assertEqual(
            self.browser.run("document.querySelectorAll('.machine .card-tile').length"), 8
        )
        label = self.browser.run("document.querySelector('.machine').getAttribute('aria-label')")
        self.assertIn("8 GPUs: NVIDIA H100", label)
        self.browser.run(setting("cluster.oversubscription", "2"))
        self.browser.run(setting("cluster.leaf_nodes", "4"))
        self.browser.wait(
            "document.querySelector('#panel-machine').textContent.includes('2 leaves')"
        )


class Looks(PageCase):
    def open_all(self):
        """Every panel, with what it shows by itself or at a press."""
        self.browser.run("document.querySelectorAll('.panel').forEach(e => { e.open = true; })")
        self.browser.wait("document.querySelector('.timeline rect') !== null")
        for text in ("Draw the map", "Plan the run"):
            self.browser.run(pressing(text))
        for shown in (".heat .cell", ".plan td", ".record .dot", ".machine .gpu"):
            self.browser.wait(f"document.querySelector('{shown}') !== null", 120)

    def test_widths(self):
        for width in (1280, 390):
            for dark in (False, True):
                self.browser.size(width, 1400)
                self.browser.dark(dark)
                self.start()
                self.browser.run("document.getElementById('pin').click()")
                self.open_all()
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
        self.browser.run("document.getElementById('pin').click()")
        self.open_all()
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
            # until it has gone: what comes next would be gone from, too. Where an answer changes
            # the address meanwhile, it does not go.
            if draw.random() < 0.2:
                self.browser.run(
                    "window.went === 0 || new Promise(done => { window.went--;"
                    " addEventListener('popstate', () => done(true), { once: true });"
                    " setTimeout(() => done(false), 3000); history.back(); })"
                )
        self.browser.run(
            "location.hash = '#cluster.name=1+x+dgx-h100&model.config=llama-2-7b"
            "&strategy.name=ddp&training.seq_len=1024'"
        )
        self.browser.wait(READY, 120)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
