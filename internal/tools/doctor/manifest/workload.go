package manifest

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
	"github.com/operon-framework/operon/internal/tools/project"
)

const template = "spec.template.spec"

// deployments visits the Deployments of the project. They are the operator's. One without a selector or an image is a part of
// another one.
func deployments(s *rule.Subject, visit func(project.Object, *appsv1.Deployment)) {
	for _, object := range s.Others {
		if object.GetKind() != "Deployment" {
			continue
		}
		typed := &appsv1.Deployment{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed); err == nil && complete(typed) {
			visit(object, typed)
		}
	}
}

func complete(d *appsv1.Deployment) bool {
	return d.Spec.Selector != nil && slices.ContainsFunc(d.Spec.Template.Spec.Containers, func(c corev1.Container) bool { return c.Image != "" })
}

// containers visits the containers of the operator's pods, each with its path.
func containers(s *rule.Subject, visit func(object project.Object, path string, d *appsv1.Deployment, c *corev1.Container)) {
	deployments(s, func(object project.Object, d *appsv1.Deployment) {
		for i := range d.Spec.Template.Spec.Containers {
			visit(object, fmt.Sprintf("%s.containers[%d]", template, i), d, &d.Spec.Template.Spec.Containers[i])
		}
	})
}

func reportIn(found *rule.Findings, object project.Object, path, format string, values ...any) {
	found.Add(rule.At(object, path), format, values...).Also = []rule.Place{rule.At(object, "")}
}

var deployLimits = &rule.Rule{
	Name: "deploy-limits", Severity: rule.Warning,
	About:  "An operator without a memory limit or without resource requests.",
	Reason: "With a leak, or in a cluster larger than yours, it uses up the memory of the node and harms other pods; without requests, it is evicted first.",
	Fix:    "set requests for CPU and memory, and a memory limit that is several times the usage in your tests",
	Check: func(s *rule.Subject, found *rule.Findings) {
		containers(s, func(object project.Object, path string, _ *appsv1.Deployment, c *corev1.Container) {
			var missing []string
			if c.Resources.Limits.Memory().IsZero() {
				missing = append(missing, "memory limit")
			}
			if c.Resources.Requests.Memory().IsZero() && c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() && c.Resources.Limits.Cpu().IsZero() {
				missing = append(missing, "requests")
			}
			if len(missing) > 0 {
				reportIn(found, object, path, "container %s has no %s", c.Name, strings.Join(missing, " and no "))
			}
		})
	},
}

var deployRoot = &rule.Rule{
	Name: "deploy-root", Severity: rule.Warning,
	About:  "An operator that may run as root.",
	Reason: "Namespaces with the restricted pod security standard reject it; elsewhere, escaping the container leads to root on the node.",
	Fix:    "securityContext: {runAsNonRoot: true} for the pod, {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}} for the container",
	Check: func(s *rule.Subject, found *rule.Findings) {
		containers(s, func(object project.Object, path string, d *appsv1.Deployment, c *corev1.Container) {
			pod := d.Spec.Template.Spec.SecurityContext
			safe := pod != nil && (isTrue(pod.RunAsNonRoot) || pod.RunAsUser != nil && *pod.RunAsUser > 0)
			if own := c.SecurityContext; own != nil {
				safe = safe || isTrue(own.RunAsNonRoot) || own.RunAsUser != nil && *own.RunAsUser > 0
				if isTrue(own.Privileged) || own.RunAsUser != nil && *own.RunAsUser == 0 {
					safe = false
				}
			}
			if !safe {
				reportIn(found, object, path, "container %s may run as root", c.Name)
			}
		})
	},
}

func isTrue(b *bool) bool { return b != nil && *b }

var deployProbes = &rule.Rule{
	Name: "deploy-probes", Severity: rule.Warning,
	About:  "An operator without probes.",
	Reason: "An operator that hangs is never restarted, and a rollout continues although the new pod does not work: with webhooks, requests reach a pod that does not serve yet.",
	Fix:    "livenessProbe on /healthz and readinessProbe on /readyz, which managers serve on --health-probe-bind-address",
	Check: func(s *rule.Subject, found *rule.Findings) {
		deployments(s, func(object project.Object, d *appsv1.Deployment) {
			pod := d.Spec.Template.Spec
			live := slices.ContainsFunc(pod.Containers, func(c corev1.Container) bool { return c.LivenessProbe != nil })
			ready := slices.ContainsFunc(pod.Containers, func(c corev1.Container) bool { return c.ReadinessProbe != nil })
			if !live || !ready {
				reportIn(found, object, template+".containers[0]", "the pods of %s have no %s", d.Name, missingProbe(live, ready))
			}
		})
	},
}

func missingProbe(live, ready bool) string {
	switch {
	case live:
		return "readiness probe"
	case ready:
		return "liveness probe"
	}
	return "probes"
}

// placeholder is the image in kubebuilder's scaffold. It is replaced when the operator is deployed.
const placeholder = "controller:latest"

var deployLatest = &rule.Rule{
	Name: "deploy-latest", Severity: rule.Warning,
	About:  "An image without a version: :latest, or no tag.",
	Reason: "A pod that moves to another node may run another program, it is unclear which one, and a rollback has no effect.",
	Fix:    "use a tag that never moves, or preferably a digest",
	Check: func(s *rule.Subject, found *rule.Findings) {
		containers(s, func(object project.Object, path string, _ *appsv1.Deployment, c *corev1.Container) {
			name := c.Image[strings.LastIndex(c.Image, "/")+1:]
			_, tag, tagged := strings.Cut(name, ":")
			if c.Image == "" || c.Image == placeholder || strings.Contains(c.Image, "@") || strings.ContainsAny(c.Image, "{$") {
				return // set when it is deployed, or a digest
			}
			if !tagged || tag == "latest" {
				reportIn(found, object, path+".image", "the image %s has no version", c.Image)
			}
		})
	},
}

var deployElection = &rule.Rule{
	Name: "deploy-election", Severity: rule.Error,
	About:  "Several replicas without leader election.",
	Reason: "All of them reconcile every object: their writes conflict, and objects with generated names and external resources are created twice.",
	Fix:    "add --leader-elect to the arguments (and LeaderElection to the manager's options), or use one replica",
	Check: func(s *rule.Subject, found *rule.Findings) {
		if s.Framework == project.Operon {
			return // replicas distribute the objects, or use leader election, automatically
		}
		deployments(s, func(object project.Object, d *appsv1.Deployment) {
			if d.Spec.Replicas == nil || *d.Spec.Replicas < 2 || elects(s.Code, flagsOf(d)) {
				return
			}
			reportIn(found, object, "spec.replicas", "%s has %d replicas without leader election", d.Name, *d.Spec.Replicas)
		})
	},
}
