#!/usr/bin/env python3
"""s3_stub.py FOLDER LOG [--token T] [--fail-every N] [--tls CERTIFICATE KEY]: a strict server that speaks S3.

Prints its port. Objects are files in FOLDER/BUCKET/. Every request must be signed with AWS Signature Version 4 for
region eu-test-1 with the key AKIDEXAMPLE; the stub computes the signature again from what arrived and answers 403 if
anything differs: the digest of the body, a header that is not signed, a query that is not sorted, a time that is more
than 15 minutes off. LOG gets a line for each request: METHOD PATH STATUS REASON. Lists come in pages of three.
"""

import argparse
import hashlib
import hmac
import os
import re
import ssl
import sys
import threading
import time
import xml.sax.saxutils as saxutils
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote

parser = argparse.ArgumentParser()
parser.add_argument("folder", type=Path)
parser.add_argument("log", type=Path)
parser.add_argument("--token")
parser.add_argument("--fail-every", type=int, default=0)
parser.add_argument("--tls", nargs=2)
parser.add_argument("--endless-list", action="store_true")
options = parser.parse_args()
KEY, SECRET, REGION = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "eu-test-1"
AUTHORIZATION = re.compile(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/([^/]+)/aws4_request, ?"
                           r"SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})")
lock = threading.Lock()
requests = 0


class Refused(Exception):
    pass


def demand(condition, reason):
    if not condition:
        raise Refused(reason)


def sign(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def check_signature(self, body):
        match = AUTHORIZATION.fullmatch(self.headers.get("Authorization", ""))
        demand(match, "Authorization")
        key, date, region, service, signed, signature = match.groups()
        demand((key, region, service) == (KEY, REGION, "s3"), "Credential")
        stamp = self.headers.get("x-amz-date", "")
        demand(re.fullmatch(r"\d{8}T\d{6}Z", stamp) and stamp[:8] == date, "x-amz-date")
        when = datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=timezone.utc)
        demand(abs((datetime.now(timezone.utc) - when).total_seconds()) < 900, "RequestTimeTooSkewed")
        digest = self.headers.get("x-amz-content-sha256", "")
        demand(digest == hashlib.sha256(body).hexdigest(), "XAmzContentSHA256Mismatch")
        names = signed.split(";")
        demand(names == sorted(set(names)), "SignedHeaders")
        must = {"host"} | {name.lower() for name in self.headers if name.lower().startswith("x-amz-")}
        demand(must <= set(names), "headers that are not signed")
        if options.token:
            demand(self.headers.get("x-amz-security-token") == options.token, "token")
        path, _, query = self.path.partition("?")
        demand(quote(unquote(path), safe="/-._~") == path, "path")
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
        canonical = "&".join(sorted(f"{quote(k, safe='-._~')}={quote(v, safe='-._~')}" for k, v in pairs))
        headers = "".join(f"{name}:{' '.join((self.headers.get(name) or '').split())}\n" for name in names)
        request = "\n".join([self.command, path, canonical, headers, signed, digest])
        scope = f"{date}/{region}/{service}/aws4_request"
        text = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(request.encode()).hexdigest()])
        secret = sign(sign(sign(sign(b"AWS4" + SECRET.encode(), date), region), service), "aws4_request")
        demand(hmac.compare_digest(sign(secret, text).hex(), signature), "SignatureDoesNotMatch")
        return path, dict(pairs)

    def reply(self, status, body=b"", reason="", length=None):
        with lock, open(options.log, "a") as log:
            print(self.command, self.path, status, reason, file=log)
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def list_objects(self, bucket, query):
        demand(query.get("list-type") == "2", "list-type")
        prefix, begin = query.get("prefix", ""), query.get("continuation-token", "")
        demand(not begin or begin.startswith("next/+="), "continuation-token")
        keys = sorted(str(file.relative_to(bucket)) for file in bucket.rglob("*") if file.is_file())
        keys = [key for key in keys if key.startswith(prefix) and key > begin[7:]]
        page, more = keys[:3], len(keys) > 3
        if options.endless_list:
            return self.reply(200, f"<ListBucketResult><NextContinuationToken>next/+={time.monotonic_ns()}"
                                   "</NextContinuationToken></ListBucketResult>".encode())
        out = ['<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">']
        out.append(f"<Prefix>{saxutils.escape(prefix)}</Prefix><IsTruncated>{str(more).lower()}</IsTruncated>")
        if more:
            out.append(f"<NextContinuationToken>next/+={saxutils.escape(page[-1])}</NextContinuationToken>")
        for key in page:
            status = (bucket / key).stat()
            when = datetime.fromtimestamp(status.st_mtime, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")
            out.append(f"<Contents><Key>{saxutils.escape(key)}</Key><LastModified>{when}</LastModified>"
                       f"<Size>{status.st_size}</Size><StorageClass>STANDARD</StorageClass></Contents>")
        self.reply(200, "".join(out + ["</ListBucketResult>"]).encode())

    def act(self, body):
        path, query = self.check_signature(body)
        _, bucket, key = path.split("/", 2)
        folder = options.folder / bucket
        demand(folder.is_dir() and ".." not in key.split("/"), "NoSuchBucket")
        file = folder / key
        if not key:
            demand(self.command == "GET", "method")
            self.list_objects(folder, query)
        elif self.command == "PUT":
            file.parent.mkdir(parents=True, exist_ok=True)
            temporary = file.with_name(f".{os.getpid()}-{threading.get_ident()}")
            temporary.write_bytes(body)
            temporary.rename(file)
            self.reply(200)
        elif self.command == "DELETE":
            file.unlink(missing_ok=True)
            self.reply(204)
        elif not file.is_file():
            self.reply(404, b"<Error><Code>NoSuchKey</Code></Error>")
        else:
            content = file.read_bytes()
            self.reply(200, content, length=len(content))

    def handle_any(self):
        global requests
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with lock:
            requests += 1
            fails = options.fail_every and requests % options.fail_every == 0
        if fails:
            self.reply(503, b"<Error><Code>SlowDown</Code></Error>", "on purpose")
            return
        try:
            self.act(body)
        except Refused as refused:
            self.reply(403, f"<Error><Code>{refused}</Code></Error>".encode(), str(refused))

    do_GET = do_HEAD = do_PUT = do_DELETE = do_POST = handle_any


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
if options.tls:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*options.tls)
    server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_address[1], flush=True)
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()  # ends with the test
server.serve_forever()
