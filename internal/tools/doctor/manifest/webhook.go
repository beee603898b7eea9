package manifest

import (
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
	"github.com/operon-framework/operon/internal/tools/project"
)

// hook is one webhook of a webhook configuration.
type hook struct {
	admissionv1.ValidatingWebhook
	object project.Object
	path   string
}

func hooks(s *rule.Subject, visit func(*hook)) {
	for _, object := range s.Others {
		if kind := object.GetKind(); kind != "ValidatingWebhookConfiguration" && kind != "MutatingWebhookConfiguration" {
			continue
		}
		// Only fields that both kinds have are checked.
		typed := &admissionv1.ValidatingWebhookConfiguration{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed); err != nil {
			continue
		}
		for i, one := range typed.Webhooks {
			visit(&hook{one, object, fmt.Sprintf("webhooks[%d]", i)})
		}
	}
}

// fails reports whether requests fail while the webhook does not answer.
func (h *hook) fails() bool {
	return h.FailurePolicy == nil || *h.FailurePolicy == admissionv1.Fail
}

// selects reports whether the webhook applies only to some namespaces or objects.
func (h *hook) selects() bool {
	namespaces, objects := h.NamespaceSelector, h.ObjectSelector
	return namespaces != nil && len(namespaces.MatchLabels)+len(namespaces.MatchExpressions) > 0 ||
		objects != nil && len(objects.MatchLabels)+len(objects.MatchExpressions) > 0 || len(h.MatchConditions) > 0
}

// vital lists resources that a cluster, and the webhook itself, need to start.
var vital = []string{"*", "*/*", "pods", "nodes", "namespaces", "leases", "services", "endpoints", "endpointslices", "configmaps", "secrets", "deployments", "replicasets", "daemonsets", "serviceaccounts"}

// starts reports whether an operation is part of the start of a pod.
func starts(operation admissionv1.OperationType) bool {
	return operation == admissionv1.Create || operation == admissionv1.Update || operation == admissionv1.OperationAll
}

var webhookBroad = &rule.Rule{
	Name: "webhook-broad", Severity: rule.Error,
	About:  "A webhook that fails closed and applies to kinds that the cluster or the webhook itself needs to start.",
	Reason: "If none of its pods is running, no pod can be created, not even its own: the cluster is blocked until someone deletes the webhook configuration.",
	Fix:    "failurePolicy: Ignore, or a namespaceSelector that excludes kube-system and the operator's namespace, or an objectSelector; or a ValidatingAdmissionPolicy, which needs no pod",
	Check: func(s *rule.Subject, found *rule.Findings) {
		hooks(s, func(h *hook) {
			if !h.fails() || h.selects() {
				return
			}
			for i, one := range h.Rules {
				if !slices.ContainsFunc(one.Operations, starts) || !slices.ContainsFunc(one.APIGroups, func(g string) bool {
					return slices.Contains([]string{"*", "", "apps", "coordination.k8s.io", "discovery.k8s.io"}, g)
				}) {
					continue
				}
				at := slices.IndexFunc(one.Resources, func(r string) bool { return slices.Contains(vital, r) })
				if at >= 0 {
					reportIn(found, h.object, fmt.Sprintf("%s.rules[%d].resources[%d]", h.path, i, at), "%s fails closed for %s in every namespace", h.Name, one.Resources[at])
				}
			}
		})
	},
}

var webhookTimeout = &rule.Rule{
	Name: "webhook-timeout", Severity: rule.Advice,
	About:  "A webhook that fails closed with a timeout of ten seconds or more.",
	Reason: "If it does not respond, every write of these objects blocks that long before it fails, and so do clients such as the garbage collector.",
	Fix:    "timeoutSeconds: 5 or less (controller-gen: timeoutSeconds=5 in the marker)",
	Check: func(s *rule.Subject, found *rule.Findings) {
		hooks(s, func(h *hook) {
			if h.fails() && (h.TimeoutSeconds == nil || *h.TimeoutSeconds >= 10) {
				reportIn(found, h.object, h.path, "%s may block a write for %d seconds", h.Name, seconds(h.TimeoutSeconds))
			}
		})
	},
}

// defaultSeconds is the timeout of a webhook that does not set one.
const defaultSeconds = 10

func seconds(given *int32) int32 {
	if given == nil {
		return defaultSeconds
	}
	return *given
}
