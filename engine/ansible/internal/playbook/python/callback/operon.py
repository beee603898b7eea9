"""Reports the tasks of a run to the Ansible engine of Operon, in addition to the output of the default callback."""

DOCUMENTATION = """
name: operon
type: stdout
short_description: events for the Ansible engine of Operon
description: Sends events about tasks to the engine, and prints what the default callback prints.
extends_documentation_fragment:
  - default_callback
  - result_format_callback
"""

import sys

from ansible.plugins.callback.default import CallbackModule as Default


# CLUSTER contains the options of modules that choose a cluster.
CLUSTER = ("kubeconfig", "context", "host", "api_key")


class CallbackModule(Default):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "operon"

    @staticmethod
    def task(task):
        role = task._role.get_name() if task._role else ""
        return {"name": task.name or task.action, "role": role, "path": task.get_path() or "",
                "action": getattr(task, "resolved_action", None) or task.action}

    @staticmethod
    def rescued(task):
        """Reports whether a rescue section follows if the task fails. Copies of a task have its ID."""
        while task._parent is not None:
            child, task = task, task._parent
            if getattr(task, "rescue", None) and any(one._uuid == child._uuid for one in task.block):
                return True
        return False

    @staticmethod
    def error(trace):
        """Returns the text of the error at the end of a traceback."""
        lines = (trace or "").strip().splitlines()
        frames = [i for i, line in enumerate(lines) if line.startswith("  File ")]
        return "\n".join(line for line in lines[frames[-1] + 2:] if line.strip()) if frames else "\n".join(lines)

    def emit(self, event, ack=False, **fields):
        sys.modules["operon_events"].send(event=event, ack=ack, **fields)

    @staticmethod
    def elsewhere(task):
        """Reports whether a task may use another cluster than that of the operator."""
        arguments = [task.args]
        for defaults in task.module_defaults or []:
            arguments += defaults.values() if isinstance(defaults, dict) else []
        chosen = any(isinstance(some, dict) and some.get(option) for some in arguments for option in CLUSTER)
        return chosen or any(name in str(task.environment) for name in ("K8S_AUTH_", "KUBECONFIG"))

    def started(self, task):
        self.emit("task", ack=True, registered=bool(task.register), elsewhere=self.elsewhere(task), **self.task(task))

    def v2_playbook_on_task_start(self, task, is_conditional):
        self.started(task)
        super().v2_playbook_on_task_start(task, is_conditional)

    def v2_playbook_on_handler_task_start(self, task):
        self.started(task)
        super().v2_playbook_on_handler_task_start(task)

    def v2_runner_on_ok(self, result):
        values = result._result
        action = self.task(result._task)["action"]
        if action.endswith("requeue_after") and "period" in values:
            self.emit("requeue", period=values["period"])
        elif action in ("debug", "ansible.builtin.debug") and "msg" in values and not values.get("_ansible_no_log"):
            self.emit("debug", message=str(values["msg"]), **self.task(result._task))
        if any(isinstance(item, dict) and item.get("api_found") is False for item in [values] + (values.get("results") or [])):
            self.emit("open", message="the task %s asks for a kind that the cluster lacks" % self.task(result._task)["name"])
        super().v2_runner_on_ok(result)

    def v2_runner_on_failed(self, result, ignore_errors=False):
        values = result._result
        message = values.get("msg") or values.get("module_stderr") or self.error(values.get("exception")) or "unknown playbook failure"
        if values.get("_ansible_no_log"):
            message = "the task failed; its result is hidden because it has no_log"
        failed = [item.get("msg") for item in values.get("results", []) if isinstance(item, dict) and item.get("failed")]
        if failed:
            message = "; ".join(str(text) for text in failed)
        self.emit("failed", message=str(message), ignored=bool(ignore_errors) or self.rescued(result._task),
                  host=result._host.get_name(), **self.task(result._task))
        super().v2_runner_on_failed(result, ignore_errors)

    def v2_runner_on_unreachable(self, result):
        self.emit("failed", message=str(result._result.get("msg", "the host is unreachable")), ignored=False,
                  host=result._host.get_name(), **self.task(result._task))
        super().v2_runner_on_unreachable(result)

    def v2_playbook_on_stats(self, stats):
        total = dict.fromkeys(("ok", "changed", "skipped", "failures", "unreachable"), 0)
        for host in stats.processed:
            summary = stats.summarize(host)
            for key in total:
                total[key] += summary[key]
        self.emit("stats", hosts=len(stats.processed), **total)
        super().v2_playbook_on_stats(stats)
