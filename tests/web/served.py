"""A `shardsim web` of its own for a test, and requests to it."""

import http.client
import json
import re
import subprocess


class Served:
    """Runs PROGRAM's server on a free port until it is closed."""

    def __init__(self, program, *options):
        self.process = subprocess.Popen(
            [program, "web", "--port", "0", *options],
            stdout=subprocess.PIPE,
            text=True,
        )
        line = self.process.stdout.readline()
        self.port = int(re.search(r":(\d+)/", line).group(1))
        self.host = "127.0.0.1" if "--listen" in options else "localhost"
        self.address = f"http://{self.host}:{self.port}/"

    def close(self):
        """Ends it as Ctrl-C does; its exit status."""
        self.process.terminate()
        status = self.process.wait(timeout=60)
        self.process.stdout.close()
        return status

    def ask(self, method, path, body=None, headers=None, timeout=120):
        """(status, headers, text) of a request."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read().decode()
        finally:
            connection.close()

    def get(self, path):
        status, _, text = self.ask("GET", path)
        assert status == 200, (path, status, text)
        return json.loads(text)

    def post(self, path, request, expected=200):
        body = request if isinstance(request, (str, bytes)) else json.dumps(request)
        status, _, text = self.ask("POST", path, body, {"Content-Type": "application/json"})
        assert status == expected, (path, status, text)
        return json.loads(text)
