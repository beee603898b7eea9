package deploy_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/operon-framework/operon/internal/ship/build"
	"github.com/operon-framework/operon/internal/ship/deploy"
	"github.com/operon-framework/operon/internal/ship/image"
	"github.com/operon-framework/operon/internal/ship/image/debian"
	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/internal/tools/up"
	"github.com/operon-framework/operon/local"
	"github.com/operon-framework/operon/local/localtest"
)

// Operators run in real pods, at the same time in one cluster. After they are removed, the cluster is in its initial state.
func TestInContainers(t *testing.T) {
	testaid.Slow(t, "it deploys ten operators in containers; the other tests do with simulated nodes, and TestPodRequestWalkthrough of cmd/operon with containers")
	t.Parallel()
	c := newContainers(t)
	before := furnished(t, c.env)
	t.Run("operators", func(t *testing.T) {
		for _, one := range []struct {
			name string
			test func(*testing.T, *containers)
		}{
			{"killed, restarted and built anew", testLife},
			{"that share the work", testShares},
			{"asked by API servers, in some namespaces", testSite},
			{"of kubebuilder", testKubebuilder},
			{"without Go, in the layout of Operator SDK", testChart},
			{"of Ansible roles, in the layout of Operator SDK", testRoles},
			{"that are pushed, mind finalizers, and change", testGadgets},
			{"that crash", testCrash},
			{"whose images do not run", testImages},
			{"of somebody who may not", testStranger},
		} {
			t.Run(one.name, func(t *testing.T) {
				t.Parallel()
				one.test(t, c)
			})
		}
	})
	if !t.Failed() {
		asBefore(t, c.env, before)
	}
}

// serversImage is the container image of the examples' servers.
const serversImage = "memcached:1.6-alpine"

// containers is a cluster with real containers.
type containers struct {
	env     *localtest.Env
	client  kubernetes.Interface
	cluster string
	// registry is the registry to which this machine pushes images.
	registry string
}

// newContainers skips the test if containers, or an image to run in them, are not available.
func newContainers(t *testing.T) *containers {
	t.Helper()
	if known, err := exec.CommandContext(t.Context(), "apt-cache", "show", "memcached", "ansible").Output(); err != nil || len(known) == 0 {
		testaid.Lacks(t, "apt on this machine, if there is one, knows of no packages memcached and ansible")
	}
	options := local.Options{Name: "containers-" + strings.ToLower(rand.Text()[:6]), Node: local.Container, TTL: time.Hour} // operators are built in the meantime, which takes long with a cold cache
	up, err := local.Up(t.Context(), options)
	if err != nil && strings.Contains(err.Error(), "this machine cannot run a container node") {
		testaid.Lacks(t, "%v", err)
	}
	c := &containers{env: localtest.New(t, options), cluster: options.Name} // reports any other error
	c.registry = up.Registry
	c.client = kubernetes.NewForConfigOrDie(c.env.Config)
	c.env.InstallCRDs(t, "testdata/servicemonitors.yaml")
	c.loadMemcached(t)
	localtest.Eventually(t, "the node's lease, which it takes after its start", func(ctx context.Context) error {
		_, err := c.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(ctx, "container-0", metav1.GetOptions{})
		return err
	})
	return c
}

// loadMemcached builds the image of the servers from Debian's package.
func (c *containers) loadMemcached(t *testing.T) {
	t.Helper()
	scratch, err := image.NewScratch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer scratch.Close()
	root, err := debian.Unpack(t.Context(), scratch.Folder(), debian.Options{Packages: []string{"memcached"}, Without: []string{"perl"}})
	if err != nil {
		t.Fatal(err)
	}
	c.load(t, scratch, serversImage, image.Single{By: "a test", Platform: root.Platform(), Run: v1.Config{User: "65532", Cmd: []string{"memcached"}}, Files: root.Files})
}

// load builds an image and loads it into the node.
func (c *containers) load(t *testing.T, scratch *image.Scratch, as string, single image.Single) {
	t.Helper()
	made, _, err := scratch.MakeSingle(t.Context(), single)
	if err != nil {
		t.Fatal(err)
	}
	name, err := image.ParseName(as)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := scratch.Deliver(t.Context(), name, made, image.Delivery{Cluster: c.cluster}); err != nil {
		t.Fatal(err)
	}
}

// namespace creates a namespace, which is deleted when the test ends.
func (c *containers) namespace(t *testing.T, name string) string {
	t.Helper()
	name += "-" + strings.ToLower(rand.Text()[:6])
	if _, err := c.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.removeNamespace(t, name) })
	return name
}

func (c *containers) removeNamespace(t *testing.T, name string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), timeout)
	defer cancel()
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
	err := errors.Join(
		c.client.CoreV1().Pods(name).DeleteCollection(ctx, now, metav1.ListOptions{}),
		c.client.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{}),
	)
	if err != nil {
		t.Error(err)
		return
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := c.client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return
		}
		select {
		case <-ctx.Done():
			t.Errorf("namespace %s is not gone: %v", name, err)
			return
		case <-tick.C:
		}
	}
}

// objects returns a client for the objects of a kind in a namespace.
func (c *containers) objects(kind schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	return dynamic.NewForConfigOrDie(c.env.Config).Resource(kind).Namespace(namespace)
}

// installed is a project to deploy in the cluster.
type installed struct {
	*containers
	dir, name string
}

func (c *containers) project(t *testing.T, dir, name string) *installed {
	i := &installed{c, dir, name}
	t.Cleanup(func() { i.tellWhy(t) })
	return i
}

// copyOf copies an example, and makes it use Operon from this repository.
func copyOf(t *testing.T, example string) string {
	t.Helper()
	dir := t.TempDir()
	root, err := filepath.Abs("../../..")
	if err := errors.Join(err, os.CopyFS(dir, os.DirFS(example))); err != nil {
		t.Fatal(err)
	}
	replace := exec.CommandContext(t.Context(), "go", "mod", "edit", "-replace=github.com/operon-framework/operon="+root)
	replace.Dir = dir
	if said, err := replace.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return dir
}

func (i *installed) namespace() string { return i.name + "-system" }

func (i *installed) target(out *output) deploy.Target {
	return deploy.Target{Dir: i.dir, Where: up.Where{Name: i.cluster}, Timeout: timeout, Progress: out}
}

// deploy builds and deploys the operator. It returns the result and the progress output.
func (i *installed) deploy(t *testing.T, change func(*deploy.Options)) (*deploy.Result, string) {
	t.Helper()
	out := &output{}
	options := deploy.Options{Target: i.target(out), Build: build.Options{By: "test"}}
	if change != nil {
		change(&options)
	}
	result, err := deploy.Run(t.Context(), options)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return result, out.String()
}

func (i *installed) undeploy(t *testing.T) {
	t.Helper()
	out := &output{}
	if _, err := deploy.Undeploy(t.Context(), deploy.UndeployOptions{Target: i.target(out)}); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// operators returns the operator's pods that are not being deleted.
func (i *installed) operators(ctx context.Context) ([]corev1.Pod, error) {
	list, err := i.client.CoreV1().Pods(i.namespace()).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil }), nil
}

// kill deletes a pod of the operator immediately.
func (i *installed) kill(t *testing.T, pod string) {
	t.Helper()
	if err := i.client.CoreV1().Pods(i.namespace()).Delete(t.Context(), pod, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
		t.Fatal(err)
	}
}

// may checks whether the operator may list a resource, in all namespaces or in one. API servers receive permissions with a delay after they
// were granted: check granted permissions before missing ones.
func (i *installed) may(t *testing.T, group, resource, namespace string, want bool) {
	t.Helper()
	localtest.Eventually(t, fmt.Sprintf("the operator to have the right %t to list %s in %q", want, resource, namespace), func(ctx context.Context) error {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               "system:serviceaccount:" + i.namespace() + ":" + i.name,
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "list", Group: group, Resource: resource, Namespace: namespace},
		}}
		answer, err := i.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err == nil && answer.Status.Allowed != want {
			err = fmt.Errorf("it is %+v", answer.Status)
		}
		return err
	})
}

// tellWhy shows the operator's log if the test failed.
func (i *installed) tellWhy(t *testing.T) {
	if !t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 30*time.Second)
	defer cancel()
	said := &output{}
	err := deploy.Logs(ctx, deploy.LogsOptions{Target: i.target(said), Out: said, Tail: new(int64(50))})
	t.Logf("the operator's log (%v):\n%s", err, said)
}
