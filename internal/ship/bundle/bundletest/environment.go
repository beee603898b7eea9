package bundletest

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// podEnvironment is what a process takes over from the operator's container: environment variables and arguments.
type podEnvironment struct {
	client     kubernetes.Interface
	deployment *appsv1.Deployment

	env, args []string
	// notes are about what is not taken over.
	notes []string
}

// kept are variables that a process has from its user or from the test: those of a container have no meaning on this machine, or lead to
// other programs.
var kept = []string{"PATH", "HOME", "USER", "SHELL", "TMPDIR", "KUBECONFIG"}

// isKept reports whether a variable of the container is not taken over.
func isKept(name string) bool {
	return slices.Contains(kept, name) || strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "DYLD_") || strings.HasPrefix(name, "KUBERNETES_SERVICE_")
}

func (p *podEnvironment) read(ctx context.Context) error {
	container := operatorContainer(p.deployment)
	if container == nil {
		return fmt.Errorf("the Deployment %s has no containers", p.deployment.Name)
	}
	if len(container.EnvFrom) > 0 {
		p.notes = append(p.notes, fmt.Sprintf("envFrom of the container %s is left out", container.Name))
	}
	values := map[string]string{}
	for _, variable := range container.Env {
		value, known, err := p.value(ctx, variable)
		if err != nil {
			return err
		}
		if !known || isKept(variable.Name) {
			p.notes = append(p.notes, fmt.Sprintf("the variable %s of the container %s is left out", variable.Name, container.Name))
			continue
		}
		values[variable.Name] = expand(value, values)
		p.env = append(p.env, variable.Name+"="+values[variable.Name])
	}
	for _, arg := range container.Args {
		p.args = append(p.args, expand(arg, values))
	}
	return nil
}

// operatorContainer returns the container of the operator: the only one, or the one with the usual name, or the first one.
func operatorContainer(deployment *appsv1.Deployment) *corev1.Container {
	all := deployment.Spec.Template.Spec.Containers
	if len(all) == 0 {
		return nil
	}
	at := slices.IndexFunc(all, func(c corev1.Container) bool { return c.Name == "manager" })
	return &all[max(at, 0)]
}

// value returns the value of a variable, and whether it is known outside of a pod.
func (p *podEnvironment) value(ctx context.Context, variable corev1.EnvVar) (string, bool, error) {
	from := variable.ValueFrom
	switch {
	case from == nil:
		return variable.Value, true, nil
	case from.FieldRef != nil:
		value, known := p.field(from.FieldRef.FieldPath)
		return value, known, nil
	case from.ConfigMapKeyRef != nil:
		found, err := p.client.CoreV1().ConfigMaps(p.deployment.Namespace).Get(ctx, from.ConfigMapKeyRef.Name, metav1.GetOptions{})
		if err != nil {
			return "", false, fmt.Errorf("the variable %s: %w", variable.Name, err)
		}
		value, known := found.Data[from.ConfigMapKeyRef.Key]
		return value, known, nil
	case from.SecretKeyRef != nil:
		found, err := p.client.CoreV1().Secrets(p.deployment.Namespace).Get(ctx, from.SecretKeyRef.Name, metav1.GetOptions{})
		if err != nil {
			return "", false, fmt.Errorf("the variable %s: %w", variable.Name, err)
		}
		value, known := found.Data[from.SecretKeyRef.Key]
		return string(value), known, nil
	}
	return "", false, nil
}

// keyed is a path of a field with one entry of a map.
var keyed = regexp.MustCompile(`^metadata\.(annotations|labels)\['(.+)'\]$`)

// field returns a field of the pod, as far as it is known without one.
func (p *podEnvironment) field(path string) (string, bool) {
	template := p.deployment.Spec.Template
	if match := keyed.FindStringSubmatch(path); match != nil {
		if match[1] == "labels" {
			return template.Labels[match[2]], true
		}
		return template.Annotations[match[2]], true
	}
	switch path {
	case "metadata.name":
		return p.deployment.Name, true
	case "metadata.namespace":
		return p.deployment.Namespace, true
	case "spec.serviceAccountName":
		return accountOf(template.Spec.ServiceAccountName), true
	case "status.podIP", "status.hostIP":
		return "127.0.0.1", true
	}
	return "", false
}

// reference is a reference to a variable, or an escaped dollar sign.
var reference = regexp.MustCompile(`\$\$|\$\([-._a-zA-Z][-._a-zA-Z0-9]*\)`)

// expand replaces $(NAME) by the value of a variable that was defined before, and $$ by $, as Kubernetes does.
func expand(text string, values map[string]string) string {
	return reference.ReplaceAllStringFunc(text, func(found string) string {
		if found == "$$" {
			return "$"
		}
		if value, defined := values[found[2:len(found)-1]]; defined {
			return value
		}
		return found
	})
}
