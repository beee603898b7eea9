package chart_test

import (
	"bytes"
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	chartutil "helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	loader "helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/tools/generate/chart"
	"github.com/operon-framework/operon/internal/tools/generate/manifests"
	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/local/localtest"
)

type files = map[string][]byte

// example returns the operator of one of the examples.
func example(t *testing.T, name string) manifests.Operator {
	t.Helper()
	p, err := project.Read("../../../../examples/"+name, project.Options{})
	if err != nil {
		t.Fatal(err)
	}
	operator, err := manifests.Of(p, "registry.example.com/"+name+":1.0")
	if err != nil {
		t.Fatal(err)
	}
	return operator
}

func generated(t *testing.T, operator manifests.Operator) files {
	t.Helper()
	made, err := chart.Files(operator)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// rendered returns the objects that Helm renders from a chart.
func rendered(t *testing.T, made files, namespace, values string) []project.Object {
	t.Helper()
	var buffers []*archive.BufferedFile
	for name, content := range made {
		buffers = append(buffers, &archive.BufferedFile{Name: name, Data: content})
	}
	loaded, err := loader.LoadFiles(buffers)
	if err != nil {
		t.Fatal(err)
	}
	chosen := map[string]any{}
	if err := yaml.Unmarshal([]byte(values), &chosen); err != nil {
		t.Fatal(err)
	}
	all, err := chartutil.ToRenderValues(loaded, chosen, common.ReleaseOptions{Name: "web", Namespace: namespace, IsInstall: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	texts, err := engine.Render(loaded, all)
	if err != nil {
		t.Fatalf("with %s: %v", values, err)
	}
	var objects []project.Object
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		read, err := project.Parse(name, []byte(texts[name]))
		if err != nil {
			t.Fatalf("with %s: %v\n%s", values, err, texts[name])
		}
		objects = append(objects, read...)
	}
	return objects
}

// find returns the object with a kind and a name, or nil if there is none.
func find(objects []project.Object, kind, name string) *project.Object {
	for i := range objects {
		if objects[i].GetKind() == kind && objects[i].GetName() == name {
			return &objects[i]
		}
	}
	return nil
}

// Users of a chart choose whether to install policies. An operator without policies has no such value. Braces in CEL are not
// template actions.
func TestPoliciesInAChart(t *testing.T) {
	t.Parallel()
	operator := example(t, "memcached")
	if values := string(generated(t, operator)["values.yaml"]); strings.Contains(values, "policies") {
		t.Errorf("without policies: %s", values)
	}
	policy := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"validations": []any{map[string]any{"expression": "object.spec == {{'size': 3}['size']: 1}"}}}}}
	policy.SetAPIVersion("admissionregistration.k8s.io/v1")
	policy.SetKind("ValidatingAdmissionPolicy")
	policy.SetName("size.memcacheds.cache.example.com")
	operator.Policies = append(operator.Policies, policy)
	made := generated(t, operator)
	got := find(rendered(t, made, "somewhere", ""), policy.GetKind(), policy.GetName())
	if got == nil || !reflect.DeepEqual(got.Object, policy.Object) {
		t.Errorf("rendered is %v", got)
	}
	if got := find(rendered(t, made, "somewhere", "policies: {install: false}"), policy.GetKind(), policy.GetName()); got != nil {
		t.Errorf("it is there although nobody wants it: %v", got)
	}
}

// With its default values, a chart contains the same objects as the manifests.
func TestAChartIsTheManifests(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"memcached", "podrequest", "site", "store", "vmgroup"} {
		operator := example(t, name)
		operator.Namespace = "somewhere"
		want, err := operator.Objects()
		if err != nil {
			t.Fatal(err)
		}
		got := rendered(t, generated(t, operator), "somewhere", "")
		if len(got) != len(want)-1 { // the namespace belongs to the release
			t.Errorf("%s: %d objects, want %d", name, len(got), len(want)-1)
		}
		for _, one := range want {
			if one.GetKind() == "Namespace" {
				continue
			}
			there := find(got, one.GetKind(), one.GetName())
			if there == nil {
				t.Errorf("%s: there is no %s %s", name, one.GetKind(), one.GetName())
				continue
			}
			annotations := there.GetAnnotations()
			delete(annotations, "helm.sh/resource-policy")
			there.SetAnnotations(annotations)
			if one.GetKind() == "Deployment" {
				container := one.Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)
				container["imagePullPolicy"] = "IfNotPresent"
			}
			left, right := asYAML(t, one.Object), asYAML(t, there.Object)
			if left != right {
				t.Errorf("%s: %s %s is\n%s\nin the chart, and in the manifests\n%s", name, one.GetKind(), one.GetName(), right, left)
			}
		}
	}
}

func asYAML(t *testing.T, object any) string {
	t.Helper()
	text, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Each value has the documented effect.
func TestValues(t *testing.T) {
	t.Parallel()
	made := generated(t, example(t, "site"))
	for _, test := range []struct{ values, kind, name, holds string }{
		{"image: {tag: '2.0'}", "Deployment", "site-operator", "image: registry.example.com/site:2.0"},
		{"image: {tag: '@sha256:abc'}", "Deployment", "site-operator", "image: registry.example.com/site@sha256:abc"},
		{"replicas: 3", "Deployment", "site-operator", "replicas: 3"},
		{"resources: {limits: {memory: 1Gi}}", "Deployment", "site-operator", "memory: 1Gi"},
		{"watchNamespaces: [a, b]", "Deployment", "site-operator", "--namespace=a,b"},
		{"watchNamespaces: [a, b]", "RoleBinding", "site-operator-namespaced", "namespace: a"},
		{"watchNamespaces: [a, b]", "ClusterRole", "site-operator-namespaced", "deployments"},
		{"args: ['--log-level=debug']", "Deployment", "site-operator", "--log-level=debug"},
		{"env: [{name: A, value: b}]", "Deployment", "site-operator", "name: A"},
		{"webhooks: {enabled: false}", "Deployment", "site-operator", "name: ENABLE_WEBHOOKS"},
		{"webhooks: {enabled: false}", "Service", "site-operator-webhook", ""},
		{"crds: {install: false}", "CustomResourceDefinition", "sites.web.example.com", ""},
		{"", "CustomResourceDefinition", "sites.web.example.com", "helm.sh/resource-policy: keep"},
		{"networkPolicy: {enabled: false}", "NetworkPolicy", "site-operator", ""},
		{"podDisruptionBudget: {enabled: false}", "PodDisruptionBudget", "site-operator", ""},
		{"serviceAccount: {annotations: {cloud: role}}", "ServiceAccount", "site-operator", "cloud: role"},
		{"podAnnotations: {a: b}", "Deployment", "site-operator", "a: b"},
		{"nodeSelector: {disk: fast}", "Deployment", "site-operator", "disk: fast"},
		{"tolerations: [{key: gpu}]", "Deployment", "site-operator", "key: gpu"},
		{"affinity: {podAffinity: {}}", "Deployment", "site-operator", "podAffinity"},
		{"priorityClassName: high", "Deployment", "site-operator", "priorityClassName: high"},
		{"imagePullSecrets: [{name: pull}]", "Deployment", "site-operator", "name: pull"},
	} {
		there := find(rendered(t, made, "web", test.values), test.kind, test.name)
		switch {
		case there == nil && test.holds != "":
			t.Errorf("%s: there is no %s %s", test.values, test.kind, test.name)
		case there != nil && test.holds == "":
			t.Errorf("%s: there is a %s %s", test.values, test.kind, test.name)
		case there != nil && !strings.Contains(asYAML(t, there.Object), test.holds):
			t.Errorf("%s: %s has not %q:\n%s", test.values, test.kind, test.holds, asYAML(t, there.Object))
		}
	}
	definition := find(rendered(t, made, "web", "crds: {keep: false}"), "CustomResourceDefinition", "sites.web.example.com")
	if strings.Contains(asYAML(t, definition.Object), "resource-policy") {
		t.Error("a definition is kept although it is not to be")
	}
	if role := find(rendered(t, made, "web", "watchNamespaces: [a]"), "ClusterRole", "site-operator"); strings.Contains(asYAML(t, role.Object), "deployments") {
		t.Error("limited to a namespace, the operator has rights on Deployments everywhere")
	}
}

// Braces in a definition are rendered unchanged: they are not template actions.
func TestBraces(t *testing.T) {
	t.Parallel()
	operator := example(t, "memcached")
	operator.Definitions[0].SetAnnotations(map[string]string{"example": "{{ .Values.nonsense }}"})
	definition := find(rendered(t, generated(t, operator), "web", ""), "CustomResourceDefinition", "memcacheds.cache.example.com")
	if got := definition.GetAnnotations()["example"]; got != "{{ .Values.nonsense }}" {
		t.Errorf("the annotation is %q", got)
	}
}

// An API server accepts the objects that Helm renders from a chart.
func TestAClusterTakesIt(t *testing.T) {
	t.Parallel()
	env := localtest.Shared(t)
	c, err := client.New(env.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	made := generated(t, example(t, "site"))
	for _, values := range []string{"", "webhooks: {enabled: false}\nwatchNamespaces: [" + env.Namespace + "]\nargs: [--log-level=debug]\nenv: [{name: A, value: b}]"} {
		for _, object := range rendered(t, made, env.Namespace, values) {
			if err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object.Unstructured), client.DryRunAll, client.FieldOwner("chart-test"), client.ForceOwnership); err != nil {
				t.Errorf("with %q: %s: %v", values, object.Place(), err)
			}
		}
	}
	deployment := &appsv1.Deployment{}
	there := find(rendered(t, made, env.Namespace, ""), "Deployment", "site-operator")
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(there.Object, deployment, true); err != nil {
		t.Errorf("the Deployment has fields that there are not: %v", err)
	}
	if err := c.Get(context.Background(), client.ObjectKeyFromObject(deployment), deployment); err == nil {
		t.Error("something was stored")
	}
}

// merged updates a chart as if it were on a disk.
func merged(t *testing.T, there, now files) (files, []string) {
	t.Helper()
	m, err := chart.Merge(there, now)
	if err != nil {
		t.Fatal(err)
	}
	after := maps.Clone(there)
	if after == nil {
		after = files{}
	}
	maps.Copy(after, m.Write)
	for _, name := range m.Remove {
		delete(after, name)
	}
	return after, m.Notes
}

func edit(there files, name, old, new string) files {
	edited := maps.Clone(there)
	edited[name] = bytes.Replace(there[name], []byte(old), []byte(new), 1)
	return edited
}

func TestEditsSurvive(t *testing.T) {
	t.Parallel()
	before, after := example(t, "site"), example(t, "site")
	after.Image, after.Replicas = "registry.example.com/site:2.0", 3
	after.Args = []string{"--shards=4"}
	first, _ := merged(t, nil, generated(t, before))
	windows := maps.Clone(first)
	for name := range windows {
		windows[name] = bytes.ReplaceAll(first[name], []byte("\n"), []byte("\r\n"))
	}
	for name, test := range map[string]struct {
		there files
		file  string
		holds []string // after the operator has changed
		notes []string
	}{
		"nobody edited": {first, "values.yaml", []string{`tag: "2.0"`, "replicas: 3"}, nil},
		"on Windows":    {windows, "values.yaml", []string{`tag: "2.0"`, "replicas: 3"}, nil},
		"a value":       {edit(first, "values.yaml", "replicas: 2", "replicas: 7 # enough"), "values.yaml", []string{`tag: "2.0"`, "replicas: 7 # enough"}, []string{"values.yaml: replicas was edited to 7 and is kept; the generated value is 3"}},
		"a new value":   {edit(first, "values.yaml", "crds:", "ours: true\ncrds:"), "values.yaml", []string{"ours: true", `tag: "2.0"`, "# The number of pods. One of them is the leader."}, nil},
		"a value gone":  {edit(first, "values.yaml", "priorityClassName: \"\"\n", ""), "values.yaml", []string{`tag: "2.0"`}, nil},
		"the version":   {edit(first, "Chart.yaml", "version: 0.1.0", "version: 4.5.6"), "Chart.yaml", []string{"version: 4.5.6", `appVersion: "2.0"`}, nil},
		"a template":    {edit(first, "templates/service-metrics.yaml", "port: 8080", "port: 9090"), "templates/service-metrics.yaml", []string{"port: 9090"}, nil},
		"a template that changes too": {edit(first, "templates/deployment.yaml", "periodSeconds: 20", "periodSeconds: 60"), "templates/deployment.yaml", []string{"periodSeconds: 60"},
			[]string{"templates/deployment.yaml was edited, and its generated content has changed: merge what you need from .conflicts/templates/deployment.yaml, and remove that file"}},
		"a file of theirs": {files{"templates/extra.yaml": []byte("# ours")}, "templates/extra.yaml", []string{"# ours"}, nil},
	} {
		got, notes := merged(t, test.there, generated(t, after))
		for _, holds := range test.holds {
			if !bytes.Contains(got[test.file], []byte(holds)) {
				t.Errorf("%s: %s has not %q:\n%s", name, test.file, holds, got[test.file])
			}
		}
		if !slices.Equal(notes, test.notes) {
			t.Errorf("%s: %q is told, want %q", name, notes, test.notes)
		}
		again, _ := merged(t, got, generated(t, after))
		if !maps.EqualFunc(got, again, bytes.Equal) {
			t.Errorf("%s: a second run changes it", name)
		}
		rendered(t, withoutConflicts(got), "web", "")
	}
}

// withoutConflicts returns the files that Helm reads: the others are in .helmignore.
func withoutConflicts(all files) files {
	kept := maps.Clone(all)
	maps.DeleteFunc(kept, func(name string, _ []byte) bool { return strings.HasPrefix(name, ".conflicts/") })
	return kept
}

// A conflict is reported until it is resolved, and not afterwards.
func TestConflictsAreSettled(t *testing.T) {
	t.Parallel()
	before, after := example(t, "site"), example(t, "site")
	after.Args = []string{"--shards=4"}
	first, _ := merged(t, nil, generated(t, before))
	open, _ := merged(t, edit(first, "templates/deployment.yaml", "periodSeconds: 20", "periodSeconds: 60"), generated(t, after))
	if _, notes := merged(t, open, generated(t, after)); len(notes) != 1 {
		t.Errorf("of an open conflict is told %q", notes)
	}
	delete(open, ".conflicts/templates/deployment.yaml")
	settled, notes := merged(t, open, generated(t, after))
	if len(notes) != 0 || settled[".conflicts/templates/deployment.yaml"] != nil {
		t.Errorf("of a settled conflict is told %q", notes)
	}
}

func TestWhatIsNotGeneratedAnyMore(t *testing.T) {
	t.Parallel()
	before, after := example(t, "site"), example(t, "site")
	after.Webhooks = false
	first, _ := merged(t, nil, generated(t, before))
	got, notes := merged(t, first, generated(t, after))
	if got["templates/service-webhook.yaml"] != nil || bytes.Contains(got["values.yaml"], []byte("webhooks:")) || len(notes) != 0 {
		t.Errorf("the Service is there, or its value, and is told: %q", notes)
	}
	got, notes = merged(t, edit(first, "templates/service-webhook.yaml", "443", "8443"), generated(t, after))
	if got["templates/service-webhook.yaml"] == nil || len(notes) != 1 {
		t.Errorf("the edited Service is gone, or nothing is told of it: %q", notes)
	}
	removed := maps.Clone(first)
	delete(removed, "templates/networkpolicy.yaml")
	got, notes = merged(t, removed, generated(t, before))
	if got["templates/networkpolicy.yaml"] != nil || len(notes) != 0 {
		t.Errorf("what was removed is back, %q", notes)
	}
}

func TestChartsByHand(t *testing.T) {
	t.Parallel()
	now := generated(t, example(t, "site"))
	got, notes := merged(t, files{"templates/deployment.yaml": []byte("# ours"), "values.yaml": []byte("replicas: 9\n")}, now)
	if string(got["templates/deployment.yaml"]) != "# ours" || !bytes.Contains(got["values.yaml"], []byte("replicas: 9")) || len(notes) != 2 {
		t.Errorf("what was there is lost, or nothing is told of it: %q", notes)
	}
	for name, there := range map[string]files{
		"a record that is none": {".generated.yaml": []byte("<<<<<<< ours")},
		"values that are none":  {"values.yaml": []byte("- a list")},
		"no YAML":               {"values.yaml": []byte("a: [")},
	} {
		if m, err := chart.Merge(there, now); err == nil || m != nil {
			t.Errorf("%s is taken", name)
		}
	}
}
