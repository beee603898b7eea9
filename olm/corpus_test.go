package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/ship/bundle/check"
	"github.com/operon-framework/operon/internal/ship/catalog"
	"github.com/operon-framework/operon/internal/testing/bundles"
	"github.com/operon-framework/operon/local/localtest"

	v1 "github.com/operon-framework/operon/internal/olm/api/v1"
	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/testing/registrytest"
)

var (
	directory = flag.String("bundles", "", "install the bundles below `DIR`, in any layout, instead of those of the tests")
	batch     = flag.Int("batch", 80, "install `N` packages of -bundles at a time")
)

// Each package is installed in a namespace of its own: its version becomes Succeeded in time, or the status says exactly what the cluster and
// the bundles lack. A package with several versions is upgraded to its head. Nothing depends on the name of a bundle:
//
//	go test -run TestInstallEach . -bundles DIR
func TestInstallEach(t *testing.T) {
	// Not parallel: 90 packages keep two cores busy, and beside other clusters, requests time out.
	dir := *directory
	if dir == "" {
		dir = t.TempDir()
		writeCorpus(t, dir)
	}
	w, r := newCluster(t), registrytest.New(t)
	heads, files := heads(t, dir)
	source := &v1alpha1.CatalogSource{
		ObjectMeta: metav1.ObjectMeta{Namespace: globalNamespace, Name: "all"},
		Spec:       v1alpha1.CatalogSourceSpec{SourceType: "grpc", Image: r.Push("all:1", files)},
	}
	w.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: globalNamespace}}, source)
	ends, names := map[ending]int{}, map[ending][]string{}
	for part := range slices.Chunk(heads, max(1, *batch)) {
		for _, one := range part {
			w.install(one)
		}
		for _, one := range part {
			end := w.awaitEnd(one)
			ends[end]++
			names[end] = append(names[end], one.name)
		}
	}
	t.Logf("%d packages: %v; %v conflict, and %v lack something", len(heads), ends, names[conflicts], names[lacks])
	if *directory != "" {
		return
	}
	if len(heads) < 60 || ends[installed] < 50 || ends[upgraded] != 2 || ends[conflicts] != 1 || ends[lacks] == 0 {
		t.Errorf("of %d packages, the ends are %v", len(heads), ends)
	}
}

// writeCorpus writes the bundles of the tests, packages with two versions in both layouts, and two packages that own one kind.
func writeCorpus(t *testing.T, dir string) {
	t.Helper()
	for _, one := range bundles.All() {
		one.Write(t, filepath.Join(dir, one.Name))
	}
	newer := []bundles.Change{
		bundles.Edit(bundles.CSVFile, "name: NAME.v1.0.0", "name: NAME.v1.1.0"),
		bundles.Edit(bundles.CSVFile, "  version: 1.0.0\n", "  version: 1.1.0\n  replaces: NAME.v1.0.0\n"),
	}
	bundles.New("two-versions", "").Write(t, filepath.Join(dir, "two-versions/1.0.0"))
	bundles.New("two-versions", "", newer...).Write(t, filepath.Join(dir, "two-versions/1.1.0"))
	old := map[string]string{"two-old.package.yaml": "packageName: two-old\ndefaultChannel: stable\nchannels: [{name: stable, currentCSV: two-old.v1.1.0}]\n"}
	for version, files := range map[string]map[string]string{"1.0.0": bundles.New("two-old", "").Files(), "1.1.0": bundles.New("two-old", "", newer...).Files()} {
		for path, content := range files {
			if name, is := strings.CutPrefix(path, "manifests/"); is {
				old[version+"/"+name] = content
			}
		}
	}
	bundles.Write(t, filepath.Join(dir, "two-old"), old)
	for _, name := range []string{"rival-a", "rival-b"} {
		bundles.New(name, "", func(files map[string]string) {
			for path, content := range files {
				files[path] = strings.ReplaceAll(content, "NAME.example.com", "rivals.example.com")
			}
		}).Write(t, filepath.Join(dir, name))
	}
}

// head is the version of a package at the end of its default channel.
type head struct {
	name, namespace string
	csv             *v1alpha1.ClusterServiceVersion
	// before is the version that it replaces, or nil.
	before *v1alpha1.ClusterServiceVersion
	// modes are the install modes that it supports.
	modes []string
	// needs are the dependencies that no bundle of the catalog provides.
	needs []string
	// rivals are other packages that own one of its kinds.
	rivals []string
}

// ending is how the installation of a package ended.
type ending string

const (
	installed ending = "installed"
	upgraded  ending = "upgraded"
	lacks     ending = "lacks something"
	conflicts ending = "conflicts"
	pending   ending = ""
)

// heads returns the packages below a directory whose bundles pass the check, and their catalog.
func heads(t *testing.T, dir string) (all []*head, files map[string]string) {
	t.Helper()
	report, err := check.Run(t.Context(), []string{dir}, check.Options{})
	if err != nil {
		t.Fatal(err)
	}
	failed, dirs, results := map[string]bool{}, map[string][]string{}, map[string]check.Bundle{}
	for _, one := range report.Bundles {
		failed[one.Package] = failed[one.Package] || one.Outcome != check.Passed
		dirs[one.Package] = append(dirs[one.Package], one.Dir)
		results[one.Name] = one
	}
	for _, one := range report.Packages {
		failed[one.Name] = failed[one.Name] || one.Outcome != check.Passed
		if one.Dir != "" { // the description has the channels
			dirs[one.Name] = []string{one.Dir}
		}
	}
	files = map[string]string{}
	owners := map[string][]string{}
	for _, one := range report.Packages {
		file := "configs/" + one.Name + "/catalog.yaml"
		if failed[one.Name] || files[file] != "" { // a copy of a package is a package of that name
			continue
		}
		made, content, err := headOf(one, dirs[one.Name])
		if err != nil {
			t.Errorf("%s: %v", one.Name, err)
			continue
		}
		result := results[made.csv.Name]
		made.modes, made.needs, made.namespace = result.InstallModes, result.Needs, fmt.Sprintf("operator-%d", len(all))
		files[file] = content
		all = append(all, made)
		for _, owned := range ownedBy(made.csv) {
			owners[owned] = append(owners[owned], made.name)
		}
	}
	for _, one := range all {
		for _, owned := range ownedBy(one.csv) {
			one.rivals = append(one.rivals, slices.DeleteFunc(slices.Clone(owners[owned]), func(name string) bool { return name == one.name })...)
		}
	}
	return all, files
}

// headOf reads the head of a package and the version that it replaces, and returns them with the catalog of the package.
func headOf(of check.Package, dirs []string) (*head, string, error) {
	var found []*bundle.Bundle
	for _, dir := range dirs {
		read, err := bundle.Open(dir)
		if err != nil {
			return nil, "", err
		}
		found = append(found, read...)
	}
	made, err := catalog.Of(found, "")
	if err != nil || len(made.Packages) != 1 {
		return nil, "", fmt.Errorf("there are %d packages: %w", len(made.Packages), err)
	}
	versions := map[string]*v1alpha1.ClusterServiceVersion{}
	for _, one := range found {
		csv := &v1alpha1.ClusterServiceVersion{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(one.Object.Object, csv); err != nil {
			return nil, "", err
		}
		versions[csv.Name] = csv
	}
	head := &head{name: of.Name}
	for _, channel := range of.Channels {
		if channel.Name == made.Packages[0].DefaultChannel {
			head.csv = versions[channel.Head]
		}
	}
	if head.csv == nil {
		return nil, "", fmt.Errorf("the default channel %s has no head", made.Packages[0].DefaultChannel)
	}
	head.before = versions[head.csv.Spec.Replaces]
	var content bytes.Buffer
	err = made.Write(&content, catalog.YAML)
	return head, content.String(), err
}

// ownedBy returns the names of the kinds that a version provides.
func ownedBy(csv *v1alpha1.ClusterServiceVersion) []string {
	var all []string
	for _, one := range csv.Spec.CustomResourceDefinitions.Owned {
		all = append(all, one.Name)
	}
	for _, one := range csv.Spec.APIServiceDefinitions.Owned {
		all = append(all, one.Version+"."+one.Group)
	}
	return all
}

// install subscribes to a package in a new namespace, for one of the install modes of the operator. If there is an earlier version, that is
// installed first, and plans wait for approval.
func (w *world) install(of *head) {
	w.Helper()
	group := v1.OperatorGroupSpec{}
	switch {
	case slices.Contains(of.modes, "OwnNamespace"):
		group.TargetNamespaces = []string{of.namespace}
	case slices.Contains(of.modes, "SingleNamespace"):
		group.TargetNamespaces = []string{"default"}
	case !slices.Contains(of.modes, "AllNamespaces"):
		group.TargetNamespaces = []string{"default", "kube-public"}
	}
	sub := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: of.namespace, Name: "operator"}, Spec: v1alpha1.SubscriptionSpec{
		CatalogSource: "all", CatalogSourceNamespace: globalNamespace, Package: of.name,
	}}
	if of.before != nil {
		sub.Spec.StartingCSV, sub.Spec.InstallPlanApproval = of.before.Name, v1alpha1.Manual
	}
	w.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: of.namespace}},
		&v1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: of.namespace, Name: "group"}, Spec: group}, sub)
}

// awaitEnd waits until a package is installed and upgraded, or cannot be.
func (w *world) awaitEnd(of *head) ending {
	w.Helper()
	if of.before == nil {
		return w.awaitVersion(of, of.csv)
	}
	w.approveFor(of, of.before.Name)
	if end := w.awaitVersion(of, of.before); end != installed {
		return end
	}
	before := w.workloads(of.namespace)
	w.approveFor(of, of.csv.Name)
	if end := w.awaitVersion(of, of.csv); end != installed {
		return end
	}
	w.AwaitGone(&v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: of.namespace, Name: of.before.Name}})
	w.compare(of.name, before, w.workloads(of.namespace))
	return upgraded
}

// approveFor approves the plan for a version, unless the package cannot be resolved.
func (w *world) approveFor(of *head, version string) {
	w.Helper()
	localtest.Eventually(w.T, of.name+": the plan for "+version, func(ctx context.Context) error {
		sub := &v1alpha1.Subscription{}
		var plans v1alpha1.InstallPlanList
		err := errors.Join(w.Get(ctx, client.ObjectKey{Namespace: of.namespace, Name: "operator"}, sub), w.List(ctx, &plans, client.InNamespace(of.namespace)))
		if err != nil || meta.FindStatusCondition(sub.Status.Problems, "ResolutionFailed") != nil {
			return err
		}
		for i := range plans.Items {
			if slices.Contains(plans.Items[i].Spec.ClusterServiceVersionNames, version) {
				return w.Patch(ctx, &plans.Items[i], client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"approved":true}}`)))
			}
		}
		return fmt.Errorf("the status of the Subscription is %+v", sub.Status)
	})
}

// approveDependencies approves the plans of the dependencies of a package, which wait as its own do.
func (w *world) approveDependencies(ctx context.Context, of *head) error {
	var plans v1alpha1.InstallPlanList
	err := w.List(ctx, &plans, client.InNamespace(of.namespace))
	for i := range plans.Items {
		one := &plans.Items[i]
		if names := one.Spec.ClusterServiceVersionNames; of.before != nil && !one.Spec.Approved && !slices.Contains(names, of.before.Name) && !slices.Contains(names, of.csv.Name) {
			err = errors.Join(err, w.Patch(ctx, one, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"approved":true}}`))))
		}
	}
	return err
}

// awaitVersion waits until a version of a package is installed or cannot be.
func (w *world) awaitVersion(of *head, wanted *v1alpha1.ClusterServiceVersion) (end ending) {
	w.Helper()
	localtest.Eventually(w.T, of.name+": the end of the installation of "+wanted.Name, func(ctx context.Context) error {
		sub, csv := &v1alpha1.Subscription{}, &v1alpha1.ClusterServiceVersion{}
		if err := errors.Join(w.approveDependencies(ctx, of), w.Get(ctx, client.ObjectKey{Namespace: of.namespace, Name: "operator"}, sub)); err != nil {
			return err
		}
		if end = of.unresolved(sub); end != pending {
			return nil
		}
		if err := w.Get(ctx, client.ObjectKey{Namespace: of.namespace, Name: wanted.Name}, csv); err != nil {
			return fmt.Errorf("%w: %+v", err, sub.Status.Problems)
		}
		if end = of.settled(csv); end != pending {
			w.complete(of, wanted, csv, end)
			return nil
		}
		return fmt.Errorf("phase %s, reason %s, message %q, requirements %+v; %+v", csv.Status.Phase, csv.Status.Reason, csv.Status.Message, csv.Status.RequirementStatus, sub.Status.Problems)
	})
	if end == installed && len(of.needs) > 0 {
		w.Errorf("%s is installed without %v", of.name, of.needs)
	}
	return end
}

// unresolved returns how the installation ended according to the Subscription: a dependency is named that no bundle provides, or a kind that
// belongs to another package.
func (of *head) unresolved(sub *v1alpha1.Subscription) ending {
	failed := meta.FindStatusCondition(sub.Status.Problems, "ResolutionFailed")
	if failed != nil && slices.ContainsFunc(of.needs, func(need string) bool { return strings.Contains(failed.Message, need) }) {
		return lacks
	}
	refused := meta.FindStatusCondition(sub.Status.Problems, "InstallPlanFailed")
	if refused != nil && len(of.rivals) > 0 && slices.ContainsFunc(ownedBy(of.csv), func(name string) bool { return strings.Contains(refused.Message, name) }) {
		return conflicts
	}
	return pending
}

// settled returns how the installation of a version ended.
func (of *head) settled(csv *v1alpha1.ClusterServiceVersion) ending {
	status := csv.Status
	switch {
	case status.Phase == v1alpha1.PhaseSucceeded:
		return installed
	case len(csv.Spec.APIServiceDefinitions.Owned) > 0 && strings.HasPrefix(status.Message, "installing: waiting for APIService "):
		return installed // simulated pods serve nothing
	case len(of.rivals) > 0 && (status.Reason == "OwnerConflict" || status.Reason == "InterOperatorGroupOwnerConflict"):
		return conflicts
	case status.Reason == "OwnerConflict" && strings.Contains(status.Message, "was not made for an operator of this namespace"): // the cluster serves it
		return conflicts
	case status.Reason == "RequirementsNotMet" && status.Phase == v1alpha1.PhasePending && of.lacksOnly(csv):
		return lacks
	}
	return pending
}

// lacksOnly reports whether all requirements that are not met are those that neither the bundle nor another one provides, and the message
// names the first of them.
func (of *head) lacksOnly(csv *v1alpha1.ClusterServiceVersion) bool {
	lacking := false
	for _, one := range csv.Status.RequirementStatus {
		if one.Status == v1alpha1.Present || one.Status == v1alpha1.DeploymentFound {
			continue
		}
		isNative := slices.ContainsFunc(csv.Spec.NativeAPIs, func(native metav1.GroupVersionKind) bool {
			return native == metav1.GroupVersionKind{Group: one.Group, Version: one.Version, Kind: one.Kind}
		})
		isOld := one.Kind == "ClusterServiceVersion" // spec.minKubeVersion
		isRequired := slices.ContainsFunc(of.needs, func(need string) bool {
			plural, group, _ := strings.Cut(one.Name, ".")
			return plural != "" && strings.Contains(need, "("+group+"/")
		})
		if !isNative && !isOld && !isRequired || !lacking && !strings.Contains(csv.Status.Message, one.Message) {
			return false
		}
		lacking = true
	}
	return lacking
}

// complete checks that the status of a version lists all that it needs.
func (w *world) complete(of *head, wanted, csv *v1alpha1.ClusterServiceVersion, end ending) {
	w.Helper()
	listed := map[string]int{}
	for _, one := range csv.Status.RequirementStatus {
		listed[one.Kind+" "+one.Name] = 1 + len(one.Dependents)
	}
	need := map[string]int{}
	for _, one := range slices.Concat(wanted.Spec.CustomResourceDefinitions.Owned, wanted.Spec.CustomResourceDefinitions.Required) {
		need["CustomResourceDefinition "+one.Name] = 1
	}
	for _, one := range slices.Concat(wanted.Spec.Install.Spec.Permissions, wanted.Spec.Install.Spec.ClusterPermissions) {
		name := "ServiceAccount " + one.ServiceAccountName
		need[name] = max(need[name], 1) + len(one.Rules)
	}
	for name, count := range need {
		if listed[name] != count && end != conflicts {
			w.Errorf("%s: the requirements have %s with %d entries, want %d: %+v", of.name, name, listed[name], count, csv.Status.RequirementStatus)
		}
	}
	for _, one := range csv.Status.History {
		if end == installed && one.Phase == v1alpha1.PhaseFailed && len(of.rivals) == 0 {
			w.Errorf("%s: the phase of %s was %+v", of.name, csv.Name, one)
		}
	}
}

// workload is a Deployment with the names of its pods.
type workload struct {
	appsv1.Deployment
	pods map[string]bool
}

// workloads returns the Deployments of a namespace.
func (w *world) workloads(namespace string) map[string]workload {
	w.Helper()
	var deployments appsv1.DeploymentList
	var pods corev1.PodList
	w.Must(errors.Join(w.List(w.Context(), &deployments, client.InNamespace(namespace)), w.List(w.Context(), &pods, client.InNamespace(namespace))))
	all := map[string]workload{}
	for _, one := range deployments.Items {
		of := workload{one, map[string]bool{}}
		for _, pod := range pods.Items {
			selector, err := metav1.LabelSelectorAsSelector(one.Spec.Selector)
			w.Must(err)
			if pod.DeletionTimestamp == nil && selector.Matches(labels.Set(pod.Labels)) {
				of.pods[pod.Name] = true
			}
		}
		all[one.Name] = of
	}
	return all
}

// compare checks that an upgrade left the Deployments in their place: each was changed at most once, and the pods of one with the same pods stay.
func (w *world) compare(name string, before, after map[string]workload) {
	w.Helper()
	const revision = "deployment.kubernetes.io/revision"
	for deployment, was := range before {
		is, exists := after[deployment]
		same := equality.Semantic.DeepEqual(was.Spec.Template, is.Spec.Template)
		switch {
		case !exists:
		case was.UID != is.UID:
			w.Errorf("%s: the Deployment %s was created again", name, deployment)
		case same && !maps.Equal(was.pods, is.pods):
			w.Errorf("%s: the Deployment %s has the pods %v, and had %v", name, deployment, is.pods, was.pods)
		case !same && (was.Annotations[revision] != "1" || is.Annotations[revision] != "2"):
			w.Errorf("%s: the Deployment %s has the revision %s, and had %s", name, deployment, is.Annotations[revision], was.Annotations[revision])
		}
	}
}
