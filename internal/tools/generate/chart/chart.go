// Package chart writes a Helm chart that installs an operator and keeps the edits of its author.
//
// The chart has what [install] builds, with a value for each thing that users choose: the
// image, replicas, resources, the namespaces to work in, whether definitions are installed and kept, whether
// there are webhooks ([Files]). Generated again, it is merged with what is there ([Merge]): files that nobody touched
// follow the operator, files that somebody edited stay, values are merged key by key, and
// where both sides changed the same thing that is told, with nothing lost.
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

// Names that stand for what is known only when a chart is rendered. They are names that a namespace and
// an image can have.
const (
	releaseNamespace = "operon-release-namespace"
	watchedNamespace = "operon-watched-namespace"
)

// Files are a new chart for the operator, by path in the chart's directory. Its namespace is that of
// the release, and what it watches is a value: what the operator has of that does not count.
//
// It fails where the operator cannot be installed.
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
		".helmignore": []byte("# Not part of the chart: see " + record + ".\n" + record + "\n" + conflicts + "/\n"),
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

// split parts an image's repository from its tag, or its digest.
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

// values are what users of the chart choose.
func values(o manifests.Operator, image string) ([]byte, error) {
	resources, err := yaml.Marshal(o.Resources)
	if err != nil {
		return nil, err
	}
	repository, tag := split(image)
	var text bytes.Buffer
	fmt.Fprintf(&text, `# What the operator's container runs. A tag that begins with @ is a digest.
image:
  repository: %s
  tag: %q
  pullPolicy: IfNotPresent
imagePullSecrets: []

# Pods, of which one leads.
replicas: %d

resources:
%s
# The namespaces that the operator works in, none for all. It has rights there only.
watchNamespaces: []

# Further arguments and environment of the container.
args: []
env: []

# CustomResourceDefinitions: kept when the chart is uninstalled, as they take all objects with them.
crds:
  install: true
  keep: true
`, repository, tag, o.Replicas, indent(string(resources), "  "))
	if len(o.Policies) > 0 {
		text.WriteString(`
# Admission policies. They hold in all of the cluster: install them with one release of it.
policies:
  install: true
`)
	}
	if o.Webhooks {
		text.WriteString(`
# Whether API servers ask the operator before they store an object.
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

// pair is one object as it is in an operator for all of the cluster, and in one limited to namespaces. One
// of them may be missing.
type pair struct{ everywhere, limited *unstructured.Unstructured }

func (p pair) any() *unstructured.Unstructured { return cmp.Or(p.everywhere, p.limited) }

// pairs puts together what has the same kind, namespace and name.
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
		if all[key].any().GetKind() != "Namespace" { // a release has one
			found = append(found, all[key])
		}
	}
	return found
}

// file is the name of an object's template: its kind, and what its name has beyond the operator's.
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
