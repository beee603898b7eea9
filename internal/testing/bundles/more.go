package bundles

import (
	"fmt"
	"strings"
)

// serves is a list of webhooks or API services in the CSV. Each line is an entry.
func serves(webhooks, apis string) Change {
	text := ""
	if webhooks != "" {
		text = "  webhookdefinitions:\n" + webhooks
	}
	if apis != "" {
		text += "  apiservicedefinitions:\n    owned:\n" + apis
	}
	return Field(strings.TrimSuffix(text, "\n"))
}

// hook is a validating webhook of a Deployment, with more fields.
func hook(name, deployment, more string) string {
	return fmt.Sprintf(`  - {type: ValidatingAdmissionWebhook, generateName: %s.example.com, deploymentName: %s, sideEffects: None, admissionReviewVersions: [v1], %s,
     rules: [{apiGroups: [NAME.example.com], apiVersions: [v1], operations: [CREATE], resources: [things]}]}
`, name, deployment, more)
}

// api is an API service of a Deployment.
func api(group, version, kind, deployment string) string {
	return fmt.Sprintf("    - {name: %ss, group: %s, version: %s, kind: %s, deploymentName: %s, description: Served.}\n", strings.ToLower(kind), group, version, kind, deployment)
}

// ServedItems have webhooks and API services in forms that are allowed, and in some that are not.
func ServedItems() []Bundle {
	const everywhere = "AllNamespaces"
	conversion := Edit(CRDFile, "  scope: Namespaced\n", "  scope: Namespaced\n  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {namespace: system, name: webhook-service, path: /convert}}}}\n")
	mounts := func(files map[string]string) {
		Edit(CSVFile, "                image: registry.example.com/NAME:1.0.0\n", `                image: registry.example.com/NAME:1.0.0
                volumeMounts:
                - {name: cert, mountPath: /tmp/k8s-webhook-server/serving-certs/}
                - {name: data, mountPath: /data}
`)(files)
		Edit(CSVFile, "              containers:\n", `              volumes:
              - {name: cert, secret: {secretName: from-cert-manager}}
              - {name: data, emptyDir: {}}
              initContainers:
              - {name: first, image: 'registry.example.com/NAME:1.0.0', volumeMounts: [{name: data, mountPath: /data}]}
              containers:
              - {name: second, image: 'registry.example.com/NAME:1.0.0', volumeMounts: [{name: data, mountPath: /apiserver.local.config/certificates}]}
`)(files)
	}
	return []Bundle{
		New("serve-both", "", serves(hook("vthing", "NAME", "containerPort: 443"), api("both.example.com", "v1", "Served", "NAME"))),
		New("serve-several", "", deployments(3), serves(hook("vthing", "NAME-0", "targetPort: 9443")+hook("wthing", "NAME-2", "containerPort: 8443")+hook("xthing", "NAME-0", "targetPort: 9443, webhookPath: /other"), "")),
		New("serve-kinds", "", serves("", api("kinds.example.com", "v1", "Served", "NAME")+api("kinds.example.com", "v1", "Other", "NAME")+api("kinds.example.com", "v2", "Served", "NAME"))),
		New("serve-mounts", "", serves(hook("vthing", "NAME", "targetPort: 9443"), ""), mounts),
		New("serve-own-mode", "", serves(hook("vthing", "NAME", "targetPort: 9443"), ""), ModesOnly("OwnNamespace")),
		New("serve-conversion", "", Field(converting), conversion, ModesOnly(everywhere)),
		New("serve-dots", "", Edit(CSVFile, "      - name: NAME\n", "      - name: NAME.manager\n"), serves(hook("vthing", "NAME.manager", "targetPort: 9443"), "")),

		New("conversion-not-described", "manager-refuses", conversion),
		New("conversion-of-another", "csv-webhooks manager-refuses", Field(strings.Replace(converting, "conversionCRDs: [things.", "conversionCRDs: [others.", 1)), conversion, ModesOnly(everywhere)),
		New("webhook-two-targets", "manager-refuses", serves(hook("vthing", "NAME", "targetPort: 9443")+hook("wthing", "NAME", "targetPort: 9444"), "")),
		New("webhook-expressions", "manager-refuses", serves(hook("vthing", "NAME", "targetPort: 9443"), ""),
			Edit(CSVFile, "selector: {matchLabels: {app: NAME}}", "selector: {matchExpressions: [{key: app, operator: In, values: [NAME]}]}")),
		New("webhook-manager", "manager-refuses", serves(strings.Replace(hook("vthing", "NAME", "targetPort: 9443"), "[NAME.example.com]", "[packages.operators.coreos.com]", 1), "")),
		New("webhook-no-deployment", "csv-webhooks", serves(hook("vthing", "other", "targetPort: 9443"), "")),
		New("api-reserved", "csv-api-services", serves("", api("authorization.k8s.io", "v1", "NodeReview", "NAME"))),
		New("api-no-deployment", "csv-api-services", serves("", api("absent.example.com", "v1", "Served", "other"))),
		New("api-two-deployments", "csv-api-services", deployments(2), serves("", api("two.example.com", "v1", "Served", "NAME-0")+api("two.example.com", "v1", "Other", "NAME-1"))),
		New("api-and-definition", "csv-api-services", serves("", api("NAME.example.com", "v1", "Served", "NAME"))),
		New("serve-one-name", "generated-names", Edit(CSVFile, "      deployments:\n", "      deployments:\n      - {name: NAME-x, spec: {selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: {containers: [{name: a, image: a}]}}}}\n"),
			Edit(CSVFile, "      - name: NAME\n", "      - name: NAME.x\n"), serves(hook("vthing", "NAME-x", "targetPort: 9443")+hook("wthing", "NAME.x", "targetPort: 9443"), "")),
	}
}

// WrittenItems have objects that a plan writes in another form, and some that it refuses.
func WrittenItems() []Bundle {
	with := func(objects string) Change { return With("manifests/more.yaml", objects) }
	return []Bundle{
		New("write-removed-versions", "", with(`{apiVersion: policy/v1beta1, kind: PodDisruptionBudget, metadata: {name: NAME}, spec: {maxUnavailable: 1, selector: {matchLabels: {app: NAME}}}}
---
{apiVersion: rbac.authorization.k8s.io/v1beta1, kind: ClusterRole, metadata: {name: NAME}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1beta1, kind: ClusterRoleBinding, metadata: {name: NAME}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: NAME}, subjects: [{kind: ServiceAccount, name: NAME, namespace: default}]}
---
{apiVersion: scheduling.k8s.io/v1beta1, kind: PriorityClass, metadata: {name: NAME}, value: 5}
`)),
		New("write-unknown-fields", "", with("{apiVersion: v1, kind: Service, metadata: {name: NAME-metrics}, spec: {ports: [{port: 80, prot: TCP}], selectors: {app: NAME}}}\n")),
		New("write-optional-kinds", "", with("{apiVersion: monitoring.coreos.com/v1, kind: ServiceMonitor, metadata: {name: NAME}, spec: {endpoints: [{port: x}], selector: {}}}\n")),
		New("write-generated-look", "", with("{apiVersion: v1, kind: Service, metadata: {name: NAME-service}, spec: {ports: [{port: 80}]}}\n")), // it serves nothing
		New("removed-permissions", "", Edit(CSVFile, `rules: [{apiGroups: [""], resources: [configmaps], verbs: [get, list]}]`, "rules: [{apiGroups: [extensions], resources: [deployments], verbs: [get]}]")),

		New("group-reserved", "manager-refuses", everywhere(func(text string) string {
			return strings.ReplaceAll(text, "NAME.example.com", "NAME.operators.coreos.com")
		})),
		New("native-removed", "removed-api", Field("  nativeAPIs: [{group: extensions, version: v1beta1, kind: Ingress}]")),
		New("object-of-another-group", "bundle-objects", with("{apiVersion: serving.knative.dev/v1, kind: Service, metadata: {name: NAME}}\n")),
		New("object-of-no-version", "bundle-objects", with("{apiVersion: rbac.authorization.k8s.io/v1alpha1, kind: Role, metadata: {name: NAME}}\n")),
		New("object-wrong-type", "bundle-objects", with("{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME}, data: {a: [1]}}\n")),
		New("object-removed-kind", "bundle-objects removed-api", with("{apiVersion: networking.k8s.io/v1beta1, kind: Ingress, metadata: {name: NAME}}\n")),
		New("object-twice", "bundle-objects", with("{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME, namespace: other}}\n")),
		New("object-generated", "generated-names", serves(hook("vthing", "NAME", "targetPort: 9443"), ""), with("{apiVersion: v1, kind: Service, metadata: {name: NAME-service}, spec: {ports: [{port: 80}]}}\n")),
	}
}
