package create_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/ship/bundle/create"
	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/internal/tools/generate/manifests"
	"github.com/operon-framework/operon/internal/tools/project"
)

const (
	root  = "../../../../"
	image = "registry.example.com/team/operator@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	sdk   = root + "internal/tools/project/testdata/"
)

// made creates a bundle and reads it.
func made(t *testing.T, o create.Options) (*create.Result, *bundle.Bundle) {
	t.Helper()
	if o.Out == "" {
		o.Out = t.TempDir()
	}
	if o.Version == "" {
		o.Version = "1.2.0"
	}
	o.Image = image
	result, err := create.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	b, err := bundle.Read(result.Dir)
	if err != nil || len(b.Problems) > 0 || b.CSV == nil {
		t.Fatalf("the bundle cannot be read: %v, %v", err, b.Problems)
	}
	return result, b
}

// findings returns the rules that a bundle breaks, apart from those about what people read.
func findings(t *testing.T, dir string) []string {
	t.Helper()
	report, err := bundle.Lint([]string{dir}, "")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, f := range report.Findings {
		if f.Rule != "csv-listing" {
			all = append(all, f.Rule+": "+f.Message)
		}
	}
	return all
}

// The bundles of all sorts of projects have no findings, and grant the permissions that a deployment has, neither more nor fewer.
func TestProjects(t *testing.T) {
	t.Parallel()
	all := []bundle.InstallMode{bundle.OwnNamespace, bundle.SingleNamespace, bundle.MultiNamespace, bundle.AllNamespaces}
	for dir, test := range map[string]struct {
		modes    []bundle.InstallMode
		findings string
	}{
		root + "examples/memcached":            {modes: all},
		root + "examples/podrequest":           {modes: all},
		root + "examples/postgres":             {modes: all},
		root + "examples/vmgroup":              {modes: all},
		root + "examples/mysqlcluster-helm":    {modes: all},
		root + "examples/mysqlcluster-ansible": {modes: all},
		root + "examples/site":                 {modes: []bundle.InstallMode{bundle.AllNamespaces}}, // its webhooks are for the whole cluster
		root + "examples/store":                {modes: all, findings: "csv-samples: alm-examples has no sample of Action csv-samples: alm-examples has no sample of ActionSchedule"},
		sdk + "helm-sdk":                       {modes: all},
		sdk + "ansible-sdk":                    {modes: all},
	} {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			result, b := made(t, create.Options{Dir: dir})
			if got := strings.Join(findings(t, result.Dir), " "); got != test.findings {
				t.Errorf("findings %q, want %q", got, test.findings)
			}
			if !slices.Equal(result.InstallModes, test.modes) {
				t.Errorf("install modes %v, want %v", result.InstallModes, test.modes)
			}
			if want := result.Package + ".v1.2.0"; b.CSV.Name != want || !slices.Equal(b.Channels, []string{"stable"}) || b.DefaultChannel != "stable" {
				t.Errorf("the bundle is %s in %v, default %s", b.CSV.Name, b.Channels, b.DefaultChannel)
			}
			var granted []rbacv1.PolicyRule
			for _, one := range slices.Concat(b.CSV.Spec.Install.Spec.Permissions, b.CSV.Spec.Install.Spec.ClusterPermissions) {
				granted = append(granted, one.Rules...)
			}
			if got, want := rights(granted), deployed(t, dir); !maps.Equal(got, want) {
				t.Errorf("the bundle grants %v, a deployment %v", got, want)
			}
		})
	}
}

// deployed returns the rights of the operator of a project when it is deployed.
func deployed(t *testing.T, dir string) map[string]bool {
	t.Helper()
	p, err := project.Read(dir, project.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o, err := manifests.Of(p, image)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := o.Objects()
	if err != nil {
		t.Fatal(err)
	}
	var rules []rbacv1.PolicyRule
	for _, object := range objects {
		if kind := object.GetKind(); kind != "Role" && kind != "ClusterRole" || strings.HasSuffix(object.GetName(), "metrics-reader") {
			continue
		}
		role := &rbacv1.ClusterRole{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, role); err != nil {
			t.Fatal(err)
		}
		rules = append(rules, role.Rules...)
	}
	return rights(rules)
}

// rights splits rules into single rights.
func rights(rules []rbacv1.PolicyRule) map[string]bool {
	all := map[string]bool{}
	for _, rule := range rules {
		for _, verb := range rule.Verbs {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, name := range append(rule.ResourceNames, "") {
						if name != "" || len(rule.ResourceNames) == 0 {
							all[verb+" "+resource+"."+group+" "+name] = true
						}
					}
				}
			}
		}
	}
	return all
}

// In the namespaces of an OperatorGroup, the operator has no permissions elsewhere, and watches these namespaces.
func TestOperatorFollowsItsGroup(t *testing.T) {
	t.Parallel()
	_, b := made(t, create.Options{Dir: root + "examples/memcached"})
	install := b.CSV.Spec.Install.Spec
	for _, one := range install.ClusterPermissions {
		for right := range rights(one.Rules) {
			if !strings.Contains(right, "reviews.auth") {
				t.Errorf("the right %q is for the whole cluster", right)
			}
		}
	}
	container := install.Deployments[0].Spec.Template.Spec.Containers[0]
	if !slices.Contains(container.Args, "--namespace=$(WATCH_NAMESPACE)") {
		t.Errorf("the operator has the arguments %q", container.Args)
	}
	for _, variable := range container.Env {
		if variable.Name == "WATCH_NAMESPACE" && variable.ValueFrom.FieldRef.FieldPath == "metadata.annotations['olm.targetNamespaces']" {
			return
		}
	}
	t.Errorf("the environment %v lacks the namespaces", container.Env)
}

// The same project gives the same bundle. An upgrade refers to the version before, and removes manifests that are gone.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testaid.Copy(t, dir, root+"examples/memcached")
	first, before := made(t, create.Options{Dir: dir, Channels: []string{"fast", "stable"}, DefaultChannel: "stable", Package: "cache"})
	again, _ := made(t, create.Options{Dir: dir, Channels: []string{"fast", "stable"}, DefaultChannel: "stable", Package: "cache"})
	for _, file := range first.Files {
		if testaid.Read(t, filepath.Join(first.Dir, file)) != testaid.Read(t, filepath.Join(again.Dir, file)) {
			t.Errorf("%s differs", file)
		}
	}
	stray := filepath.Join(again.Dir, "manifests", "stray.yaml")
	testaid.Write(t, stray, "kind: ConfigMap")
	second, b := made(t, create.Options{Dir: dir, Version: "1.3.0", Previous: first.Dir, Out: again.Dir, SkipRange: ">=1.0.0 <1.3.0"})
	if _, err := os.Stat(stray); err == nil {
		t.Error("a manifest of an earlier bundle is still there")
	}
	if b.CSV.Name != "cache.v1.3.0" || b.CSV.Spec.Replaces != before.CSV.Name || b.CSV.Annotations["olm.skipRange"] != ">=1.0.0 <1.3.0" ||
		!slices.Equal(b.Channels, before.Channels) || b.DefaultChannel != "stable" {
		t.Errorf("the bundle is %s, replaces %s, in %v", b.CSV.Name, b.CSV.Spec.Replaces, b.Channels)
	}
	if report, err := bundle.Lint([]string{second.Dir}, first.Dir); err != nil || report.Failed() {
		t.Errorf("the upgrade has findings: %v %+v", err, report)
	}
}

// What the ClusterServiceVersion of the project says stays, except what follows from the project.
func TestBase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testaid.Copy(t, dir, root+"examples/memcached")
	testaid.Write(t, filepath.Join(dir, "config/manifests/bases/memcached.clusterserviceversion.yaml"), `
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: memcached.v0.0.0
  namespace: placeholder
  annotations: {capabilities: Deep Insights, categories: Database, alm-examples: "[]"}
spec:
  displayName: Cache
  description: Caches.
  version: 0.0.0
  replaces: nothing.v0.0.0
  provider: {name: Example}
  maintainers: [{name: Ada, email: ada@example.com}]
  links: [{name: Docs, url: https://example.com}]
  icon: [{base64data: PHN2Zz48L3N2Zz4=, mediatype: image/svg+xml}]
  keywords: [cache]
  install: {strategy: deployment, spec: {deployments: []}}
  customresourcedefinitions:
    owned:
    - {name: memcacheds.cache.example.com, version: v1alpha1, kind: Memcached, displayName: A cache}
    required:
    - {name: ledgers.db.example.com, version: v1, kind: Ledger}
  installModes:
  - {type: AllNamespaces, supported: true}
`)
	result, b := made(t, create.Options{Dir: dir})
	report, err := bundle.Lint([]string{result.Dir}, "")
	if err != nil || len(report.Findings) > 0 {
		t.Errorf("findings %v, %v", report.Findings, err)
	}
	spec := b.CSV.Spec
	if spec.DisplayName != "Cache" || spec.Version != "1.2.0" || spec.Replaces != "" || b.CSV.Namespace != "" || len(spec.Install.Spec.Deployments) != 1 ||
		b.CSV.Annotations["capabilities"] != "Deep Insights" || !strings.Contains(b.CSV.Annotations["alm-examples"], "example-memcached") {
		t.Errorf("the spec is %+v", spec)
	}
	if len(spec.CRDs.Owned) != 1 || len(spec.CRDs.Required) != 1 {
		t.Fatalf("the CRDs are %+v", spec.CRDs)
	}
	owned, _, _ := unstructured.NestedSlice(b.Object.Object, "spec", "customresourcedefinitions", "owned")
	entry, _ := owned[0].(map[string]any)
	if entry["displayName"] != "A cache" || entry["specDescriptors"] == nil {
		t.Errorf("the owned kind is %v", entry)
	}
	if keywords, _, _ := unstructured.NestedStringSlice(b.Object.Object, "spec", "keywords"); !slices.Equal(keywords, []string{"cache"}) {
		t.Errorf("the keywords are %v", keywords)
	}
	if !slices.Equal(result.InstallModes, []bundle.InstallMode{bundle.AllNamespaces}) {
		t.Errorf("the install modes are %v", result.InstallModes)
	}
}

// kubebuilders returns a kubebuilder project with webhooks, as its make manifests leaves it.
func kubebuilders(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	testaid.Copy(t, dir, sdk+"v4")
	testaid.Write(t, filepath.Join(dir, "config/crd/bases/web.layout.test_sites.yaml"), `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sites.web.layout.test}
spec:
  group: web.layout.test
  scope: Namespaced
  names: {kind: Site, listKind: SiteList, plural: sites, singular: site}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, description: Site is a website. It has pages., properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}
  - {name: v1beta1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v1alpha1, served: false, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`)
	testaid.Write(t, filepath.Join(dir, "config/crd/kustomization.yaml"), "resources: [bases/web.layout.test_sites.yaml]\npatches:\n- {path: patches/webhook_in_sites.yaml}\n")
	testaid.Write(t, filepath.Join(dir, "config/crd/patches/webhook_in_sites.yaml"), `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sites.web.layout.test}
spec: {conversion: {strategy: Webhook, webhook: {clientConfig: {service: {namespace: system, name: webhook-service, path: /convert}}, conversionReviewVersions: [v1]}}}
`)
	testaid.Write(t, filepath.Join(dir, "config/rbac/role.yaml"), `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: manager-role}
rules:
- {apiGroups: [web.layout.test], resources: [sites], verbs: [get, list, watch]}
`)
	testaid.Write(t, filepath.Join(dir, "config/webhook/manifests.yaml"), `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: mutating-webhook-configuration}
webhooks:
- name: msite.example.com
  admissionReviewVersions: [v1]
  clientConfig: {service: {name: webhook-service, namespace: system, path: /mutate-site}}
  failurePolicy: Fail
  sideEffects: None
  rules: [{apiGroups: [web.layout.test], apiVersions: [v1], operations: [CREATE], resources: [sites]}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: validating-webhook-configuration}
webhooks:
- name: vsite.example.com
  admissionReviewVersions: [v1]
  clientConfig: {service: {name: webhook-service, namespace: system, path: /validate-site}}
  failurePolicy: Fail
  sideEffects: None
  rules: [{apiGroups: [web.layout.test], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [sites]}]
`)
	return dir
}

func TestWebhooks(t *testing.T) {
	t.Parallel()
	result, b := made(t, create.Options{Dir: kubebuilders(t)})
	for _, finding := range findings(t, result.Dir) {
		if !strings.HasPrefix(finding, "csv-min-kube-version: ") { // which is not known
			t.Error(finding)
		}
	}
	hooks, _, _ := unstructured.NestedSlice(b.Object.Object, "spec", "webhookdefinitions")
	if len(hooks) != 3 {
		t.Fatalf("the webhooks are %v", hooks)
	}
	mutating, _ := hooks[0].(map[string]any)
	for field, want := range map[string]any{
		"type": "MutatingAdmissionWebhook", "generateName": "msite.example.com", "webhookPath": "/mutate-site", "failurePolicy": "Fail",
		"deploymentName": b.CSV.Spec.Install.Spec.Deployments[0].Name, "containerPort": int64(443), "targetPort": int64(9443), "clientConfig": nil, "name": nil,
	} {
		if mutating[field] != want {
			t.Errorf("%s is %v (%T), want %v", field, mutating[field], mutating[field], want)
		}
	}
	if converting := b.CSV.Spec.Webhooks[2]; converting.Type != bundle.Converting || !slices.Equal(converting.ConversionCRDs, []string{"sites.web.layout.test"}) {
		t.Errorf("the conversion webhook is %+v", converting)
	}
	if !slices.Equal(result.InstallModes, []bundle.InstallMode{bundle.AllNamespaces}) {
		t.Errorf("the install modes are %v", result.InstallModes)
	}
	if len(b.CSV.Spec.CRDs.Owned) != 2 || b.CSV.Spec.CRDs.Owned[0].Description != "Site is a website." {
		t.Errorf("the owned kinds are %+v, want those of the served versions", b.CSV.Spec.CRDs.Owned)
	}
	for _, variable := range b.CSV.Spec.Install.Spec.Deployments[0].Spec.Template.Spec.Containers[0].Env {
		if variable.Name == "ENABLE_WEBHOOKS" {
			t.Errorf("the operator is started without webhooks: %+v", variable)
		}
	}
	if slices.ContainsFunc(result.Files, func(file string) bool { return strings.HasSuffix(file, "webhook_service.yaml") }) {
		t.Errorf("the files are %v, want none for the Service of webhooks", result.Files)
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	memcached, empty := root+"examples/memcached", t.TempDir()
	older, _ := made(t, create.Options{Dir: memcached})
	unpatched, bound, twice := kubebuilders(t), kubebuilders(t), kubebuilders(t)
	for _, file := range []string{"config/webhook/manifests.yaml", "config/crd/kustomization.yaml"} {
		if err := os.Remove(filepath.Join(unpatched, file)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(bound, "config/rbac/role.yaml")); err != nil {
		t.Fatal(err)
	}
	unread := t.TempDir()
	testaid.Copy(t, unread, older.Dir)
	testaid.Write(t, filepath.Join(unread, "metadata/annotations.yaml"), "annotations: [\n")
	const base = "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {name: a}\n"
	testaid.Write(t, filepath.Join(twice, "config/manifests/bases/a.yaml"), base+"---\n"+base)
	for want, o := range map[string]create.Options{
		`--version "1.2": want a semantic version, such as 1.2.0`:                            {Dir: memcached, Version: "1.2", Image: image},
		"--version is required":                                                              {Dir: memcached, Image: image},
		"want --image IMAGE":                                                                 {Dir: memcached, Version: "1.2.0"},
		`the image "a b": want a reference`:                                                  {Dir: memcached, Version: "1.2.0", Image: "a b"},
		`--skip-range "new": want a range of versions`:                                       {Dir: memcached, Version: "1.2.0", Image: image, SkipRange: "new"},
		`the name of the package "My Cache"`:                                                 {Dir: memcached, Version: "1.2.0", Image: image, Package: "My Cache"},
		"--version 1.2.0 is not newer than 1.2.0":                                            {Dir: memcached, Version: "1.2.0", Image: image, Previous: older.Dir},
		empty + " is not a bundle":                                                           {Dir: memcached, Version: "1.3.0", Image: image, Previous: empty},
		"--previous: " + unread + "/metadata/annotations.yaml:":                              {Dir: memcached, Version: "1.3.0", Image: image, Previous: unread},
		"is not an operator project":                                                         {Dir: empty, Version: "1.2.0", Image: image},
		"PROJECT:10: Site has webhooks, and config/webhook has no configuration of webhooks": {Dir: unpatched, Version: "1.2.0", Image: image},
		"bound to the ClusterRole manager-role, which is not part of the project":            {Dir: bound, Version: "1.2.0", Image: image},
		"config/manifests/bases/a.yaml: the project has another ClusterServiceVersion":       {Dir: twice, Version: "1.2.0", Image: image},
	} {
		o.Out = filepath.Join(t.TempDir(), "out")
		_, err := create.Run(t.Context(), o)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %s", err, want)
		}
		if _, err := os.Stat(o.Out); err == nil {
			t.Errorf("%s: something was written", want)
		}
	}
}
