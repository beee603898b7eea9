package create_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/ship/bundle/create"
	"github.com/operon-framework/operon/internal/testing/testaid"
)

// conversions returns the CRDs with conversion webhooks.
func conversions(b *bundle.Bundle) []string {
	var all []string
	for _, hook := range b.CSV.Spec.Webhooks {
		all = append(all, hook.ConversionCRDs...)
	}
	return all
}

// Only the patches that the kustomization lists are applied, and only to CRDs with several versions.
func TestConversionPatches(t *testing.T) {
	t.Parallel()
	const (
		kustomization = "config/crd/kustomization.yaml"
		crd           = "config/crd/bases/web.layout.test_sites.yaml"
		inline        = "patches:\n- patch: |-\n    apiVersion: apiextensions.k8s.io/v1\n    kind: CustomResourceDefinition\n    metadata: {name: sites.web.layout.test}\n    spec: {conversion: {strategy: Webhook}}\n"
	)
	for name, test := range map[string]struct {
		list   string
		single bool
		want   int
	}{
		"in a comment": {list: "# patches: [{path: patches/webhook_in_sites.yaml}]\nresources: []\n"},
		"older field":  {list: "patchesStrategicMerge: [patches/webhook_in_sites.yaml]\n", want: 1},
		"inline":       {list: inline, want: 1},
		"one version":  {list: inline, single: true},
		"target":       {list: "patches:\n- target: {kind: CustomResourceDefinition, name: sites.*}\n  patch: '{spec: {conversion: {strategy: Webhook}}}'\n", want: 1},
		"other target": {list: strings.Replace(inline, "- patch", "- target: {name: pages.*}\n  patch", 1)},
		"JSON patch":   {list: "patches:\n- target: {kind: CustomResourceDefinition}\n  patch: '[{op: add, path: /metadata/labels, value: {a: b}}]'\n"},
	} {
		dir := kubebuilders(t)
		testaid.Write(t, filepath.Join(dir, kustomization), test.list)
		if test.single {
			whole := testaid.Read(t, filepath.Join(dir, crd))
			first, _, _ := strings.Cut(whole, "  - {name: v1beta1")
			testaid.Write(t, filepath.Join(dir, crd), first)
		}
		if _, b := made(t, create.Options{Dir: dir}); len(conversions(b)) != test.want {
			t.Errorf("%s: conversion webhooks for %v, want %d", name, conversions(b), test.want)
		}
	}
	dir := kubebuilders(t)
	if err := os.Rename(filepath.Join(dir, kustomization), filepath.Join(dir, "config/crd/Kustomization")); err != nil {
		t.Fatal(err)
	}
	if _, b := made(t, create.Options{Dir: dir}); len(conversions(b)) != 1 {
		t.Errorf("conversion webhooks for %v", conversions(b))
	}
	for list, want := range map[string]string{
		"patches: [{path: ../../../x.yaml}]\n":                                                              "is not in the project",
		"patches: [{patch: '[{op: replace, path: /spec/conversion/strategy, value: Webhook}]'}]\n":          "config/crd/kustomization.yaml: the JSON patch of /spec/conversion/strategy is not read",
		"patches: [{target: {name: 'a('}, patch: '{spec: {conversion: {strategy: Webhook}}}'}]\n":           "config/crd/kustomization.yaml: error parsing regexp",
		"patches: [{patch: '{kind: CustomResourceDefinition, spec: {conversion: {strategy: Webhook}}}'}]\n": "not a Kubernetes object",
	} {
		testaid.Write(t, filepath.Join(dir, kustomization), list)
		if _, err := create.Run(t.Context(), create.Options{Dir: dir, Version: "1.0.0", Image: image, Out: t.TempDir()}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v", list, err)
		}
	}
}

// A webhook that a CSV cannot express is an error.
func TestInexpressibleWebhooks(t *testing.T) {
	t.Parallel()
	for field, text := range map[string]string{
		"namespaceSelector": "  namespaceSelector: {matchLabels: {a: b}}\n",
		"matchConditions":   "  matchConditions: [{name: a, expression: 'true'}]\n",
		"clientConfig.url":  "",
		"":                  "  namespaceSelector: {}\n",
	} {
		dir := kubebuilders(t)
		file := filepath.Join(dir, "config/webhook/manifests.yaml")
		content := strings.Replace(testaid.Read(t, file), "- name: vsite.example.com\n", "- name: vsite.example.com\n"+text, 1)
		if field == "clientConfig.url" {
			content = strings.Replace(content, "{service: {name: webhook-service, namespace: system, path: /validate-site}}", "{url: 'https://example.com/a'}", 1)
		}
		testaid.Write(t, file, content)
		_, err := create.Run(t.Context(), create.Options{Dir: dir, Version: "1.0.0", Image: image, Out: t.TempDir()})
		if field == "" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), "the webhook vsite.example.com has "+field) || !strings.Contains(err.Error(), "config/webhook/manifests.yaml") {
			t.Errorf("%s: the error is %v", field, err)
		}
	}
}

// What the project sets in its own Deployment and CSV stays.
func TestManagerStays(t *testing.T) {
	t.Parallel()
	dir := kubebuilders(t)
	testaid.Write(t, filepath.Join(dir, "config/manager/manager.yaml"), `
apiVersion: apps/v1
kind: Deployment
metadata: {name: controller-manager, namespace: system}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      containers:
      - {name: proxy, image: proxy, args: [--wrong]}
      - name: manager
        image: controller:latest
        args: [--leader-elect, --health-probe-bind-address=:9999, --zone=a, --size, "3"]
        env: [{name: RELATED_IMAGE_WEB_SERVER, value: "r.example.com/web:1"}, {name: POD_NAMESPACE, value: mine}]
        envFrom: [{configMapRef: {name: settings}}]
        volumeMounts: [{name: ca, mountPath: /etc/ca}]
      volumes: [{name: ca, configMap: {name: ca}}]
`)
	testaid.Write(t, filepath.Join(dir, "config/manifests/bases/a.yaml"), `
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: a.v0.0.0}
spec:
  relatedImages: [{name: web-server, image: "r.example.com/old:1"}, {name: db, image: "r.example.com/db:1"}]
`)
	_, b := made(t, create.Options{Dir: dir})
	pod := b.CSV.Spec.Install.Spec.Deployments[0].Spec.Template.Spec
	container := pod.Containers[0]
	if len(pod.Volumes) != 1 || pod.Volumes[0].ConfigMap == nil || len(container.VolumeMounts) != 1 || container.VolumeMounts[0].MountPath != "/etc/ca" {
		t.Errorf("the volumes are %+v, mounted at %+v", pod.Volumes, container.VolumeMounts)
	}
	env := map[string]string{}
	for _, one := range container.Env {
		env[one.Name] = one.Value
	}
	if env["RELATED_IMAGE_WEB_SERVER"] != "r.example.com/web:1" || env["POD_NAMESPACE"] != "mine" || len(container.EnvFrom) != 1 {
		t.Errorf("the environment is %v, %v", container.Env, container.EnvFrom)
	}
	tail := container.Args[max(0, len(container.Args)-3):]
	if !slices.Equal(tail, []string{"--zone=a", "--size", "3"}) || strings.Count(strings.Join(container.Args, " "), "leader-elect") != 1 ||
		slices.Contains(container.Args, "--health-probe-bind-address=:9999") {
		t.Errorf("the arguments are %q", container.Args)
	}
	var images []string
	for _, one := range b.CSV.Spec.RelatedImages {
		images = append(images, one.Name+" "+one.Image)
	}
	want := []string{"web-server r.example.com/old:1", "db r.example.com/db:1", "operator " + image, "web-server-2 r.example.com/web:1"}
	if !slices.Equal(images, want) {
		t.Errorf("the images are %q, want %q", images, want)
	}
}
