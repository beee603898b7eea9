package deploy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/ship/build"
	"github.com/operon-framework/operon/internal/ship/deploy"
	"github.com/operon-framework/operon/internal/ship/image"
	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/internal/tools/up"
	"github.com/operon-framework/operon/local/localtest"
)

// gadgets returns a fixture whose operator runs in the cluster with containers.
func (c *containers) gadgets(t *testing.T) *fixture {
	t.Helper()
	f := fixtureIn(t, c.env)
	f.where = up.Where{Name: c.cluster}
	return f
}

// built makes the deployment build the fixture's image.
func built(o *deploy.Options) { o.Image, o.Build.By = "", "test" }

// testGadgets: pods run an image that was pushed to the cluster's registry, by its name and by its digest. The operator
// clears its finalizers before its pods are removed. The next deployment adopts data that was kept, and a changed build
// replaces the pods.
func testGadgets(t *testing.T, c *containers) {
	f := c.gadgets(t)
	to := c.registry + "/team/" + f.name + ":1"
	digest := f.push(t, to, "linux/"+runtime.GOARCH)
	f.mustDeploy(t, func(o *deploy.Options) { o.Image = to })
	f.runPushed(t, to, digest)
	live := f.gadget("live")
	live.Object["spec"] = map[string]any{"size": int64(1), "finalize": true}
	create(t, f.gadgets(), live)
	f.awaitMinded(t, "1", "1")
	_, said, err := f.undeploy(t, func(o *deploy.UndeployOptions) { o.KeepData = true })
	if missing := errors.Join(err, lacks(said, "kept 1 custom resource", "removed Deployment "+f.namespace()+"/"+f.name)); missing != nil {
		t.Fatal(missing)
	}
	if _, err := f.gadgets().Patch(t.Context(), "live", types.MergePatchType, []byte(`{"spec":{"size":2}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	pushing := func(o *deploy.Options) { built(o); o.Push = to }
	taken := f.mustDeploy(t, pushing)
	if want := strings.TrimSuffix(to, ":1") + "@" + digest; taken.Image != want {
		t.Errorf("pods run %s, want %s", taken.Image, want)
	}
	f.runPushed(t, taken.Image, digest)
	f.awaitMinded(t, "2", "2")
	f.edit(t, "main.go", `object{"size": fmt.Sprint(`, `object{"size": "0" + fmt.Sprint(`)
	if changed := f.mustDeploy(t, pushing); changed.Image == taken.Image || !slices.Equal(changed.Changed, []string{"Deployment " + f.namespace() + "/" + f.name}) {
		t.Fatalf("built anew: %+v", changed)
	}
	f.awaitMinded(t, "2", "02")
	f.deaf(t, pushing)
	removal, said, err := f.undeploy(t, nil)
	if err != nil || !slices.Contains(removal.Removed, "Gadget "+f.env.Namespace+"/live") {
		t.Errorf("%v\n%s", err, said)
	}
}

// push builds the operator's image, pushes it like `operon build --push`, and returns its digest.
func (f *fixture) push(t *testing.T, to, platform string) string {
	t.Helper()
	made, err := build.Run(t.Context(), f.dir, build.Options{By: "test", Platforms: []string{platform}})
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close()
	if _, err := made.Store.Deliver(t.Context(), image.Name{}, made.Image, image.Delivery{Push: to}); err != nil {
		t.Fatal(err)
	}
	return made.Image.Descriptor.Digest.String()
}

// pushIndex pushes an index of an image for only one platform, and returns its name.
func (f *fixture) pushIndex(t *testing.T, repository, platform string) string {
	t.Helper()
	to, err := name.NewRepository(repository)
	if err != nil {
		t.Fatal(err)
	}
	one, err := remote.Image(to.Digest(f.push(t, repository+":single", platform)))
	if err != nil {
		t.Fatal(err)
	}
	its, err := v1.ParsePlatform(platform)
	if err != nil {
		t.Fatal(err)
	}
	index := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: one, Descriptor: v1.Descriptor{Platform: its}})
	if err := remote.WriteIndex(to.Tag("index"), index); err != nil {
		t.Fatal(err)
	}
	return to.Tag("index").Name()
}

// runPushed checks which image the operator's pods run.
func (f *fixture) runPushed(t *testing.T, image, digest string) {
	t.Helper()
	pods, err := f.client.CoreV1().Pods(f.namespace()).List(t.Context(), metav1.ListOptions{FieldSelector: "status.phase=Running"})
	if err != nil || len(pods.Items) < 2 {
		t.Fatalf("%d pods, %v", len(pods.Items), err)
	}
	for _, pod := range pods.Items {
		if runs := pod.Status.ContainerStatuses[0]; pod.Spec.Containers[0].Image != image || !strings.HasSuffix(runs.ImageID, "@"+digest) {
			t.Errorf("pod %s is to run %s and runs %s, want %s, which is %s", pod.Name, pod.Spec.Containers[0].Image, runs.ImageID, image, digest)
		}
	}
}

// awaitMinded waits until the operator has created the object that a gadget of a size needs, and has set its finalizer.
func (f *fixture) awaitMinded(t *testing.T, size, want string) {
	t.Helper()
	localtest.Eventually(t, "a gadget of size "+size, func(ctx context.Context) error {
		gadget, err := f.gadgets().Get(ctx, "live", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if got, _, _ := unstructured.NestedInt64(gadget.Object, "status", "size"); fmt.Sprint(got) != size || len(gadget.GetFinalizers()) != 1 {
			return fmt.Errorf("it is %v", gadget.Object)
		}
		made, err := f.client.CoreV1().ConfigMaps(f.env.Namespace).Get(ctx, "live", metav1.GetOptions{})
		if err == nil && made.Data["size"] != want {
			err = fmt.Errorf("made is %v", made.Data)
		}
		return err
	})
}

// deaf registers a webhook that no server answers. The error must name it even if the pods run.
func (f *fixture) deaf(t *testing.T, how func(*deploy.Options)) {
	t.Helper()
	f.registersWebhook(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	out := &watcher{word: "waiting for webhooks", seen: func() { cancel(errors.New("enough")) }}
	options := deploy.Options{Target: f.target(&out.output)}
	options.Progress = out
	how(&options)
	_, err := deploy.Run(ctx, options)
	if missing := refuses(err, "enough: the pods are ready, but API servers cannot reach the operator's webhooks", "failed calling webhook", "operon undeploy"); missing != nil {
		t.Errorf("%v\n%s", missing, out)
	}
}

// testCrash: the error contains the last log lines of an operator that exits after its start, and reports one that uses too
// much memory.
func testCrash(t *testing.T, c *containers) {
	f := c.gadgets(t)
	f.writeMain(t, `os.Stderr.WriteString("there is no database\n"); os.Exit(3)`)
	_, said, err := f.deploy(t, built)
	if missing := refuses(err, "the operator exits right after startup, with exit code 3", "its log ends with", "there is no database", "operon undeploy"); missing != nil {
		t.Errorf("%v\n%s", missing, said)
	}
	f.writeMain(t, `for b := []byte{1}; ; { b = append(b, b...) }`)
	_, said, err = f.deploy(t, func(o *deploy.Options) { built(o); o.Memory = "32Mi" })
	if missing := refuses(err, "with exit code 137 (OOMKilled)", "out of memory: its limit is 32Mi; raise it with --memory", "operon undeploy"); missing != nil {
		t.Errorf("%v\n%s", missing, said)
	}
}

// writeMain replaces the operator by another program, which answers no probes.
func (f *fixture) writeMain(t *testing.T, does string) {
	t.Helper()
	testaid.Write(t, filepath.Join(f.dir, "main.go"), "package main\n\nimport \"os\"\n\nvar _ = os.Args\n\nfunc main() { "+does+" }\n")
}

// testImages: the error describes why a pod does not run its image.
func testImages(t *testing.T, c *containers) {
	scratch, err := image.NewScratch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := scratch.Close(); err != nil {
			t.Error(err)
		}
	})
	junk := []image.File{image.Content("manager", 0o755, bytes.Repeat([]byte("no program"), 20))}
	for called, test := range map[string]struct {
		run  v1.Config
		want string
	}{
		"junk":    {v1.Config{User: "65532", Entrypoint: []string{"/manager"}}, "with exit code 1 (Error); the image is for another architecture than that of the node; its log ends with"},
		"nothing": {v1.Config{User: "65532", Entrypoint: []string{"/nothing"}}, "the image does not contain its command"},
		"bare":    {v1.Config{User: "65532"}, "the image specifies no command"},
		"root":    {v1.Config{Entrypoint: []string{"/manager"}}, "the image must specify a numeric user other than 0"},
	} {
		c.load(t, scratch, called+":1", image.Single{By: "a test", Run: test.run, Files: junk})
		t.Run(called, func(t *testing.T) {
			t.Parallel()
			f := c.gadgets(t)
			f.writeMain(t, "") // it knows no flags, so that the image must name the command
			_, said, err := f.deploy(t, func(o *deploy.Options) { o.Image = called + ":1" })
			if missing := refuses(err, test.want, "operon undeploy"); missing != nil {
				t.Errorf("%v\n%s", missing, said)
			}
		})
	}
	t.Run("elsewhere", func(t *testing.T) {
		t.Parallel()
		f := c.gadgets(t)
		f.writeMain(t, "")
		other := map[bool]string{true: "linux/arm64", false: "linux/amd64"}[runtime.GOARCH == "amd64"]
		there := func(o *deploy.Options) { built(o); o.Build.Platforms = []string{other} }
		_, said, err := f.deploy(t, there)
		if missing := refuses(err, "is for "+other+", and this node is linux/"+runtime.GOARCH); missing != nil {
			t.Errorf("%v\n%s", missing, said)
		}
		f.noNamespace(t)
		_, said, err = f.deploy(t, func(o *deploy.Options) { o.Image = f.pushIndex(t, c.registry+"/team/"+f.name, other) })
		if missing := refuses(err, "cannot be pulled", "the image is for another architecture than that of the node: build it with --platform"); missing != nil {
			t.Errorf("%v\n%s", missing, said)
		}
	})
	t.Run("missing", func(t *testing.T) {
		t.Parallel()
		f := c.gadgets(t)
		_, said, err := f.deploy(t, func(o *deploy.Options) { o.Image = c.registry + "/team/missing:1" })
		if missing := refuses(err, "the image "+c.registry+"/team/missing:1 cannot be pulled", "not found; check that it is in the registry"); missing != nil {
			t.Errorf("%v\n%s", missing, said)
		}
	})
}

// testStranger: if a user without permissions deploys, nothing is built, pushed or created.
func testStranger(t *testing.T, c *containers) {
	f := c.gadgets(t)
	to, err := name.NewRepository(c.registry + "/team/" + f.name)
	if err != nil {
		t.Fatal(err)
	}
	nobody := f.nobody(t)
	_, said, err := f.deploy(t, func(o *deploy.Options) { built(o); o.Push, o.Where = to.Name(), up.Where{Kubeconfig: nobody} })
	if missing := refuses(err, "nothing was changed", "create namespaces\n", "patch deployments.apps in namespace "+f.namespace()); missing != nil || said != "" {
		t.Errorf("%v\n%s", missing, said)
	}
	if tags, err := remote.List(to); err == nil {
		t.Errorf("something was pushed: %q", tags)
	}
	f.noNamespace(t)
}

// watcher is output that reports when it contains a word.
type watcher struct {
	output
	word string
	seen func()
}

func (w *watcher) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.word) {
		w.seen()
	}
	return w.output.Write(p)
}
