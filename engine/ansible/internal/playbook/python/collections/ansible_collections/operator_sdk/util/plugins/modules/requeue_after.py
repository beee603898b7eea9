"""Runs the role or playbook of the object again after a time."""

DOCUMENTATION = """
module: requeue_after
short_description: reconcile the object again after a time
description: The run goes on to its end. The operator then starts the next run after the time.
options:
  time: {description: A duration such as 30s or 1h30m., type: str, required: true}
"""

import re

from ansible.module_utils.basic import AnsibleModule


def main():
    module = AnsibleModule(argument_spec=dict(time=dict(type="str", required=True)), supports_check_mode=True)
    period = module.params["time"]
    if not re.match(r"^(\d+(\.\d+)?(h|m|s|ms))+$", period):
        module.fail_json(msg="time is %r, which is not a duration such as 30s or 1h30m" % period)
    module.exit_json(period=period)


if __name__ == "__main__":
    main()
