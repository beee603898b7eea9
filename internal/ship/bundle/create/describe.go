package create

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/tools/project"
)

// minKubeVersion is the oldest version of Kubernetes that operators built with Operon need: server-side apply and CEL rules of CRDs are
// stable since then.
const minKubeVersion = "1.29.0"

// describe makes the ClusterServiceVersion. What the project's own one says stays, except what follows from the objects.
func (m *maker) describe(s *sorter) error {
	csv := &unstructured.Unstructured{Object: m.base.DeepCopy().Object}
	csv.SetAPIVersion("operators.coreos.com/v1alpha1")
	csv.SetKind("ClusterServiceVersion")
	csv.SetName(m.result.Name)
	csv.SetNamespace("")
	spec, _, err := unstructured.NestedMap(csv.Object, "spec")
	if err != nil {
		return fmt.Errorf("the ClusterServiceVersion of the project: %w", err)
	}
	if spec == nil {
		spec = map[string]any{}
	}
	m.csv = csv
	m.title(spec)
	spec["version"] = m.options.Version
	delete(spec, "replaces")
	if m.result.Replaces != "" {
		spec["replaces"] = m.result.Replaces
	}
	if err := m.annotate(); err != nil {
		return err
	}
	install, err := m.install(s)
	if err != nil {
		return err
	}
	spec["install"] = install
	if spec["customresourcedefinitions"], err = m.owned(s, spec["customresourcedefinitions"]); err != nil {
		return err
	}
	if len(m.hooks) > 0 {
		spec["webhookdefinitions"] = m.hooks
	}
	if err := m.modes(s, spec); err != nil {
		return err
	}
	known, isList := spec["relatedImages"].([]any)
	if spec["relatedImages"] != nil && !isList {
		return fmt.Errorf("the ClusterServiceVersion in %s: spec.relatedImages is not a list", baseFolder)
	}
	spec["relatedImages"] = relatedImages(known, s.deployments)
	csv.Object["spec"] = spec
	return nil
}

// plainField sets a field to the JSON form of a value.
func plainField(into map[string]any, field string, value any) error {
	content, err := json.Marshal(value)
	if err != nil {
		return err
	}
	var plain any
	if err := json.Unmarshal(content, &plain); err != nil {
		return err
	}
	into[field] = plain
	return nil
}

// title sets what people read in a catalog, if the project does not say it.
func (m *maker) title(spec map[string]any) {
	name, text := readme(m.project.Dir)
	set := func(field string, value any) {
		if spec[field] == nil {
			spec[field] = value
		}
	}
	name = cmp.Or(name, words(m.operator.Name))
	set("displayName", name)
	set("description", cmp.Or(text, name))
	set("maturity", maturity(m.options.Version))
	if m.project.Module.Framework == project.Operon {
		set("minKubeVersion", minKubeVersion)
	}
}

// maturity returns how stable a version is, for a catalog.
func maturity(version string) string {
	if firstChannel(version) == stable {
		return stable
	}
	return "alpha"
}

// readme returns the title and the first paragraph of README.md, or "".
func readme(dir string) (title, text string) {
	content, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		return "", ""
	}
	for block := range strings.SplitSeq(strings.ReplaceAll(string(content), "\r\n", "\n"), "\n\n") {
		block = strings.TrimSpace(block)
		heading, isTitle := strings.CutPrefix(block, "# ")
		switch {
		case isTitle && title == "":
			title, block, _ = strings.Cut(heading, "\n")
			if block = strings.TrimSpace(block); block != "" {
				return title, block
			}
		case block == "" || strings.HasPrefix(block, "#") || strings.HasPrefix(block, "[!") || strings.HasPrefix(block, "![") || strings.HasPrefix(block, "<"):
		default:
			return title, block
		}
	}
	return title, ""
}

var upper = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// words returns a name in words with capital letters: "readyReplicas" and "ready-replicas" become "Ready Replicas".
func words(name string) string {
	all := strings.FieldsFunc(upper.ReplaceAllString(name, "$1 $2"), func(r rune) bool { return r == '-' || r == '_' || r == ' ' })
	for i, word := range all {
		all[i] = strings.ToUpper(word[:1]) + word[1:]
	}
	return strings.Join(all, " ")
}

// annotate sets the annotations of the ClusterServiceVersion.
func (m *maker) annotate() error {
	annotations := m.csv.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	samples, err := m.samples()
	if err != nil {
		return err
	}
	annotations["alm-examples"] = samples
	annotations["containerImage"] = m.options.Image
	annotations["operators.operatorframework.io/builder"] = "operon"
	annotations["capabilities"] = cmp.Or(annotations["capabilities"], "Basic Install")
	if m.options.SkipRange != "" {
		annotations["olm.skipRange"] = m.options.SkipRange
	}
	m.csv.SetAnnotations(annotations)
	return nil
}

// samples returns the samples of the project's kinds as a JSON list. Other samples, such as Secrets, cannot be in it.
func (m *maker) samples() (string, error) {
	list := []any{}
	for _, sample := range m.project.Samples {
		group := sample.GroupVersionKind().GroupKind()
		if !slices.ContainsFunc(m.project.CRDs, func(o project.Object) bool {
			g, _, _ := unstructured.NestedString(o.Object, "spec", "group")
			kind, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind")
			return g == group.Group && kind == group.Kind
		}) {
			continue
		}
		list = append(list, sample.Object)
	}
	content, err := json.MarshalIndent(list, "", "  ")
	return string(content), err
}

// install returns the install strategy: the Deployments and the permissions.
func (m *maker) install(s *sorter) (map[string]any, error) {
	var deployments []map[string]any
	for _, one := range s.deployments {
		pod := &one.Spec.Template.Spec
		s.environment(pod)
		deployments = append(deployments, map[string]any{"name": one.Name, "label": one.Labels, "spec": one.Spec})
	}
	var within, everywhere []bundle.Permissions
	for _, name := range slices.Sorted(keys(s.permissions)) {
		g := s.permissions[name]
		if rules := compact(g.within); len(rules) > 0 {
			within = append(within, bundle.Permissions{ServiceAccountName: name, Rules: rules})
		}
		if rules := compact(g.everywhere); len(rules) > 0 {
			everywhere = append(everywhere, bundle.Permissions{ServiceAccountName: name, Rules: rules})
		}
	}
	spec := map[string]any{}
	for field, value := range map[string]any{"deployments": deployments, "permissions": within, "clusterPermissions": everywhere} {
		if err := plainField(spec, field, value); err != nil {
			return nil, err
		}
		if spec[field] == nil {
			delete(spec, field)
		}
	}
	return map[string]any{"strategy": "deployment", "spec": spec}, nil
}

func keys(all map[string]*grants) func(func(string) bool) {
	return func(yield func(string) bool) {
		for key := range all {
			if !yield(key) {
				return
			}
		}
	}
}

// compact removes rules that are there twice.
func compact(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	var kept []rbacv1.PolicyRule
	for _, rule := range rules {
		if !slices.ContainsFunc(kept, func(other rbacv1.PolicyRule) bool { return rule.String() == other.String() }) {
			kept = append(kept, rule)
		}
	}
	return kept
}

// modes sets the install modes, unless the project names them.
func (m *maker) modes(s *sorter, spec map[string]any) error {
	if spec["installModes"] == nil {
		narrow := m.followsGroups() && !m.operator.Webhooks && len(m.hooks) == 0
		for _, crd := range s.definitions {
			narrow = narrow && crd.Spec.Scope == "Namespaced"
		}
		var list []any
		for _, mode := range []bundle.InstallMode{bundle.OwnNamespace, bundle.SingleNamespace, bundle.MultiNamespace, bundle.AllNamespaces} {
			list = append(list, map[string]any{"type": string(mode), "supported": narrow || mode == bundle.AllNamespaces})
		}
		spec["installModes"] = list
	}
	list, ok := spec["installModes"].([]any)
	if !ok {
		return fmt.Errorf("the ClusterServiceVersion in %s: spec.installModes is not a list", baseFolder)
	}
	for _, one := range list {
		if mode, ok := one.(map[string]any); ok && mode["supported"] == true {
			m.result.InstallModes = append(m.result.InstallModes, bundle.InstallMode(fmt.Sprint(mode["type"])))
		}
	}
	return nil
}

// relatedImagePrefix begins the names of environment variables with images that an operator uses.
const relatedImagePrefix = "RELATED_IMAGE_"

// relatedImages returns the known images, those of the pods, and those that environment variables name.
func relatedImages(known []any, deployments []*appsv1.Deployment) []any {
	images := slices.Clone(known)
	has := func(field, value string) bool {
		return slices.ContainsFunc(images, func(one any) bool {
			fields, ok := one.(map[string]any)
			return ok && fields[field] == value
		})
	}
	add := func(name, image string) {
		if has("image", image) {
			return
		}
		free := name
		for i := 2; has("name", free); i++ {
			free = fmt.Sprintf("%s-%d", name, i)
		}
		images = append(images, map[string]any{"name": free, "image": image})
	}
	for _, one := range deployments {
		pod := one.Spec.Template.Spec
		for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
			add(container.Name, container.Image)
			for _, variable := range container.Env {
				if name, ok := strings.CutPrefix(variable.Name, relatedImagePrefix); ok && variable.Value != "" {
					add(strings.ToLower(strings.ReplaceAll(name, "_", "-")), variable.Value)
				}
			}
		}
	}
	return images
}
