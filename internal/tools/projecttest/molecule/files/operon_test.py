"""Reports the tasks of a playbook to `operon test`, in addition to the output of the callback that the project has chosen."""

DOCUMENTATION = """
name: operon_test
type: notification
short_description: tasks for operon test
description: Writes a line of JSON for each task that begins, and for each that fails.
"""

import json
import os

from ansible.plugins.callback import CallbackBase


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "operon_test"

    def emit(self, event, task, **fields):
        file, _, line = (task.get_path() or "").rpartition(":")
        fields.update(event=event, name=task.name or task.action, role=task._role.get_name() if task._role else "",
                      file=file, line=int(line) if line.isdigit() else 0)
        with open(os.environ["OPERON_TEST_EVENTS"], "a") as events:
            events.write(json.dumps(fields) + "\n")

    @staticmethod
    def rescues(task):
        """Returns whether a task is in the section rescue or always of a block, which run after another task has failed."""
        child, parent = task, task._parent
        while parent is not None:
            others = list(getattr(parent, "rescue", None) or []) + list(getattr(parent, "always", None) or [])
            if any(other._uuid == child._uuid for other in others):
                return True
            child, parent = parent, getattr(parent, "_parent", None)
        return False

    def failed(self, result, message):
        task = result._task
        if result._result.get("_ansible_no_log") or result._result.get("censored"):
            message = "the task failed; its result is hidden because it has no_log"
        self.emit("failed", task, message=str(message), rescue=self.rescues(task))

    def v2_playbook_on_task_start(self, task, is_conditional):
        self.emit("task", task)

    def v2_playbook_on_handler_task_start(self, task):
        self.emit("task", task)

    def v2_runner_on_failed(self, result, ignore_errors=False):
        if ignore_errors:
            return
        values = result._result
        items = [item for item in values.get("results") or [] if isinstance(item, dict) and item.get("failed")]
        for one in items or [values]:
            trace = (one.get("exception") or "").strip().splitlines()
            self.failed(result, one.get("msg") or one.get("reason") or one.get("module_stderr") or one.get("stderr") or (trace and trace[-1]) or "the task failed")

    def v2_runner_on_unreachable(self, result):
        self.failed(result, result._result.get("msg", "the host is unreachable"))
