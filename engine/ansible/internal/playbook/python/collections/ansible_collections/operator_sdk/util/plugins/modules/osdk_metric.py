"""Changes a metric of the operator."""

DOCUMENTATION = """
module: osdk_metric
short_description: change a metric of the operator
description: The metric is shown by the metrics endpoint of the operator.
options:
  name: {description: The name of the metric., type: str, required: true}
  description: {description: What the metric means., type: str, default: ""}
  counter: {description: A counter, with increment or add., type: dict}
  gauge: {description: A gauge, with set, increment, decrement, add, subtract or set_to_current_time., type: dict}
  histogram: {description: A histogram, with observe., type: dict}
  summary: {description: A summary, with observe., type: dict}
  address: {description: It has no effect: the operator that runs the task has the metric., type: str}
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.operator_sdk.util.plugins.module_utils.api import AUTH, Failure, connect

NUMBER, SWITCH = dict(type="float"), dict(type="bool")
KINDS = dict(
    counter=dict(increment=SWITCH, add=NUMBER),
    gauge=dict(set=NUMBER, increment=SWITCH, decrement=SWITCH, add=NUMBER, subtract=NUMBER, set_to_current_time=SWITCH),
    histogram=dict(observe=NUMBER),
    summary=dict(observe=NUMBER),
)


def main():
    module = AnsibleModule(
        argument_spec=dict(
            AUTH,
            name=dict(type="str", required=True),
            description=dict(type="str", default=""),
            address=dict(type="str"),
            **{kind: dict(type="dict", options=options) for kind, options in KINDS.items()}
        ),
        required_one_of=[list(KINDS)],
        mutually_exclusive=[list(KINDS)],
    )
    body = {key: module.params[key] for key in ("name", "description")}
    for kind in KINDS:
        if module.params[kind] is not None:
            body[kind] = {operation: value for operation, value in module.params[kind].items() if value is not None}
    try:
        connect(module.params).post("/operon/metrics", body)
        module.exit_json(changed=True)
    except Failure as error:
        module.fail_json(msg=str(error))


if __name__ == "__main__":
    main()
