package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/ship/bundle/check"
	"github.com/operon-framework/operon/internal/ship/catalog"
	"github.com/operon-framework/operon/internal/testing/bundles"
	"github.com/operon-framework/operon/local/localtest"

	v1 "github.com/operon-framework/operon/internal/olm/api/v1"
	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/olm/internal/registrytest"
)

var directory = flag.String("bundles", "", "install the bundles below `DIR`, in any layout, instead of those of the tests")

// Each package is installed in a namespace of its own: it becomes Succeeded, or the Subscription says what no bundle provides. Nothing depends
// on the name of a bundle:
//
//	go test -run TestInstallEach . -bundles DIR
func TestInstallEach(t *testing.T) {
	t.Parallel()
	dir := *directory
	if dir == "" {
		dir = t.TempDir()
		for _, one := range bundles.All() {
			one.Write(t, filepath.Join(dir, one.Name))
		}
	}
	w, r := newCluster(t), registrytest.New(t)
	heads, files := heads(t, dir)
	source := &v1alpha1.CatalogSource{
		ObjectMeta: metav1.ObjectMeta{Namespace: globalNamespace, Name: "all"},
		Spec:       v1alpha1.CatalogSourceSpec{SourceType: "grpc", Image: r.Push("all:1", files)},
	}
	w.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: globalNamespace}}, source)
	for i := range heads {
		w.install(&heads[i], fmt.Sprintf("operator-%d", i))
	}
	installed := 0
	for i := range heads {
		if w.awaitEnd(&heads[i], fmt.Sprintf("operator-%d", i)) {
			installed++
		}
	}
	t.Logf("%d of %d packages are installed", installed, len(heads))
	if *directory == "" && (len(heads) < 60 || installed < 50) {
		t.Errorf("%d of %d packages are installed", installed, len(heads))
	}
}

// head is the newest bundle of a package.
type head struct {
	name  string
	modes []string
	// needs are what no bundle of the catalog provides.
	needs []string
	// serves means that the operator has an API server, which simulated pods have not.
	serves bool
}

// heads returns the packages below a directory whose bundles pass the check, and their catalog.
func heads(t *testing.T, dir string) (all []head, files map[string]string) {
	t.Helper()
	report, err := check.Run(t.Context(), []string{dir}, check.Options{})
	if err != nil {
		t.Fatal(err)
	}
	failed := map[string]bool{}
	for _, one := range report.Bundles {
		failed[one.Package] = failed[one.Package] || one.Outcome != check.Passed
	}
	for _, one := range report.Packages {
		failed[one.Name] = failed[one.Name] || one.Outcome != check.Passed
	}
	files = map[string]string{}
	for _, one := range report.Packages {
		if failed[one.Name] {
			continue
		}
		var dirs []string
		var newest check.Bundle
		for _, bundle := range report.Bundles {
			if bundle.Package == one.Name {
				dirs, newest = append(dirs, bundle.Dir), bundle
			}
		}
		made, err := catalog.Render(dirs, "")
		if err != nil {
			t.Errorf("%s: %v", one.Name, err)
			continue
		}
		var content bytes.Buffer
		if err := made.Write(&content, catalog.YAML); err != nil {
			t.Fatal(err)
		}
		files["configs/"+one.Name+"/catalog.yaml"] = content.String()
		all = append(all, head{one.Name, newest.InstallModes, newest.Needs, strings.Contains(content.String(), "apiservicedefinitions") || hasServer(t, newest.Dir)})
	}
	return all, files
}

// hasServer reports whether a file of a bundle has API services.
func hasServer(t *testing.T, dir string) bool {
	t.Helper()
	found := false
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		found = found || bytes.Contains(content, []byte("apiservicedefinitions"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// install subscribes to a package in a new namespace, for one of the install modes of the operator.
func (w *world) install(of *head, namespace string) {
	w.Helper()
	group := v1.OperatorGroupSpec{}
	switch {
	case slices.Contains(of.modes, "OwnNamespace"):
		group.TargetNamespaces = []string{namespace}
	case slices.Contains(of.modes, "SingleNamespace"):
		group.TargetNamespaces = []string{"default"}
	case !slices.Contains(of.modes, "AllNamespaces"):
		group.TargetNamespaces = []string{"default", "kube-public"}
	}
	w.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&v1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "group"}, Spec: group},
		&v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "operator"}, Spec: v1alpha1.SubscriptionSpec{
			CatalogSource: "all", CatalogSourceNamespace: globalNamespace, Package: of.name,
		}})
}

// awaitEnd waits until a package is installed or cannot be, and reports whether it is installed.
func (w *world) awaitEnd(of *head, namespace string) (installed bool) {
	w.Helper()
	localtest.Eventually(w.T, of.name+": the end of the installation", func(ctx context.Context) error {
		sub := &v1alpha1.Subscription{}
		if err := w.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "operator"}, sub); err != nil {
			return err
		}
		if failed := meta.FindStatusCondition(sub.Status.Problems, "ResolutionFailed"); failed != nil && len(of.needs) > 0 {
			return nil
		}
		csv := &v1alpha1.ClusterServiceVersion{}
		if err := w.Get(ctx, client.ObjectKey{Namespace: namespace, Name: sub.Status.CurrentCSV}, csv); err != nil {
			return fmt.Errorf("%w: %+v", err, sub.Status.Problems)
		}
		waits := of.serves && strings.HasPrefix(csv.Status.Message, "installing: waiting for APIService ")
		installed = csv.Status.Phase == v1alpha1.PhaseSucceeded || waits
		if !installed {
			return fmt.Errorf("phase %s, reason %s, message %q, requirements %+v", csv.Status.Phase, csv.Status.Reason, csv.Status.Message, csv.Status.RequirementStatus)
		}
		return nil
	})
	if installed && len(of.needs) > 0 {
		w.Errorf("%s is installed without %v", of.name, of.needs)
	}
	return installed
}
