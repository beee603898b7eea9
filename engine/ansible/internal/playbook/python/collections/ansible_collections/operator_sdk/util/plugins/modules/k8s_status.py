"""Changes the status of an object."""

DOCUMENTATION = """
module: k8s_status
short_description: change the status of an object
description: Merges fields and conditions into the status subresource of an object. Nothing is written if the status has them.
options:
  api_version: {description: The version of the API of the object., type: str, required: true, aliases: [api, version]}
  kind: {description: The kind of the object., type: str, required: true}
  name: {description: The name of the object., type: str, required: true}
  namespace: {description: The namespace of the object., type: str}
  status: {description: Fields of the status., type: dict}
  conditions: {description: Conditions of the status. One with the same type is replaced., type: list, elements: dict}
  replace: {description: Whether the status consists of these fields only., type: bool, default: false, aliases: [force]}
  replace_lists: {description: Whether lists replace those of the status. They always do., type: bool, default: true}
"""

import copy
import datetime
import re

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.operator_sdk.util.plugins.module_utils.api import AUTH, Failure, connect, resource_path

STATUSES = ("True", "False", "Unknown")
REASON = re.compile(r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")
FIELDS = ("type", "status", "reason", "message", "lastHeartbeatTime", "lastTransitionTime")


def check(conditions):
    for condition in conditions:
        unknown = sorted(set(condition) - set(FIELDS))
        if unknown:
            raise Failure("the condition has unknown fields: " + ", ".join(unknown))
        if not condition.get("type"):
            raise Failure("the condition has no type: %s" % condition)
        condition["status"] = str(condition.get("status"))
        if condition["status"] not in STATUSES:
            raise Failure("the condition %s has the status %s, which is none of %s" % (condition["type"], condition["status"], ", ".join(STATUSES)))
        if condition.get("reason") and not REASON.match(condition["reason"]):
            raise Failure("the reason %s of the condition %s is not one CamelCase word" % (condition["reason"], condition["type"]))
    return conditions


def merge_conditions(current, wanted, now):
    """Returns the current conditions with the wanted ones. The time of a transition changes with the status only."""
    merged = copy.deepcopy(current)
    for condition in wanted:
        condition = {key: value for key, value in condition.items() if value is not None}
        old = next((c for c in merged if c.get("type") == condition["type"]), None)
        if old is None:
            condition.setdefault("lastTransitionTime", now)
            merged.append(condition)
            continue
        if old.get("status") != condition["status"]:
            condition.setdefault("lastTransitionTime", now)
        old.update(condition)
    return merged


def contains(current, wanted):
    """Reports whether all fields of wanted are in current."""
    if isinstance(wanted, dict):
        return isinstance(current, dict) and all(
            (key not in current) if value is None else contains(current.get(key), value) for key, value in wanted.items()
        )
    return current == wanted


def main():
    module = AnsibleModule(
        argument_spec=dict(
            AUTH,
            api_version=dict(type="str", required=True, aliases=["api", "version"]),
            kind=dict(type="str", required=True),
            name=dict(type="str", required=True),
            namespace=dict(type="str"),
            status=dict(type="dict"),
            conditions=dict(type="list", elements="dict"),
            replace=dict(type="bool", default=False, aliases=["force"]),
            replace_lists=dict(type="bool", default=True),
        ),
        supports_check_mode=True,
    )
    params = module.params
    try:
        conditions = check(params["conditions"] or [])
        client = connect(params)
        path = resource_path(client, params["api_version"], params["kind"], params["namespace"], params["name"])
        live = client.get(path)
        current = live.get("status") or {}
        wanted = dict(params["status"] or {})
        if "conditions" in wanted:
            conditions = check(wanted.pop("conditions")) + conditions
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        if conditions:
            wanted["conditions"] = merge_conditions(current.get("conditions") or [], conditions, now)
        same = current == wanted if params["replace"] else contains(current, wanted)
        if same or module.check_mode:
            module.exit_json(changed=not same, result=live)
        if params["replace"]:
            live["status"] = wanted
            result = client.put(path + "/status", live)
        else:
            result = client.merge(path + "/status", {"status": wanted})
        module.exit_json(changed=True, result=result)
    except Failure as error:
        module.fail_json(msg=str(error))


if __name__ == "__main__":
    main()
