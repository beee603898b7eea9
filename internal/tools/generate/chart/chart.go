// Package chart writes a Helm chart that installs an operator, and retains the edits of its author.
//
// The chart contains what [install] builds, with a value for each choice of a user: the image, replicas, resources, the
// namespaces to work in, whether definitions are installed and kept, whether there are webhooks ([Files]). If it is generated
// again, it is merged with the existing chart ([Merge]): unedited files follow the operator, edited files stay, and values
// are merged key by key. If both sides changed the same thing, this is reported and nothing is lost.
package chart

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/tools/generate/manifests"
)

// Placeholders for values that are known only when a chart is rendered. They are valid names of a namespace and an image.
const (
	releaseNamespace = "operon-release-namespace"
	watchedNamespace = "operon-watched-namespace"
)

// Files returns a new chart for the operator, by path in the chart's directory. Its namespace is the namespace of the
// release, and the watched namespaces are a value: the operator's own settings of both are ignored.
//
// It fails if the operator cannot be installed.
func Files(o manifests.Operator) (map[string][]byte, error) {
	image := o.Image
	o.Namespace, o.Watch = releaseNamespace, nil
	everywhere, err := o.Objects()
	if err != nil {
		return nil, err
	}
	o.Watch = []string{watchedNamespace}
	limited, err := o.Objects()
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{
		"Chart.yaml":  metadata(o.Name, image),
		".helmignore": []byte("# Not part of the chart: see " + Record + ".\n" + Record + "\n" + conflicts + "/\n"),
	}
	if files["values.yaml"], err = values(o, image); err != nil {
		return nil, err
	}
	for _, one := range pairs(everywhere, limited) {
		text, err := one.template(o)
		if err != nil {
			return nil, err
		}
		files["templates/"+one.file(o.Name)] = text
	}
	return files, nil
}

func metadata(name, image string) []byte {
	_, tag := split(image)
	return fmt.Appendf(nil, `apiVersion: v2
name: %s
description: Installs %s and what it needs.
type: application
# The chart's own version: yours to raise with each release.
version: 0.1.0
appVersion: %q
`, name, name, tag)
}

// split separates an image's repository from its tag or digest.
func split(image string) (repository, tag string) {
	if before, digest, ok := strings.Cut(image, "@"); ok {
		return before, "@" + digest
	}
	colon := strings.LastIndex(image, ":")
	if colon < 0 || strings.Contains(image[colon:], "/") {
		return image, "latest"
	}
	return image[:colon], image[colon+1:]
}

// values returns the values that users of the chart can set.
func values(o manifests.Operator, image string) ([]byte, error) {
	resources, err := yaml.Marshal(o.Resources)
	if err != nil {
		return nil, err
	}
	repository, tag := split(image)
	var text bytes.Buffer
	fmt.Fprintf(&text, `# The image of the operator. A tag that begins with @ is a digest.
image:
  repository: %s
  tag: %q
  pullPolicy: IfNotPresent
imagePullSecrets: []

# The number of pods. One of them is the leader.
replicas: %d

resources:
%s
# The namespaces that the operator watches; none means all. It has permissions in these only.
watchNamespaces: []

# Further arguments and environment of the container.
args: []
env: []

# CustomResourceDefinitions. They are kept when the chart is uninstalled, because all custom resources would be deleted with them.
crds:
  install: true
  keep: true
`, repository, tag, o.Replicas, indent(string(resources), "  "))
	if len(o.Policies) > 0 {
		text.WriteString(`
# Admission policies are cluster-scoped: install them with only one release in a cluster.
policies:
  install: true
`)
	}
	if o.Webhooks {
		text.WriteString(`
# Whether API servers call the operator's webhooks.
webhooks:
  enabled: true
`)
	}
	text.WriteString(`
networkPolicy:
  enabled: true
podDisruptionBudget:
  enabled: true

serviceAccount:
  annotations: {}
podAnnotations: {}
nodeSelector: {}
tolerations: []
affinity: {}
priorityClassName: ""
`)
	return text.Bytes(), nil
}

func indent(text, by string) string {
	return by + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+by) + "\n"
}

// pair is one object of an operator for the whole cluster, and of an operator limited to namespaces. One of them may be
// missing.
type pair struct{ everywhere, limited *unstructured.Unstructured }

func (p pair) any() *unstructured.Unstructured { return cmp.Or(p.everywhere, p.limited) }

// pairs combines objects with the same kind, namespace and name.
func pairs(everywhere, limited []*unstructured.Unstructured) []pair {
	all := map[string]pair{}
	key := func(object *unstructured.Unstructured) string {
		return object.GetKind() + "/" + object.GetNamespace() + "/" + object.GetName()
	}
	for _, object := range everywhere {
		all[key(object)] = pair{everywhere: object}
	}
	for _, object := range limited {
		all[key(object)] = pair{everywhere: all[key(object)].everywhere, limited: object}
	}
	var found []pair
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if all[key].any().GetKind() != "Namespace" { // a release has a namespace already
			found = append(found, all[key])
		}
	}
	return found
}

// file returns the name of an object's template: its kind, and the part of its name after the operator's name.
func (p pair) file(operator string) string {
	object := p.any()
	name := strings.ToLower(object.GetKind())
	if rest := strings.TrimPrefix(object.GetName(), operator); rest != "" {
		name += "-" + strings.Trim(rest, "-")
	}
	if namespace := object.GetNamespace(); namespace != "" && namespace != releaseNamespace && namespace != watchedNamespace {
		name += "-" + namespace
	}
	return name + ".yaml"
}
