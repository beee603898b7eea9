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

	v1 "github.com/google/go-containerregistry/pkg/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/deploy"
	"github.com/operon-framework/operon/image"
	"github.com/operon-framework/operon/internal/testaid"
	"github.com/operon-framework/operon/local/localtest"
	"github.com/operon-framework/operon/up"
)

// gadgets is a fixture whose operator runs in the cluster of containers.
func (c *containers) gadgets(t *testing.T) *fixture {
	t.Helper()
	f := fixtureIn(t, c.env)
	f.where = up.Where{Name: c.cluster}
	return f
}

// built has the fixture's image be built, too.
func built(o *deploy.Options) { o.Image, o.Build.By = "", "test" }

// testFinalizers has an operator in pods clear its finalizers before it goes. Data that is kept is taken up again.
func testFinalizers(t *testing.T, c *containers) {
	f := c.gadgets(t)
	f.mustDeploy(t, built)
	live := f.gadget("live")
	live.Object["spec"] = map[string]any{"size": int64(1), "finalize": true}
	create(t, f.gadgets(), live)
	f.awaitMinded(t, "1")
	_, said, err := f.undeploy(t, func(o *deploy.UndeployOptions) { o.KeepData = true })
	if missing := errors.Join(err, lacks(said, "1 custom resource stay", "removed Deployment "+f.namespace()+"/"+f.name)); missing != nil {
		t.Fatal(missing)
	}
	if _, err := f.gadgets().Patch(t.Context(), "live", types.MergePatchType, []byte(`{"spec":{"size":2}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	f.mustDeploy(t, built)
	f.awaitMinded(t, "2")
	removal, said, err := f.undeploy(t, nil)
	if err != nil || !slices.Contains(removal.Removed, "Gadget "+f.env.Namespace+"/live") {
		t.Errorf("%v\n%s", err, said)
	}
}

// awaitMinded waits until the operator has done what a gadget of a size wants, and minds it.
func (f *fixture) awaitMinded(t *testing.T, size string) {
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
		if err == nil && made.Data["size"] != size {
			err = fmt.Errorf("made is %v", made.Data)
		}
		return err
	})
}

// testCrash shows the end of the log of an operator that ends after its start.
func testCrash(t *testing.T, c *containers) {
	f := c.gadgets(t)
	f.writeMain(t, `os.Stderr.WriteString("there is no database\n"); os.Exit(3)`)
	_, said, err := f.deploy(t, built)
	if missing := refuses(err, "the operator ends after its start, with exit code 3", "its log ends with", "there is no database", "operon undeploy"); missing != nil {
		t.Errorf("%v\n%s", missing, said)
	}
}

// writeMain has the operator be another program, which answers no probes.
func (f *fixture) writeMain(t *testing.T, does string) {
	t.Helper()
	testaid.Write(t, filepath.Join(f.dir, "main.go"), "package main\n\nimport \"os\"\n\nvar _ = os.Args\n\nfunc main() { "+does+" }\n")
}

// testImages says why a pod does not run its image.
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
	for name, test := range map[string]struct {
		run  v1.Config
		want string
	}{
		"junk":    {v1.Config{User: "65532", Entrypoint: []string{"/manager"}}, "with exit code 1 (Error); the image is for another architecture than the node's; its log ends with"},
		"nothing": {v1.Config{User: "65532", Entrypoint: []string{"/nothing"}}, "the image does not have the command that it is to run"},
		"bare":    {v1.Config{User: "65532"}, "the image names no command to run"},
		"root":    {v1.Config{Entrypoint: []string{"/manager"}}, "the image has to name a numeric user that is not 0"},
	} {
		c.load(t, scratch, name+":1", image.Single{By: "a test", Run: test.run, Files: junk})
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := c.gadgets(t)
			f.writeMain(t, "") // which knows no flags, so that the image is to say what is run
			_, said, err := f.deploy(t, func(o *deploy.Options) { o.Image = name + ":1" })
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
		_, said, err := f.deploy(t, func(o *deploy.Options) { built(o); o.Build.Platforms = []string{other} })
		if missing := refuses(err, "is for "+other+", and this node is linux/"+runtime.GOARCH); missing != nil {
			t.Errorf("%v\n%s", missing, said)
		}
		f.noNamespace(t)
	})
}

// testDeafWebhook names a webhook that nobody serves, though the pods run.
func testDeafWebhook(t *testing.T, c *containers) {
	f := c.gadgets(t)
	f.registersWebhook(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	out := &watcher{word: "waiting for webhooks", seen: func() { cancel(errors.New("enough")) }}
	options := deploy.Options{Target: f.target(&out.output)}
	options.Progress = out
	built(&options)
	_, err := deploy.Run(ctx, options)
	if missing := refuses(err, "enough: the pods are ready, and API servers do not reach the operator's webhooks", "failed calling webhook", "operon undeploy"); missing != nil {
		t.Errorf("%v\n%s", missing, out)
	}
}

// watcher is output that tells when a word is in it.
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
