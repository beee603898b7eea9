package chart

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/tools/generate/manifests"
)

// template writes an object as a template, inside a condition if it is not always part of the chart.
func (p pair) template(o manifests.Operator) ([]byte, error) {
	kind := p.any().GetKind()
	switch {
	case kind == "Deployment":
		return p.deployment(o)
	case p.any().GetNamespace() == watchedNamespace:
		return wrap(p.limited, "range $.Values.watchNamespaces")
	case p.everywhere == nil:
		return wrap(p.limited, "if $.Values.watchNamespaces")
	case p.limited == nil:
		return wrap(p.everywhere, "if not $.Values.watchNamespaces")
	case !reflect.DeepEqual(p.everywhere.Object, p.limited.Object):
		return p.either()
	}
	object := p.everywhere.DeepCopy()
	switch {
	case kind == "CustomResourceDefinition":
		annotate(object, "@@keep@@")
		return wrap(object, "if $.Values.crds.install")
	case strings.HasPrefix(kind, "ValidatingAdmissionPolicy"):
		return wrap(object, "if $.Values.policies.install")
	case kind == "ServiceAccount":
		annotate(object, "@@account@@")
	case kind == "NetworkPolicy":
		return wrap(object, "if $.Values.networkPolicy.enabled")
	case kind == "PodDisruptionBudget":
		return wrap(object, "if $.Values.podDisruptionBudget.enabled")
	case kind == "Service" && object.GetName() == o.Name+"-webhook":
		return wrap(object, "if $.Values.webhooks.enabled")
	}
	return wrap(object, "")
}

// annotate adds an annotation as a placeholder for others.
func annotate(object *unstructured.Unstructured, stands string) {
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[stands] = ""
	object.SetAnnotations(annotations)
}

// wrap writes an object inside an action of a template, or without one if the action is "".
func wrap(object *unstructured.Unstructured, action string) ([]byte, error) {
	text, err := render(object)
	if err != nil || action == "" {
		return []byte(text), err
	}
	return []byte("{{- " + action + " }}\n---\n" + text + "{{- end }}\n"), nil
}

// either writes both forms of an object.
func (p pair) either() ([]byte, error) {
	everywhere, err := render(p.everywhere)
	if err != nil {
		return nil, err
	}
	limited, err := render(p.limited)
	return []byte("{{- if $.Values.watchNamespaces }}\n" + limited + "{{- else }}\n" + everywhere + "{{- end }}\n"), err
}

// deployment writes the Deployment, which has the most values for users to set.
func (p pair) deployment(o manifests.Operator) ([]byte, error) {
	object := p.everywhere.DeepCopy()
	containers, _, err := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
	if err != nil || len(containers) == 0 {
		return nil, fmt.Errorf("the Deployment has no container: %w", err)
	}
	container := containers[0].(map[string]any)
	container["image"], container["imagePullPolicy"] = "@@image@@", "@@pull@@"
	container["resources"] = "@@resources@@"
	arguments, _, _ := unstructured.NestedSlice(container, "args")
	container["args"] = append(arguments, "@@arguments@@")
	environment, _, _ := unstructured.NestedSlice(container, "env")
	environment = slices.DeleteFunc(environment, func(one any) bool { return one.(map[string]any)["name"] == "ENABLE_WEBHOOKS" })
	stands := "@@environment@@"
	if !o.Webhooks {
		stands = "@@environment-without-webhooks@@"
	}
	container["env"] = append(environment, stands)
	for _, field := range []struct {
		value any
		path  []string
	}{
		{"@@replicas@@", []string{"spec", "replicas"}},
		{containers, []string{"spec", "template", "spec", "containers"}},
		{"@@imagePullSecrets@@", []string{"spec", "template", "spec", "imagePullSecrets"}},
		{"@@nodeSelector@@", []string{"spec", "template", "spec", "nodeSelector"}},
		{"@@tolerations@@", []string{"spec", "template", "spec", "tolerations"}},
		{"@@affinity@@", []string{"spec", "template", "spec", "affinity"}},
		{"@@priorityClassName@@", []string{"spec", "template", "spec", "priorityClassName"}},
		{"@@podAnnotations@@", []string{"spec", "template", "metadata", "annotations"}},
	} {
		if err := unstructured.SetNestedField(object.Object, field.value, field.path...); err != nil {
			return nil, err
		}
	}
	return wrap(object, "")
}

// standing matches a line of YAML that is a placeholder for others: "- '@@name@@'", "key: '@@name@@'" or "'@@name@@': …".
var standing = regexp.MustCompile(`(?m)^( *)((?:- )?)(?:(\w+): )?['"]?@@([\w-]+)@@['"]?(?:: "")?\n`)

// render writes an object with its placeholders replaced by templates. It escapes braces in the object.
func render(object *unstructured.Unstructured) (string, error) {
	encoded, err := yaml.Marshal(object.Object)
	if err != nil {
		return "", err
	}
	text := strings.ReplaceAll(string(encoded), "{{", `{{ "{{" }}`)
	text = strings.ReplaceAll(text, releaseNamespace, "{{ $.Release.Namespace }}")
	text = strings.ReplaceAll(text, watchedNamespace, "{{ . }}")
	var unknown error
	text = standing.ReplaceAllStringFunc(text, func(line string) string {
		parts := standing.FindStringSubmatch(line)
		written, err := stand(parts[4], parts[1], parts[3])
		unknown = err
		return written
	})
	if strings.Contains(text, "@@") {
		return "", fmt.Errorf("a CRD or a Role contains the text @@, which is the placeholder for values:\n%s", text)
	}
	return text, unknown
}

// stand returns the text that replaces a placeholder, with an indentation and, if it is a field's value, under a key.
func stand(name, at, key string) (string, error) {
	lines := func(all ...string) string { return at + strings.Join(all, "\n"+at) + "\n" }
	inner := len(at) + 2
	switch name {
	case "replicas":
		return lines("replicas: {{ $.Values.replicas }}"), nil
	case "image":
		return lines(`image: {{ $.Values.image.repository }}{{ if not (hasPrefix "@" $.Values.image.tag) }}:{{ end }}{{ $.Values.image.tag }}`), nil
	case "pull":
		return lines("imagePullPolicy: {{ $.Values.image.pullPolicy }}"), nil
	case "keep":
		return lines("{{- if $.Values.crds.keep }}", "helm.sh/resource-policy: keep", "{{- end }}"), nil
	case "account":
		return lines("{{- with $.Values.serviceAccount.annotations }}", fmt.Sprintf("{{- toYaml . | nindent %d }}", len(at)), "{{- end }}"), nil
	case "arguments":
		return lines("{{- with $.Values.watchNamespaces }}", `- --namespace={{ join "," . }}`, "{{- end }}",
			"{{- with $.Values.args }}", fmt.Sprintf("{{- toYaml . | nindent %d }}", len(at)), "{{- end }}"), nil
	case "environment":
		return lines("{{- if not $.Values.webhooks.enabled }}", "- name: ENABLE_WEBHOOKS", `  value: "false"`, "{{- end }}") + more(at), nil
	case "environment-without-webhooks":
		return lines("- name: ENABLE_WEBHOOKS", `  value: "false"`) + more(at), nil
	case "resources", "imagePullSecrets", "nodeSelector", "tolerations", "affinity", "podAnnotations", "priorityClassName":
		return lines("{{- with $.Values."+name+" }}", key+":", fmt.Sprintf("  {{- toYaml . | nindent %d }}", inner), "{{- end }}"), nil
	}
	return "", fmt.Errorf("nothing is known of @@%s@@", name)
}

// more adds the environment variables that users set.
func more(at string) string {
	return at + "{{- with $.Values.env }}\n" + at + fmt.Sprintf("{{- toYaml . | nindent %d }}", len(at)) + "\n" + at + "{{- end }}\n"
}
