"""Runs playbooks for the Ansible engine of Operon.

The engine starts this program once. It imports Ansible and the Kubernetes client, and then forks a process for each run, so
that a run does not start Python and import everything again. Modules run in forks, too, where that makes no difference.

    worker.py DIRECTORY

File descriptor 3 is a stream of JSON lines. The engine sends {"run": ID} to start a run. The program sends {"ready": …} once,
and {"exited": ID, "status": N} after each run. It ends, with all runs, when the stream ends.

The process of a run connects to the socket "runs" in DIRECTORY, sends {"run": ID, "pid": N}, and receives {"args": […],
"more": …, "playbook": FILE, "env": {…}, "cwd": DIRECTORY, "output": FILE}: the arguments of ansible-playbook. It then sends events. The engine answers an event
that has "ack" with an empty line, so that requests that a task makes come after the event of its start. The process leads a
process group, which the engine can end.
"""

import atexit
import ctypes
import gc
import json
import os
import runpy
import select
import shlex
import signal
import socket
import sys
import traceback
import warnings
from multiprocessing import util


def die_with_parent():
    """Makes the kernel end this process when its parent ends. It has an effect on Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def adopt_orphans():
    """Makes the kernel give this process the processes that runs leave behind, such as asynchronous tasks, so that reap ends
    their entries in the process table: in a container, no other process does. It has an effect on Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(36, 1)


def exit_functions(_=None):
    """Makes the process of a task run its own exit functions, which remove temporary files, but not those of the processes before it."""
    atexit._clear()
    util.Finalize(None, atexit._run_exitfuncs, exitpriority=0)


def preload():
    """Imports what runs need. It returns the names of what could not be imported."""
    from ansible.cli.playbook import PlaybookCLI  # noqa: F401
    from ansible.executor import playbook_executor, task_queue_manager  # noqa: F401
    from ansible.plugins import loader
    from ansible.plugins.strategy import linear  # noqa: F401

    if hasattr(loader, "init_plugin_loader"):  # since ansible-core 2.15
        loader.init_plugin_loader()
    loader.callback_loader.add_directory(os.path.join(sys.argv[1], "callback"))
    missing = []
    for name in (
        "kubernetes.dynamic",
        "ansible_collections.kubernetes.core.plugins.modules.k8s",
        "ansible_collections.kubernetes.core.plugins.modules.k8s_info",
        "ansible_collections.operator_sdk.util.plugins.modules.k8s_status",
    ):
        try:
            __import__(name)
        except Exception:  # a role may need neither
            missing.append(name)
    return missing


class Events:
    """The connection of a run to the engine."""

    def __init__(self, run):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(os.path.join(sys.argv[1], "runs"))
        self.file = self.socket.makefile("rw", encoding="utf-8")
        self.owner = os.getpid()
        self.send(run=run, pid=os.getpid())

    def send(self, ack=False, **event):
        if os.getpid() != self.owner:  # the process of a task inherits the connection
            return
        if ack:
            event["ack"] = True
        self.file.write(json.dumps(event, default=str) + "\n")
        self.file.flush()
        if ack and not self.file.readline():
            os._exit(1)

    def receive(self):
        return json.loads(self.file.readline())


def run(name):
    """Runs a playbook. It returns the exit status of ansible-playbook."""
    os.setsid()
    events = Events(name)
    request = events.receive()
    output = os.open(request["output"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    sys.modules["operon_events"] = events
    from ansible.cli.playbook import PlaybookCLI
    from ansible.errors import AnsibleError

    try:
        return PlaybookCLI(["ansible-playbook"] + request["args"] + shlex.split(request["more"]) + [request["playbook"]]).run()
    except AnsibleError as error:
        events.send(event="error", message=str(error))
        return 4
    except SystemExit as error:  # wrong arguments
        return error.code if isinstance(error.code, int) else 1
    except Exception as error:
        traceback.print_exc()
        events.send(event="error", message="%s: %s" % (type(error).__name__, error))
        return 5
    finally:
        events.send(event="end")


class InProcess:
    """Runs modules in forks of the process of their task instead of new Python processes."""

    def __init__(self):
        from ansible.module_utils import basic
        from ansible.plugins.action import ActionBase
        from ansible.release import __version__

        version = tuple(int(part) for part in __version__.split(".")[:2])
        if not (2, 14) <= version < (2, 19):
            raise RuntimeError("ansible-core %s is not between 2.14 and 2.18" % __version__)
        self.basic = basic
        self.configure = ActionBase._configure_module
        self.execute = ActionBase._low_level_execute_command
        outer = self

        def configure(action, module_name, module_args, task_vars):
            found = outer.find(action, module_name, task_vars)
            if found is None:
                return outer.configure(action, module_name, module_args, task_vars)
            action._operon_module = found + (module_args,)
            return "new", "#!" + sys.executable, b"", found[1]

        def execute(action, cmd, *args, **kwargs):
            pending = action.__dict__.pop("_operon_module", None)
            if pending is None:
                return outer.execute(action, cmd, *args, **kwargs)
            return outer.run(*pending)

        ActionBase._configure_module, ActionBase._low_level_execute_command = configure, execute

    def find(self, action, name, task_vars):
        """Returns the Python name and the path of a module that may run in a fork."""
        task, connection = action._task, action._connection
        if (
            task.async_val
            or connection.transport != "local"
            or connection.become
            or any(task.environment or [])
            or task.delegate_to not in (None, "localhost")
            or not action._is_pipelining_enabled("new")
        ):
            return None
        interpreter = action._templar.template(task_vars.get("ansible_python_interpreter"))
        if interpreter != sys.executable:
            return None
        found = action._shared_loader_obj.module_loader.find_plugin_with_context(name, ".py", collection_list=task.collections)
        path = found.plugin_resolved_path if found.resolved else None
        if not path or not path.endswith(".py"):
            return None
        name = self.python_name(path)
        if not name:
            return None  # it may import module_utils of its role or playbook, which only Ansible packs
        return name, path

    @staticmethod
    def python_name(path):
        """Returns the name by which Python imports a module of Ansible or a collection, or None for a file of a role."""
        parts = path[: -len(".py")].split(os.sep)
        if "ansible_collections" in parts:
            return ".".join(parts[parts.index("ansible_collections"):])
        import ansible.modules

        root = os.path.dirname(ansible.modules.__file__)
        if os.path.dirname(path) == root:
            return "ansible.modules." + parts[-1]
        return None

    def run(self, name, path, arguments):
        """Runs a module and returns its result as a connection does."""
        from ansible.module_utils.common.text.converters import to_bytes
        from ansible.parsing.ajson import AnsibleJSONEncoder

        content = to_bytes(json.dumps({"ANSIBLE_MODULE_ARGS": arguments}, cls=AnsibleJSONEncoder, vault_to_text=True))
        out, err = os.pipe(), os.pipe()
        pid = os.fork()
        if pid == 0:
            self.child(name, path, content, out[1], err[1])
        os.close(out[1])
        os.close(err[1])
        texts = {out[0]: b"", err[0]: b""}
        waiting = set(texts)
        while waiting:
            for descriptor in select.select(list(waiting), [], [])[0]:
                chunk = os.read(descriptor, 65536)
                texts[descriptor] += chunk
                if not chunk:
                    waiting.discard(descriptor)
                    os.close(descriptor)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        stdout, stderr = (texts[pipe[0]].decode("utf-8", "surrogateescape") for pipe in (out, err))
        return {
            "rc": status, "stdout": stdout, "stdout_lines": stdout.splitlines(),
            "stderr": stderr, "stderr_lines": stderr.splitlines(),
        }

    def child(self, name, path, content, out, err):
        status = 0
        atexit._clear()
        try:
            empty = os.open(os.devnull, os.O_RDONLY)
            for descriptor, target in ((empty, 0), (out, 1), (err, 2)):
                os.dup2(descriptor, target)
            sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
            sys.argv = [path]
            self.basic._ANSIBLE_ARGS = content
            warnings.simplefilter("ignore")
            runpy.run_module(name, init_globals={"_module_fqn": name, "_modlib_path": path}, run_name="__main__", alter_sys=True)
        except SystemExit as error:
            status = error.code if isinstance(error.code, int) else int(error.code is not None)
        except BaseException:
            traceback.print_exc()
            status = 1
        finally:
            try:
                atexit._run_exitfuncs()
                sys.stdout.flush()
                sys.stderr.flush()
            finally:
                os._exit(status)


def in_process():
    """Installs InProcess if a module runs in it. It returns the reason why not, or an empty string."""
    try:
        forks = InProcess()
        result = forks.run("ansible.modules.ping", "ping.py", {"data": "pong"})
        if json.loads(result["stdout"]).get("ping") != "pong":
            raise RuntimeError("module ping returned %s" % result)
    except Exception as error:
        return "%s: %s" % (type(error).__name__, error)
    return ""


def serve(control):
    """Starts runs until the stream ends."""
    runs, buffer = {}, b""
    wake = os.pipe()
    for descriptor in wake:
        os.set_blocking(descriptor, False)
    signal.set_wakeup_fd(wake[1])
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        ready = select.select([control, wake[0]], [], [])[0]
        if wake[0] in ready:
            os.read(wake[0], 4096)
            reap(control, runs)
        if control in ready:
            chunk = control.recv(65536)
            if not chunk:
                break
            buffer += chunk
            *lines, buffer = buffer.split(b"\n")
            for line in lines:
                start(control, json.loads(line)["run"], runs, wake)
    for pid in runs:
        try:
            os.killpg(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def start(control, name, runs, wake):
    pid = os.fork()
    if pid:
        runs[pid] = name
        return
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        control.close()
        for descriptor in wake:
            os.close(descriptor)
        status = run(name)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status or 0)


def reap(control, runs):
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        if pid in runs:
            send(control, exited=runs.pop(pid), status=os.waitstatus_to_exitcode(status))


def send(control, **message):
    control.sendall((json.dumps(message) + "\n").encode())


def main():
    os.register_at_fork(after_in_child=die_with_parent)
    util.register_after_fork(exit_functions, exit_functions)
    adopt_orphans()
    control = socket.socket(fileno=3)
    missing = preload()
    note = in_process()
    from ansible.release import __version__

    gc.collect()
    gc.freeze()
    send(control, ready=__version__, missing=missing, note=note)
    serve(control)


if __name__ == "__main__":
    main()
