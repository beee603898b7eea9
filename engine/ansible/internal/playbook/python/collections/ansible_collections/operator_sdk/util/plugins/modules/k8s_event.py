"""Records an Event about an object."""

DOCUMENTATION = """
module: k8s_event
short_description: record an Event about an object
description: Creates an Event, or raises the count of the Event with the name.
options:
  name: {description: The name of the Event., type: str, required: true}
  namespace: {description: The namespace of the Event., type: str, required: true}
  state: {description: Whether the Event exists., type: str, choices: [present, absent], default: present}
  message: {description: What happened., type: str, required: true}
  reason: {description: Why, as one CamelCase word., type: str, required: true}
  type: {description: The type of the Event., type: str, choices: [Normal, Warning], default: Normal}
  reportingComponent: {description: The controller that reports the Event., type: str}
  source: {description: The source of the Event, with the field component., type: dict}
  involvedObject: {description: The object that the Event is about., type: dict, required: true}
  appendTimestamp: {description: Whether the name ends with the time, so that each Event is a new one., type: bool, default: false}
  merge_type: {description: How an Event is patched. It has no effect., type: list, elements: str}
"""

import datetime
import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.operator_sdk.util.plugins.module_utils.api import AUTH, Failure, connect


def event(params, live, now):
    body = {
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": params["name"], "namespace": params["namespace"]},
        "count": 1, "firstTimestamp": now, "lastTimestamp": now, "message": params["message"], "reason": params["reason"],
        "type": params["type"], "involvedObject": params["involvedObject"],
        "reportingComponent": params["reportingComponent"] or "", "source": params["source"] or {},
    }
    if live:
        body["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"]
        body["count"], body["firstTimestamp"] = live.get("count", 0) + 1, live.get("firstTimestamp") or now
    return body


def main():
    module = AnsibleModule(
        argument_spec=dict(
            AUTH,
            name=dict(type="str", required=True),
            namespace=dict(type="str", required=True),
            state=dict(type="str", choices=["present", "absent"], default="present"),
            message=dict(type="str", required=True),
            reason=dict(type="str", required=True),
            type=dict(type="str", choices=["Normal", "Warning"], default="Normal"),
            reportingComponent=dict(type="str"),
            source=dict(type="dict"),
            involvedObject=dict(type="dict", required=True),
            appendTimestamp=dict(type="bool", default=False),
            merge_type=dict(type="list", elements="str"),
        ),
        supports_check_mode=True,
    )
    params = module.params
    if params["appendTimestamp"]:
        params["name"] += "." + str(int(time.time()))
    if module.check_mode:
        module.exit_json(changed=True)
    events = "/api/v1/namespaces/%s/events" % params["namespace"]
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    try:
        client = connect(params)
        live = client.get(events + "/" + params["name"], missing=True)
        if params["state"] == "absent":
            if live:
                client.delete(events + "/" + params["name"])
            module.exit_json(changed=bool(live), result=live or {})
        body = event(params, live, now)
        result = client.put(events + "/" + params["name"], body) if live else client.post(events, body)
        module.exit_json(changed=True, result=result)
    except Failure as error:
        module.fail_json(msg=str(error))


if __name__ == "__main__":
    main()
