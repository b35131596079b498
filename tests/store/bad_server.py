#!/usr/bin/env python3
"""bad_server.py: answers as ClickHouse never would. The database in the address chooses how. Prints its port."""

import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def start(self, status, *headers):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()

    def do_POST(self):
        if self.path.startswith("/caught"):
            print("caught", self.headers.get("Authorization"), flush=True)
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        how = parse_qs(urlparse(self.path).query).get("database", [""])[0]
        self.close_connection = True
        try:
            getattr(self, how, self.nothing)()
        except OSError:
            pass

    def nothing(self):
        self.start(200, ("Content-Length", "0"))

    def endless(self):
        self.start(200)
        while True:
            self.wfile.write(b"abcdefghijklmnop\t1\t1\n" * 5000)

    def endless_line(self):
        self.start(200)
        while True:
            self.wfile.write(b"x" * 100000)

    def other_columns(self):
        self.start(200, ("Content-Length", "8"))
        self.wfile.write(b"a\tb\tc\td\n")

    def cut(self):
        self.start(200, ("Content-Length", "1000"))
        self.wfile.write(b"abcdefghijklmnop\t1\t1\nabcdef")

    def unended(self):
        self.start(200, ("Content-Length", "20"))
        self.wfile.write(b"abcdefghijklmnop\t1\t1")

    def elsewhere(self):
        self.start(302, ("Location", f"http://127.0.0.1:{port}/caught"), ("Content-Length", "0"))

    def orders(self):
        text = b"Code: 7, e.displayText() = DB::Exception: \x1b[2J::error::owned\n::set-output name=x::y\n, e.what() = DB"
        self.start(500, ("Content-Length", str(len(text))))
        self.wfile.write(text)

    def silent(self):
        sys.stdin.read()

    do_GET = do_POST


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
port = server.server_address[1]
print(port, flush=True)
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
server.serve_forever()
