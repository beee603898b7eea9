#!/usr/bin/env python3
"""An operator in Python, with nothing but its standard library, and correct.

For each Note it keeps a ConfigMap of the same name, which the Note owns, so that it goes with it.
Two watches tell that something has changed. What is to be done follows from a fresh list each
time, so that it does not matter what was missed, and what is done twice is done once.

It reads the kubeconfig that KUBECONFIG names, with one cluster and one user, or the files of a pod.
"""
import base64
import datetime
import http.client
import json
import os
import re
import ssl
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

NOTES = "/apis/shell.operon.dev/v1"
POD = "/var/run/secrets/kubernetes.io/serviceaccount/"
LABEL = "shell.operon.dev/note"

# FAILURES are those of a request, and of what cannot be read of its answer.
FAILURES = (OSError, ValueError, http.client.HTTPException)


class Server:
    """Server is the connection to the API server."""

    def __init__(self):
        path = os.environ.get("KUBECONFIG", os.path.expanduser("~/.kube/config"))
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                self.from_kubeconfig(file.read())
        else:
            host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
            self.url, self.token, self.token_file = f"https://{host}:{port}", "", POD + "token"
            self.tls = ssl.create_default_context(cafile=POD + "ca.crt")

    def from_kubeconfig(self, text):
        """Reads a kubeconfig in JSON or in YAML as kubectl writes it: a key and a value in each line."""

        def value(key):
            found = re.search(rf'^[\s{{,-]*"?{key}"?:\s*"?([^"\s,}}]+)', text, re.M) or re.search(
                rf'"{key}":\s*"([^"]+)"', text)
            return found.group(1) if found else ""

        self.url, self.token, self.token_file = value("server"), value("token"), value("tokenFile")
        authority = base64.b64decode(value("certificate-authority-data")).decode()
        self.tls = ssl.create_default_context(cadata=authority)
        certificate, key = value("client-certificate-data"), value("client-key-data")
        if certificate:
            with tempfile.NamedTemporaryFile() as pair:
                pair.write(base64.b64decode(certificate) + b"\n" + base64.b64decode(key))
                pair.flush()
                self.tls.load_cert_chain(pair.name)

    def call(self, method, path, body=None, timeout=30):
        """Sends a request, and returns the answer, not read yet."""
        headers = {"Accept": "application/json", "User-Agent": "notes.py"}
        if self.token_file:
            with open(self.token_file, encoding="utf-8") as file:
                self.token = file.read().strip()  # it is replaced now and then
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        return urllib.request.urlopen(request, context=self.tls, timeout=timeout)

    def ask(self, method, path, body=None):
        """Sends a request, and returns the object of the answer."""
        with self.call(method, path, body) as answer:
            return json.load(answer)


class Operator:
    """Operator keeps the ConfigMaps of all Notes."""

    def __init__(self, server):
        self.server = server
        self.changed = threading.Event()

    def run(self):
        """Does what is to be done whenever something has changed, and tries again what failed."""
        pause = 0.1
        while True:
            self.changed.clear()
            try:
                notes = self.server.ask("GET", NOTES + "/notes")
                configs = self.server.ask("GET", f"/api/v1/configmaps?labelSelector={LABEL}")
            except FAILURES as failure:
                say("cannot list", failure)
                time.sleep(pause)
                pause = min(2 * pause, 2)
                continue
            self.follow(notes, NOTES + "/notes", "")
            self.follow(configs, "/api/v1/configmaps", f"&labelSelector={LABEL}")
            if self.keep_all(notes["items"], configs["items"]):
                pause = 0.1
                self.changed.wait()
            else:
                self.changed.wait(pause)
                pause = min(2 * pause, 2)

    def follow(self, seen, path, selector):
        """Watches from a list on, where no watch does already."""
        name = "watch " + path
        if any(thread.name == name for thread in threading.enumerate()):
            return
        version = seen["metadata"]["resourceVersion"]
        threading.Thread(target=self.watch, name=name, args=(path, selector, version), daemon=True).start()

    def watch(self, path, selector, version):
        """Tells of each event. When the watch ends, for whatever reason, all is listed anew."""
        try:
            query = f"?watch=1&resourceVersion={version}&timeoutSeconds=300{selector}"
            with self.server.call("GET", path + query, timeout=330) as events:
                for line in events:
                    if json.loads(line)["type"] == "ERROR":
                        break
                    self.changed.set()
        except FAILURES as failure:
            say("watch", path, failure)
            time.sleep(0.1)
        # The list that follows has to find this watch gone, to begin another.
        threading.Timer(0.05, self.changed.set).start()

    def keep_all(self, notes, configs):
        """Tells whether everything is as it should be."""
        found = {(c["metadata"]["namespace"], c["metadata"]["name"]): c for c in configs}
        good = True
        for note in notes:
            meta = note["metadata"]
            if "deletionTimestamp" in meta:
                continue
            try:
                self.keep(note, found.get((meta["namespace"], meta["name"])))
            except FAILURES as failure:
                say("Note", meta["namespace"], meta["name"], failure)
                good = False
        return good

    def keep(self, note, config):
        """Makes the ConfigMap of a Note what it should be, and then the status."""
        meta, spec = note["metadata"], note["spec"]
        data, label = {"text": spec["text"], "priority": spec["priority"]}, {LABEL: meta["name"]}
        path = f"/api/v1/namespaces/{meta['namespace']}/configmaps"
        if config is None:
            config = self.create(note, path, data, label)
        found = config["metadata"]
        if not any(owner["uid"] == meta["uid"] for owner in found.get("ownerReferences", [])):
            raise ValueError("the ConfigMap of its name belongs to another")
        labels = {**found.get("labels", {}), **label}
        if config.get("data") != data or found.get("labels") != labels:
            wanted = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {**found, "labels": labels}, "data": data}
            self.server.ask("PUT", f"{path}/{meta['name']}", wanted)
        self.report(note)

    def create(self, note, path, data, label):
        """Creates the ConfigMap of a Note. One that is there already, without its label, is as good."""
        name, uid = note["metadata"]["name"], note["metadata"]["uid"]
        owner = {"apiVersion": "shell.operon.dev/v1", "kind": "Note", "name": name, "uid": uid,
                 "controller": True, "blockOwnerDeletion": True}
        meta = {"name": name, "labels": label, "ownerReferences": [owner]}
        try:
            return self.server.ask("POST", path, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data})
        except urllib.error.HTTPError as failure:
            if failure.code != 409:
                raise
            return self.server.ask("GET", f"{path}/{name}")

    def report(self, note):
        """Writes the status, where it is not that already. A conflict is an error: all is read again."""
        meta, before = note["metadata"], note.get("status", {})
        if before.get("observedGeneration") == meta["generation"] and before.get("conditions"):
            return
        since = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        if before.get("conditions"):
            since = before["conditions"][0]["lastTransitionTime"]
        ready = {"type": "Ready", "status": "True", "reason": "Kept", "message": "", "lastTransitionTime": since,
                 "observedGeneration": meta["generation"]}
        status = {"observedGeneration": meta["generation"], "conditions": [ready]}
        path = f"{NOTES}/namespaces/{meta['namespace']}/notes/{meta['name']}/status"
        self.server.ask("PUT", path, {**note, "apiVersion": "shell.operon.dev/v1", "kind": "Note", "status": status})


def say(*words):
    print(*words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        Operator(Server()).run()
    except KeyboardInterrupt:
        pass
