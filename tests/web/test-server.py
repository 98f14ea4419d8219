#!/usr/bin/env python3
"""The server of `shardsim web`, by requests: whom it answers, what, and what does not disturb it.

Values are compared with the command line's; what the page does with them is browser.py's.
"""

import collections
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from served import Served

PROGRAM, ROOT = sys.argv[1], sys.argv[2]
START = {
    "cluster": "2 x dgx-h100",
    "model": "llama-3.1-8b",
    "strategy": "fsdp2",
    "training.seq_len": "4096",
}
LONG = {"cluster": "64 x dgx-h100", "model": "llama-3-70b", "seq_len": "4096"}
JSON = {"Content-Type": "application/json"}


class ServerCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Served(PROGRAM, "--jobs", "2")

    @classmethod
    def tearDownClass(cls):
        assert cls.server.close() == 0


class Answers(ServerCase):
    def test_lists(self):
        names = [one["name"] for one in self.server.get("/api/list/models")["items"]]
        self.assertIn("llama-3.1-8b", names)
        self.assertEqual(self.server.ask("GET", "/api/list/nothing")[0], 200)
        self.assertEqual(self.server.ask("GET", "/api/nothing")[0], 404)

    def test_options_have_help(self):
        tables = self.server.get("/api/options")
        sections = {one["name"]: one["options"] for one in tables["sections"]}
        self.assertEqual(len(sections), 7)
        batch = next(one for one in sections["training"] if one["key"] == "micro_batch")
        self.assertEqual((batch["type"], batch["default"]), ("number", "1"))
        for options in sections.values():
            for option in options:
                self.assertTrue(option["help"], option["key"])
        self.assertIn("fsdp2", [one["name"] for one in tables["strategies"]])
        commands = {one["name"]: one["options"] for one in tables["commands"]}
        self.assertIn("tokens", [one["key"] for one in commands["plan"]])
        self.assertIn("factor", [one["key"] for one in commands["sensitivity"]])

    def test_upload_is_a_model(self):
        with open(f"{ROOT}/workloads/models/llama-3.1-8b.json", encoding="utf-8") as file:
            given = self.server.post("/api/files?name=config.json", file.read())["file"]
        own = self.server.post("/api/predict", {"set": {**START, "model": given}})["results"][0]
        shipped = self.server.post("/api/predict", {"set": START})["results"][0]
        self.assertEqual(own["step_time_s"], shipped["step_time_s"])

    def test_broken_upload_is_said(self):
        given = self.server.post("/api/files?name=config.json", "{")["file"]
        answer = self.server.post("/api/predict", {"set": {**START, "model": given}})
        self.assertEqual(answer["results"], [])
        self.assertEqual(answer["diagnostics"][0]["severity"], "error")

    def test_wrong_values_name_their_option(self):
        answer = self.server.post("/api/predict", {"set": {**START, "mesh.tp": "many"}})
        self.assertTrue(answer["diagnostics"][0]["file"].startswith("mesh.tp"))

    def test_scenario_reads_back(self):
        answer = self.server.post("/api/scenario", {"set": START})
        again = self.server.post("/api/predict", {"text": answer["scenarios"][0]["yaml"]})
        first = self.server.post("/api/predict", {"set": START})
        self.assertEqual(again["results"][0]["step_time_s"], first["results"][0]["step_time_s"])
        self.assertIn("--cluster '2 x dgx-h100'", answer["options"])

    def test_timeline_is_the_trace(self):
        """Each op of the last period is in one box of its stream, and all of it is shown."""
        options = self.server.post("/api/scenario", {"set": START})["options"]
        with tempfile.TemporaryDirectory() as folder:
            file = f"{folder}/trace.json"
            command = f"'{PROGRAM}' simulate {options} --no-remedies --trace {file}"
            subprocess.run(command, shell=True, stdout=subprocess.DEVNULL, check=True)
            with open(file, encoding="utf-8") as trace:
                events = json.load(trace)["traceEvents"]
        answer = self.server.post("/api/timeline", {"set": START, "boxes": 20000})
        period = answer["period_s"] * 1e6  # us, of the trace: the last but one comes first
        names = {
            one["tid"]: one["args"]["name"]
            for one in events
            if one["name"] == "thread_name" and one["pid"] == 1
        }
        expected = collections.Counter(
            names[one["tid"]]
            for one in events
            if one["ph"] == "X"
            and one["pid"] == 1
            and one["ts"] + one["dur"] > period + 1e-6
            and "step" not in names[one["tid"]]
        )
        got, busy = collections.Counter(), collections.Counter()
        for lane, begin, duration, _, _, _, slices, _ in answer["boxes"]:
            name = answer["lanes"][lane]["name"]
            got[name] += slices
            busy[name] += duration
            self.assertTrue(0 <= begin <= begin + duration <= answer["period_s"] * (1 + 1e-12))
        for name in ("compute", "all_gather", "reduce_scatter"):
            self.assertEqual(got[name], expected[name], name)
            self.assertGreater(got[name], 20, name)
        self.assertEqual(sum(got.values()), sum(expected.values()), (got, expected))
        result = self.server.post("/api/predict", {"set": START})["results"][0]
        self.assertGreater(busy["compute"], result["time_compute_s"])

    def test_timeline_is_cut(self):
        """No more boxes than are asked for, and a window holds what lies in it."""
        for boxes in (8, 100, 1000):
            answer = self.server.post("/api/timeline", {"set": START, "boxes": boxes})
            self.assertLessEqual(len(answer["boxes"]), boxes)
        part = {"set": START, "from": "100 ms", "to": "110 ms"}
        for _, begin, duration, *_ in self.server.post("/api/timeline", part)["boxes"]:
            self.assertGreaterEqual(begin, 0.1)
            self.assertLessEqual(begin + duration, 0.11 + 1e-12)
        wrong = self.server.post("/api/timeline", {"set": START, "rank": 31})
        self.assertIn("rank", wrong["diagnostics"][0]["message"])

    def test_machine_is_the_profile(self):
        """What hangs where, of nodes whose boards are published; NVLink of a hybrid cube mesh."""

        def node_of(name):
            return self.server.post("/api/machine", {"set": {**START, "cluster": f"2 x {name}"}})[
                "node"
            ]

        dgx = node_of("dgx-h100")
        self.assertEqual([one["switch"] for one in dgx["gpus"]], [0, 0, 1, 1, 2, 2, 3, 3])
        self.assertEqual([one["socket"] for one in dgx["cards"]], [0, 0, 0, 0, 1, 1, 1, 1])
        self.assertEqual((dgx["links"]["kind"], dgx["links"]["pairs"]), ("switch", []))
        bridged = node_of("a40x8-nvlink-pairs")["links"]["pairs"]
        self.assertEqual(bridged, [[0, 1], [2, 3], [4, 5], [6, 7]])
        cube = node_of("dgx-1v")["links"]["pairs"]
        self.assertEqual(len(cube), 16)
        for gpu in range(8):
            self.assertEqual(sum(gpu in pair for pair in cube), 4, gpu)

    def test_machine_has_the_levels_of_its_fabric(self):
        options = {"fabric": "fat-tree", "leaf_nodes": 4, "group_nodes": 16, "oversubscription": 2}
        words = {f"cluster.{key}": str(value) for key, value in options.items()}
        request = {"set": {**START, "cluster": "64 x dgx-h100", **words}}
        fabric = self.server.post("/api/machine", request)["fabric"]
        self.assertEqual((fabric["leaves"], fabric["groups"]), (16, 4))
        self.assertEqual(fabric["oversubscription"], 2)
        wrong = self.server.post("/api/machine", {"set": {**START, "cluster": "2 x nothing"}})
        self.assertNotIn("node", wrong)
        self.assertEqual(wrong["diagnostics"][0]["severity"], "error")

    def test_remedies_are_those_of_the_command(self):
        small = {**START, "cluster": "1 x dgx-a100", "model": "llama-3-70b"}
        answer = self.server.post("/api/predict", {"set": small, "remedies": True})
        options = self.server.post("/api/scenario", {"set": small})["options"]
        own = subprocess.run(
            f"'{PROGRAM}' simulate {options} --format json",
            shell=True,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(
            answer["results"][0]["remedies"],
            json.loads(own.stdout)["results"][0]["remedies"],
        )

    def test_random_scenarios_are_those_of_the_command(self):
        """Whatever options: the same numbers or the same refusal as of `simulate`."""
        draw = random.Random(os.environ.get("SHARDSIM_WEB_SEED", "1"))
        for _ in range(int(os.environ.get("SHARDSIM_WEB_CASES", "10"))):
            scenario = {
                "cluster": f"{draw.choice([1, 2, 4])} x {draw.choice(['dgx-h100', 'dgx-a100'])}",
                "model": draw.choice(["llama-3.1-8b", "llama-2-7b", "qwen3-30b-a3b"]),
                "strategy": draw.choice(["ddp", "fsdp1", "fsdp2", "zero1", "zero3", "hsdp"]),
                "seq_len": draw.choice(["1024", "2048", "0", "4 GiB"]),
                "micro_batch": draw.choice(["1", "2", "3"]),
                "tp": draw.choice(["1", "2", "3"]),
            }
            answer = self.server.post("/api/predict", {"set": scenario})
            words = [f"--{key.replace('_', '-')}={value}" for key, value in scenario.items()]
            own = subprocess.run(
                [PROGRAM, "simulate", *words, "--no-remedies", "--format", "json"],
                capture_output=True,
                text=True,
                check=False,
            )
            with self.subTest(scenario=scenario):
                if own.returncode in (0, 3):
                    expected = json.loads(own.stdout)["results"][0]
                    got = answer["results"][0]
                    for key in ("step_time_s", "fits", "peak_device_gib", "mfu_percent"):
                        self.assertEqual(got[key], expected[key], key)
                else:
                    self.assertEqual(answer["results"], [])
                    self.assertIn(answer["diagnostics"][0]["message"], own.stderr)


class Refusals(ServerCase):
    def test_other_hosts(self):
        """A name that was pointed here is none of this server's, whatever it looks like; a port
        that a tunnel has at its other end may be any."""
        port = self.server.port
        for host in (
            "example.com",
            f"example.com:{port}",
            f"localhost.example.com:{port}",
            f"127.0.0.1.example.com:{port}",
            f"localhost:{port}@example.com",
            "192.168.1.5",
            "",
        ):
            self.assertEqual(self.server.ask("GET", "/", None, {"Host": host})[0], 403, host)
        for host in ("localhost:9000", f"127.0.0.1:{port}", "[::1]", "LOCALHOST"):
            self.assertEqual(self.server.ask("GET", "/", None, {"Host": host})[0], 200, host)

    def test_other_origins(self):
        others = ("http://example.com", "null", "https://localhost", "http://localhost:3000")
        for origin in others:
            headers = {"Origin": origin, **JSON}
            self.assertEqual(self.server.ask("POST", "/api/predict", "{}", headers)[0], 403)
        own = {"Origin": self.server.address.rstrip("/"), **JSON}
        self.assertEqual(self.server.ask("POST", "/api/predict", "{}", own)[0], 200)

    def test_types_that_any_site_may_send(self):
        for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
            headers = {"Content-Type": kind}
            self.assertEqual(self.server.ask("POST", "/api/predict", "{}", headers)[0], 415)

    def test_files_of_this_machine(self):
        for key, value in (
            ("file", "/etc/hostname"),
            ("plugins", ["x.so"]),
            ("hwprofiles", "/etc"),
        ):
            answer = self.server.post("/api/predict", {key: value}, 400)
            self.assertIn(f"'{key}' is not taken here", answer["diagnostics"][0]["message"])
        for name in ("/etc/hostname", "/etc/nothing.json", "../../etc/passwd.json"):
            answer = self.server.post("/api/predict", {"set": {**START, "model": name}})
            self.assertEqual(answer["results"], [])
            self.assertNotIn("No such file", answer["diagnostics"][0]["message"])

    def test_no_json(self):
        for body in ("", "{", "[]", "nothing", '{"set": {"a": ', "\0", "{}{}", "[" * 100000):
            answer = self.server.post("/api/predict", body, 400)
            self.assertEqual(answer["diagnostics"][0]["severity"], "error")

    def test_too_long(self):
        headers = {**JSON, "Content-Length": str(1 << 40)}
        self.assertEqual(self.server.ask("POST", "/api/predict", None, headers)[0], 413)
        chunked = {**JSON, "Transfer-Encoding": "chunked"}
        self.assertEqual(self.server.ask("POST", "/api/predict", None, chunked)[0], 411)
        both = {**chunked, "Content-Length": "2"}
        self.assertEqual(self.server.ask("POST", "/api/predict", None, both)[0], 411)
        self.assertEqual(self.server.ask("GET", "/", None, {"Content-Length": "1"})[0], 413)
        self.assertEqual(
            self.server.ask("GET", "/", None, {"Transfer-Encoding": "chunked"})[0], 411
        )

    def test_methods(self):
        for method in ("PUT", "DELETE", "OPTIONS", "TRACE"):
            self.assertEqual(self.server.ask(method, "/")[0], 405)

    def test_headers(self):
        _, headers, _ = self.server.ask("GET", "/")
        self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
        self.assertEqual(headers["X-Content-Type-Options"], "nosniff")


class Disturbances(ServerCase):
    def raw(self, data):
        connection = socket.create_connection(("localhost", self.server.port), timeout=10)
        connection.sendall(data)
        return connection

    def begin_search(self):
        """A connection that asks for one that takes long, and has not read the answer."""
        body = json.dumps({"set": LONG})
        return self.raw(
            f"POST /api/search HTTP/1.1\r\nHost: localhost:{self.server.port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            f"{body}".encode()
        )

    @staticmethod
    def said_within(connection, seconds):
        """How its answer begins; nothing where it has none yet."""
        connection.settimeout(seconds)
        try:
            return connection.recv(64)
        except TimeoutError:
            return b""

    def still_answers(self):
        begin = time.monotonic()
        self.server.get("/api/version")
        return time.monotonic() - begin

    def test_rubbish(self):
        draw = random.Random(1)
        for _ in range(100):
            connection = self.raw(draw.randbytes(draw.randrange(1, 2000)))
            connection.close()
        self.still_answers()

    def test_connections_are_closed(self):
        """However a connection ends, it leaves no descriptor."""

        def descriptors():
            return len(os.listdir(f"/proc/{self.server.process.pid}/fd"))

        self.server.get("/api/version")
        before = descriptors()
        for _ in range(30):
            self.server.get("/api/version")
            self.server.ask("GET", "/api/version", None, {"Connection": "close"})
            self.server.ask("GET", "/", None, {"Host": "example.com"})
            self.raw(b"GET / HTTP/1.1\r\nHo").close()
            self.raw(b"").close()
        end = time.monotonic() + 10
        while descriptors() > before + 2 and time.monotonic() < end:
            time.sleep(0.05)
        self.assertLessEqual(descriptors(), before + 2)

    def test_slow_ones(self):
        slow = [self.raw(b"POST /api/predict HTTP/1.1\r\nHost: ") for _ in range(100)]
        self.assertLess(self.still_answers(), 5)
        for connection in slow:
            connection.close()

    def test_those_who_leave(self):
        """What nobody waits for any more makes room for others."""
        for _ in range(10):
            connection = self.begin_search()
            time.sleep(0.05)
            connection.close()
        answer = self.server.post("/api/predict", {"set": START})
        self.assertEqual(len(answer["results"]), 1)

    def test_progress(self):
        """A search is seen from beside: pieces never go back within a step, the best never worsen;
        who asks in between is answered, and a call that is over, or was none, has no progress."""
        answers, seen = [], []
        thread = threading.Thread(
            target=lambda: answers.append(self.server.post("/api/search?id=seen", {"set": LONG}))
        )
        self.assertEqual(self.server.get("/api/progress?id=seen"), {})
        thread.start()
        end = time.monotonic() + 60
        while not (seen and seen[-1]["found"]) and time.monotonic() < end:
            one = self.server.get("/api/progress?id=seen")
            if one and one["seconds"] is not None:
                seen.append(one)
            time.sleep(0.02)
        self.server.post("/api/stop?id=seen", {})
        thread.join(60)
        self.assertEqual(self.server.get("/api/progress?id=seen"), {})
        self.assertTrue(seen[-1]["found"], "nothing was found within a minute")
        for one, next_one in zip(seen, seen[1:]):
            self.assertLessEqual(one["seconds"], next_one["seconds"])
            if one["step"] == next_one["step"]:
                self.assertLessEqual(one["done"], next_one["done"])
        best = seen[-1]["found"][0]
        self.assertLessEqual(answers[0]["results"][0]["step_time_s"], best["step_time_s"])
        self.assertIn("tokens/s/GPU", seen[-1]["best"])
        self.assertIn("partial", answers[0])

    def test_progress_of_what_waits(self):
        """Two calls run (--jobs 2); a third has no seconds yet."""
        running = [self.begin_search() for _ in range(2)]
        time.sleep(0.5)
        thread = threading.Thread(
            target=lambda: self.server.post("/api/search?id=third", {"set": LONG})
        )
        thread.start()
        end, third = time.monotonic() + 10, {}
        while third == {} and time.monotonic() < end:
            third = self.server.get("/api/progress?id=third")
        self.assertIsNone(third["seconds"])
        self.server.post("/api/stop?id=third", {})
        for connection in running:
            connection.close()
        thread.join(60)

    def test_many_who_look(self):
        """Who asks for progress without end, and never reads, holds up nobody."""
        lookers = [
            self.raw(
                f"GET /api/progress?id=none HTTP/1.1\r\nHost: localhost:{self.server.port}"
                "\r\n\r\n".encode() * 200
            )
            for _ in range(20)
        ]
        self.assertLess(self.still_answers(), 5)
        for connection in lookers:
            connection.close()

    def test_stop(self):
        """A search that is stopped answers with what it has."""
        answers = []

        def search():
            answers.append(self.server.post("/api/search?id=own", {"set": LONG}))

        thread = threading.Thread(target=search)
        thread.start()
        time.sleep(1)
        self.server.post("/api/stop?id=other", {})
        self.server.post("/api/stop?id=own", {})
        thread.join(60)
        self.assertEqual(len(answers), 1)
        self.assertTrue("partial" in answers[0] or answers[0]["error"] is not None)

    def test_too_many(self):
        """The queue has an end, and searches beyond it are told to come again; predictions do not
        wait for them."""

        def search():
            return self.server.ask("POST", "/api/search", json.dumps({"set": {"tp": "x"}}), JSON)[0]

        waiting = [self.begin_search() for _ in range(70)]
        # those that are not read yet may leave room for some more, which then wait as well
        for _ in range(20):
            waiting.append(self.begin_search())
            if self.said_within(waiting[-1], 5).startswith(b"HTTP/1.1 503"):
                break
        else:
            self.fail("the queue has no end")
        self.assertEqual(len(self.server.post("/api/predict", {"set": START})["results"]), 1)
        for connection in waiting:
            connection.close()
        end, status = time.monotonic() + 60, 503
        while status == 503 and time.monotonic() < end:
            status = search()
        self.assertEqual(status, 200)


TOKEN = "0123456789abcdefghijklmnopqrstuvwxyz-._~"


class Tokens(unittest.TestCase):
    """A server that listens for others answers who has its token; the address is the loopback one,
    as nothing else is there wherever tests run."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.file = f"{self.folder.name}/token"
        with open(os.open(self.file, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write(f"{TOKEN}\n")
        self.server = Served(PROGRAM, "--listen", "127.0.0.1", "--token-file", self.file)

    def tearDown(self):
        self.assertEqual(self.server.close(), 0)
        self.folder.cleanup()

    def status(self, token, path="/api/version", method="GET"):
        headers = {**JSON, **({} if token is None else {"Authorization": f"Bearer {token}"})}
        return self.server.ask(method, path, "{}" if method == "POST" else None, headers)[0]

    def session(self):
        """The cookie that the token is exchanged for."""
        status, headers, _ = self.server.ask("GET", f"/?token={TOKEN}")
        self.assertEqual((status, headers["Location"]), (303, "/"))
        self.assertEqual(
            headers["Set-Cookie"].split("; ")[1:], ["HttpOnly", "SameSite=Strict", "Path=/"]
        )
        self.assertNotIn(TOKEN, headers["Set-Cookie"])
        return headers["Set-Cookie"].split("; ")[0]

    def test_bearer(self):
        for path in ("/api/version", "/api/options", "/api/progress?id=x", "/nothing"):
            self.assertEqual(self.status(None, path), 401, path)
        for path in ("predict", "stop?id=x", "files?name=x.json", "search", "nothing"):
            self.assertEqual(self.status(None, f"/api/{path}", "POST"), 401, path)
        self.assertEqual(self.status(TOKEN), 200)
        self.assertEqual(self.status(TOKEN, "/api/predict", "POST"), 200)
        _, headers, text = self.server.ask("GET", "/api/version")
        self.assertEqual(headers["WWW-Authenticate"], "Bearer")
        self.assertIn("wants its token", text)
        self.assertNotIn(TOKEN, text)

    def test_wrong_ones(self):
        wrong = ("", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), TOKEN[::-1])
        for token in wrong:
            self.assertEqual(self.status(token), 401, token)
        self.assertEqual(self.server.ask("GET", "/?token=x")[0], 401)
        self.assertEqual(self.status(TOKEN), 200)

    def test_guesses_are_limited(self):
        """After so many wrong ones not even the right one counts; who is in stays in."""
        cookie = self.session()
        verdicts = [self.status(f"guess-{i}") for i in range(12)]
        self.assertEqual(verdicts, [401] * 10 + [429] * 2)
        self.assertEqual(self.status(TOKEN), 429)
        self.assertEqual(self.server.ask("GET", f"/?token={TOKEN}")[0], 429)
        headers = {"Cookie": cookie}
        self.assertEqual(self.server.ask("GET", "/api/version", None, headers)[0], 200)

    def test_cookie(self):
        cookie = self.session()
        for value, expected in (
            (cookie, 200),
            (f"a=1; {cookie}; b=2", 200),
            (cookie[:-1], 401),
            (f"{cookie}0", 401),
            (f"shardsim-{self.server.port}={TOKEN}", 401),
            (cookie.replace("shardsim-", "other-"), 401),
        ):
            got = self.server.ask("GET", "/api/version", None, {"Cookie": value})[0]
            self.assertEqual(got, expected, value)

    def test_cookie_is_of_one_run(self):
        cookie = self.session()
        other = Served(PROGRAM, "--listen", "127.0.0.1", "--token-file", self.file)
        name = cookie.replace(str(self.server.port), str(other.port))
        self.assertEqual(other.ask("GET", "/api/version", None, {"Cookie": name})[0], 401)
        self.assertEqual(other.close(), 0)

    def test_rebinding(self):
        """A name that was pointed here is refused, token or not; a number is a machine's own."""
        for host, expected in (
            ("example.com", 403),
            (f"example.com:{self.server.port}", 403),
            ("10.0.0.1:8080", 200),
            ("[fe80::1]:8080", 200),
            (socket.gethostname(), 200),
        ):
            headers = {"Host": host, "Authorization": f"Bearer {TOKEN}"}
            self.assertEqual(self.server.ask("GET", "/api/version", None, headers)[0], expected)
        headers = {"Origin": "http://example.com", "Authorization": f"Bearer {TOKEN}", **JSON}
        self.assertEqual(self.server.ask("POST", "/api/predict", "{}", headers)[0], 403)

    def test_page_is_no_secret(self):
        self.assertEqual(self.server.ask("GET", "/")[0], 200)
        self.assertEqual(self.server.ask("GET", "/app.js")[0], 200)


class Starts(unittest.TestCase):
    def refused(self, *options):
        own = subprocess.run(
            [PROGRAM, "web", *options], capture_output=True, text=True, check=False, timeout=60
        )
        self.assertEqual(own.stdout, "")
        return own.returncode, own.stderr

    def test_listening_without_a_token(self):
        status, said = self.refused("--listen", "0.0.0.0")
        self.assertEqual(status, 2)
        self.assertIn("add --token-file FILE", said)
        self.assertIn("ssh -L", said)
        self.assertEqual(self.refused("--open", "--token-file", "x")[0], 2)

    def test_token_files(self):
        """One that is not there is made, for its owner alone; what others may read is refused."""
        with tempfile.TemporaryDirectory() as folder:
            file = f"{folder}/token"
            server = Served(PROGRAM, "--token-file", file)
            with open(file, encoding="utf-8") as made:
                token = made.read().strip()
            self.assertRegex(token, "^[0-9a-f]{64}$")
            self.assertEqual(os.stat(file).st_mode & 0o777, 0o600)
            headers = {"Authorization": f"Bearer {token}"}
            self.assertEqual(server.ask("GET", "/api/version", None, headers)[0], 200)
            self.assertEqual(server.ask("GET", "/api/version")[0], 401)
            self.assertEqual(server.close(), 0)
            os.chmod(file, 0o644)
            self.assertIn("chmod 600", self.refused("--token-file", file)[1])
            os.chmod(file, 0o600)
            for text in ("", "short", "x" * 30 + "+", "x" * 2000, "two words of a token, too"):
                with open(file, "w", encoding="utf-8") as made:
                    made.write(text)
                status, said = self.refused("--token-file", file)
                self.assertEqual(status, 1)
                self.assertIn("holds no token", said)
            self.assertEqual(self.refused("--token-file", f"{folder}/none/token")[0], 1)

    def test_places_that_are_none(self):
        with tempfile.TemporaryDirectory() as folder:
            for place in ("nowhere.invalid", "300.1.1.1", "203.0.113.77"):
                status, said = self.refused("--listen", place, "--token-file", f"{folder}/token")
                self.assertEqual(status, 1, place)
                self.assertIn("cannot listen", said)

    def test_port_in_use(self):
        server = Served(PROGRAM)
        own = subprocess.run(
            [PROGRAM, "web", "--port", str(server.port)],
            capture_output=True,
            text=True,
            check=False,
        )
        server.close()
        self.assertEqual(own.returncode, 1)
        self.assertIn("is in use", own.stderr)

    def test_options_that_it_cannot_take(self):
        for option in ("--port=-1", "--port=65536", "--port=many", "--hwprofiles=/"):
            own = subprocess.run(
                [PROGRAM, "web", option], capture_output=True, text=True, check=False
            )
            self.assertEqual(own.returncode, 2, option)
            self.assertNotEqual(own.stderr, "")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
