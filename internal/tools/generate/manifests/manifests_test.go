package manifests_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/internal/tools/generate/manifests"
	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/local/localtest"
)

var rewrite = flag.Bool("rewrite", false, "write the manifests to testdata")

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

// The manifests of each type of operator are compared with golden files.
func TestManifests(t *testing.T) {
	t.Parallel()
	scoped := example(t, "site")
	scoped.Watch = []string{"team-a", "team-b"}
	for name, operator := range map[string]manifests.Operator{"memcached": example(t, "memcached"), "site": example(t, "site"), "site-in-namespaces": scoped} {
		operator.Definitions = operator.Definitions[:0]
		got, err := operator.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		file := "testdata/" + name + ".yaml"
		if *rewrite {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s is not what it was; look at the difference after go test -run TestManifests ./generate/install -rewrite", file)
		}
	}
}

// The environment variables and volumes that a project's own Deployment sets are those of the operator, and the arguments too unless it is built with
// Operon. Webhooks that nothing calls stay off.
func TestOwnDeployment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../../../examples/memcached")); err != nil {
		t.Fatal(err)
	}
	testaid.Write(t, filepath.Join(dir, "config/manager/manager.yaml"), `
apiVersion: apps/v1
kind: Deployment
metadata: {name: controller-manager}
spec:
  template:
    spec:
      containers:
      - name: manager
        args: [--size=3]
        env:
        - {name: VC_USER, valueFrom: {secretKeyRef: {name: vc-creds, key: VC_USER}}}
        - {name: ENABLE_WEBHOOKS, value: "true"}
        volumeMounts: [{name: work, mountPath: /tmp/}]
      - {name: proxy, volumeMounts: [{name: keys, mountPath: /keys}]}
      volumes: [{name: work, emptyDir: {sizeLimit: 1Gi}}, {name: keys, secret: {secretName: proxy-keys}}]
`)
	p, err := project.Read(dir, project.Options{})
	if err != nil {
		t.Fatal(err)
	}
	operator, err := manifests.Of(p, "registry.example.com/memcached:1.0")
	if err != nil {
		t.Fatal(err)
	}
	operator.Scratch = true
	objects, err := operator.Objects()
	if err != nil {
		t.Fatal(err)
	}
	made := &appsv1.Deployment{}
	at := slices.IndexFunc(objects, func(one *unstructured.Unstructured) bool { return one.GetKind() == "Deployment" })
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(objects[at].Object, made); err != nil {
		t.Fatal(err)
	}
	pod := made.Spec.Template.Spec
	container := pod.Containers[0]
	env := map[string]corev1.EnvVar{}
	for _, one := range container.Env {
		env[one.Name] = one
	}
	if from := env["VC_USER"].ValueFrom; len(env) != 3 || len(container.Env) != 3 || from == nil || from.SecretKeyRef.Name != "vc-creds" || env["ENABLE_WEBHOOKS"].Value != "false" {
		t.Errorf("the environment is %+v", container.Env)
	}
	if len(pod.Volumes) != 1 || pod.Volumes[0].Name != "work" || len(container.VolumeMounts) != 1 {
		t.Errorf("the volumes are %+v, mounted at %+v", pod.Volumes, container.VolumeMounts)
	}
	if slices.Contains(container.Args, "--size=3") {
		t.Errorf("the arguments are %q: want those of Operon", container.Args)
	}
	testaid.Write(t, filepath.Join(dir, "config/manager/manager.yaml"), "kind: Deployment\nmetadata: {name: a}\napiVersion: apps/v1\nspec: {replicas: many}\n")
	if _, err := manifests.Of(p, ""); err == nil || !strings.Contains(err.Error(), "config/manager/manager.yaml:1: Deployment a: ") {
		t.Errorf("the error is %v", err)
	}
}

// A cluster accepts all objects, and runs the pods in a namespace with the restricted pod security standard.
func TestInstall(t *testing.T) {
	t.Parallel()
	env := localtest.Shared(t)
	c, err := client.New(env.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	operator := example(t, "site")
	operator.Name, operator.Namespace = "o-"+env.Namespace, env.Namespace
	objects, err := operator.Objects()
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		apply(t, c, object)
	}
	deployment := &appsv1.Deployment{}
	localtest.Eventually(t, "two ready replicas", func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKey{Namespace: env.Namespace, Name: operator.Name}, deployment); err != nil {
			return err
		}
		if deployment.Status.ReadyReplicas != manifests.DefaultReplicas {
			return fmt.Errorf("there are %d: %v", deployment.Status.ReadyReplicas, deployment.Status.Conditions)
		}
		return nil
	})
	namespace := &corev1.Namespace{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: env.Namespace}, namespace); err != nil || namespace.Labels["pod-security.kubernetes.io/enforce"] != "restricted" {
		t.Errorf("the namespace has the labels %v, %v", namespace.Labels, err)
	}
}

// apply applies an object, which is removed when the test ends. Definitions are applied only as a dry run, because other
// tests have them, too.
func apply(t *testing.T, c client.Client, object *unstructured.Unstructured) {
	t.Helper()
	object = object.DeepCopy()
	options := []client.ApplyOption{client.FieldOwner("install-test"), client.ForceOwnership}
	if object.GetKind() == "CustomResourceDefinition" {
		options = append(options, client.DryRunAll)
	}
	if err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), options...); err != nil {
		t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
	}
	if object.GetNamespace() == "" && strings.HasPrefix(object.GetKind(), "ClusterRole") {
		t.Cleanup(func() {
			if err := c.Delete(context.WithoutCancel(t.Context()), object); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWhatCannotBeInstalled(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*manifests.Operator)
		want   string
	}{
		"a name":       {func(o *manifests.Operator) { o.Name = "Web" }, `the operator's name "Web"`},
		"a namespace":  {func(o *manifests.Operator) { o.Namespace = "a.b" }, `the namespace "a.b"`},
		"to work in":   {func(o *manifests.Operator) { o.Watch = []string{"_"} }, `the namespace to work in "_"`},
		"an image":     {func(o *manifests.Operator) { o.Image = "" }, `the image "": want a reference such as registry.example.com/memcached-operator:1.0`},
		"no replicas":  {func(o *manifests.Operator) { o.Replicas = 0 }, "0 replicas: want at least one"},
		"all of these": {func(o *manifests.Operator) { *o = manifests.Operator{} }, `the namespace ""`},
	} {
		operator := example(t, "memcached")
		test.change(&operator)
		if objects, err := operator.Objects(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %d objects, %v", name, len(objects), err)
		}
	}
}

// An operator that is limited to namespaces has no permissions in other namespaces.
func TestRightsInNamespaces(t *testing.T) {
	t.Parallel()
	operator := example(t, "site")
	operator.Watch = []string{"team-a"}
	objects, err := operator.Objects()
	if err != nil {
		t.Fatal(err)
	}
	everywhere := map[string]bool{}
	for _, object := range objects {
		if object.GetKind() != "ClusterRole" || object.GetName() != operator.Name {
			continue
		}
		rules, _, _ := unstructured.NestedSlice(object.Object, "rules")
		for _, rule := range rules {
			groups, _, _ := unstructured.NestedStringSlice(rule.(map[string]any), "apiGroups")
			for _, group := range groups {
				everywhere[group] = true
			}
		}
	}
	// The API server authorizes clients that read metrics. These permissions are cluster-scoped.
	want := []string{"admissionregistration.k8s.io", "apiextensions.k8s.io", "authentication.k8s.io", "authorization.k8s.io"}
	if got := slices.Sorted(maps.Keys(everywhere)); !slices.Equal(got, want) {
		t.Errorf("it has rights everywhere in %q, want %q", got, want)
	}
}

// With leader election, the Role names the Leases except for the permission to create them. With shards, replicas need more
// permissions on all Leases.
func TestPermissionsOnLeases(t *testing.T) {
	t.Parallel()
	leases := func(verbs []string, names ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: verbs, ResourceNames: names}
	}
	for shards, want := range map[int][]rbacv1.PolicyRule{
		0: {
			leases([]string{"create"}),
			leases([]string{"get", "update"}, "memcached-operator", "memcached-operator-kinds", "memcached-operator-migrations"),
		},
		12: {leases([]string{"get", "create", "update", "list", "watch", "delete"})},
	} {
		operator := example(t, "memcached")
		operator.Shards = shards
		objects, err := operator.Objects()
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(objects, func(object *unstructured.Unstructured) bool { return object.GetKind() == "Role" })
		role := rbacv1.Role{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(objects[at].Object, &role); err != nil {
			t.Fatal(err)
		}
		if got := role.Rules[:len(want)]; !reflect.DeepEqual(got, want) || slices.Contains(role.Rules[len(want)].Resources, "leases") {
			t.Errorf("%d shards: %+v, want %+v", shards, role.Rules, want)
		}
		at = slices.IndexFunc(objects, func(object *unstructured.Unstructured) bool { return object.GetKind() == "ClusterRole" })
		everywhere := rbacv1.ClusterRole{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(objects[at].Object, &everywhere); err != nil {
			t.Fatal(err)
		}
		labels := rbacv1.PolicyRule{APIGroups: []string{"cache.example.com"}, Resources: []string{"memcacheds"}, Verbs: []string{"patch"}}
		if got := slices.ContainsFunc(everywhere.Rules, func(rule rbacv1.PolicyRule) bool { return reflect.DeepEqual(rule, labels) }); got != (shards > 0) {
			t.Errorf("%d shards: may label objects: %t", shards, got)
		}
	}
}
