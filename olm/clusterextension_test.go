package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/olm"
	"github.com/operon-framework/operon/internal/tools/olm/change"
	"github.com/operon-framework/operon/local"
	"github.com/operon-framework/operon/local/localtest"

	extensionv1 "github.com/operon-framework/operon/internal/olm/api/extension/v1"
	operatorsv1 "github.com/operon-framework/operon/internal/olm/api/v1"
	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/testing/registrytest"
	"github.com/operon-framework/operon/olm/internal/csv"
	"github.com/operon-framework/operon/olm/internal/installplan"
)

// clusterCatalog pushes a catalog with versions of memcached, each of which replaces the one before, and the package proxy, which needs
// another one. Some versions cannot be installed: 0.0.8 does not work in all namespaces, and 0.0.9 needs a newer server.
func (w *world) clusterCatalog(r *registrytest.Registry) *extensionv1.ClusterCatalog {
	w.Helper()
	bundles, entries, before := map[string]string{}, "", ""
	for _, number := range []string{"0.0.1", "0.0.2", "0.0.3", "0.0.8", "0.0.9"} {
		text := strings.ReplaceAll(memcached, "0.0.1", number)
		switch number {
		case "0.0.8":
			text = strings.Replace(text, "AllNamespaces, supported: true", "AllNamespaces, supported: false", 1)
		case "0.0.9":
			text = strings.Replace(text, "minKubeVersion: 1.20.0", "minKubeVersion: 99.0.0", 1)
		}
		bundles[number] = w.bundle(r, number, text)
		entries += "- {name: memcached-operator.v" + number + before + "}\n"
		before = ", replaces: memcached-operator.v" + number
	}
	source := w.catalogWith(r, "shop", bundles, entries, w.proxies(r, "Memcached")+`---
schema: olm.deprecations
package: memcached
entries:
- {reference: {schema: olm.bundle, name: memcached-operator.v0.0.1}, message: 0.0.1 is old}
- {reference: {schema: olm.channel, name: stable}, message: use fast}
`)
	return &extensionv1.ClusterCatalog{ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Spec: extensionv1.ClusterCatalogSpec{
		Source: extensionv1.CatalogSource{Type: extensionv1.SourceImage, Image: &extensionv1.ImageSource{Ref: source.Spec.Image}},
	}}
}

// clusterExtension returns a ClusterExtension for a range of versions of a package.
func clusterExtension(name, namespace, of, versions string) *extensionv1.ClusterExtension {
	return &extensionv1.ClusterExtension{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: extensionv1.ClusterExtensionSpec{
		Namespace: namespace, Source: extensionv1.Source{SourceType: "Catalog", Catalog: &extensionv1.CatalogFilter{PackageName: of, Version: versions}},
	}}
}

// awaitConditions waits until conditions have a status and a reason, and a text in their message: Type=Status Reason text.
func (w *world) awaitConditions(object client.Object, conditions ...string) {
	w.Helper()
	w.eventually(object.GetName()+": "+strings.Join(conditions, ", "), func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		var all []metav1.Condition
		generation := object.GetGeneration()
		switch o := object.(type) {
		case *extensionv1.ClusterCatalog:
			all = o.Status.States
		case *extensionv1.ClusterExtension:
			all = o.Status.States
		case *v1alpha1.Subscription:
			all, generation = o.Status.Problems, 0 // as those of OLM
		}
		for _, want := range conditions {
			kind, rest, _ := strings.Cut(want, "=")
			found := meta.FindStatusCondition(all, kind)
			if found == nil || found.ObservedGeneration != generation || !strings.HasPrefix(string(found.Status)+" "+found.Reason+" "+found.Message, rest) {
				return fmt.Errorf("the conditions are %+v", all)
			}
		}
		return nil
	})
}

// patch changes an object.
func (w *world) patch(object client.Object, content string) {
	w.Helper()
	w.Must(w.Patch(w.Context(), object, client.RawPatch("application/merge-patch+json", []byte(content))))
}

// choosing changes the versions of a ClusterExtension.
func (w *world) choosing(of *extensionv1.ClusterExtension, versions, policy string) {
	w.Helper()
	w.patch(of, fmt.Sprintf(`{"spec":{"source":{"catalog":{"version":%q,"upgradeConstraintPolicy":%q}}}}`, versions, policy))
}

// installer creates a ServiceAccount that may do everything but work with the kinds of the test.
func (w *world) installer() *rbacv1.ClusterRole {
	w.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "installer"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"", "apps", "rbac.authorization.k8s.io", "apiextensions.k8s.io"}, Resources: []string{"*"}, Verbs: []string{"*"}},
		{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}},
	}}
	w.Add(role, &corev1.ServiceAccount{ObjectMeta: w.Named("installer")}, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "installer"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "installer"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "installer", Namespace: w.Namespace}},
	})
	return role
}

// A ClusterExtension writes nothing that its ServiceAccount may not write, and says what that is. It installs the version of its range,
// upgrades it along the channels, or to any version that the user certifies, and removes it.
func TestClusterExtension(t *testing.T) {
	t.Parallel()
	w, r := newCluster(t), registrytest.New(t)
	w.Cleanup(func() { w.Must(w.DeleteAllOf(context.WithoutCancel(w.Context()), &extensionv1.ClusterExtension{})) })
	catalog, till, role := w.clusterCatalog(r), clusterExtension("till", w.Namespace, "memcached", "0.0.9"), w.installer()
	till.Spec.ServiceAccount = &extensionv1.ServiceAccountReference{Name: "installer"}
	till.Spec.Source.Catalog.Channels = []string{"stable"}
	w.Add(till)
	w.awaitConditions(till, `Progressing=True Retrying no bundles found for package "memcached" matching version "0.0.9" in channels [stable]`,
		"Installed=False Failed", "Deprecated=Unknown DeprecationStatusUnknown", "BundleDeprecated=Unknown Absent")
	w.Add(catalog)
	w.awaitConditions(catalog, "Serving=True Available", "Progressing=True Succeeded")
	if read := catalog.Status; !strings.Contains(read.ResolvedSource.Image.Ref, "shop@sha256:") || read.LastUnpacked == nil || read.Packages != 2 || catalog.Labels[extensionv1.LabelName] != "shop" {
		t.Errorf("the catalog has the labels %v, and the status %+v", catalog.Labels, read)
	}
	w.awaitConditions(till, fmt.Sprintf("Progressing=True Retrying the ServiceAccount installer may not: * *.%[1]s in the namespace %[2]s; * *.%[1]s in the cluster. Nothing", w.group, w.Namespace),
		"ChannelDeprecated=True Deprecated use fast")
	w.sent.mustNotContain(t, w.Namespace)

	foreign := &corev1.ConfigMap{ObjectMeta: w.Named("memcached-config")}
	w.Add(foreign)
	role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{w.group}, Resources: []string{"*"}, Verbs: []string{"*"}})
	w.Must(w.Update(t.Context(), role))
	const refused = "Progressing=True Retrying ConfigMap memcached-config exists and was not made from a bundle"
	w.awaitConditions(till, refused, "Installed=False Failed")
	w.sent.mustNotContain(t, "clusterserviceversions/memcached") // nothing of a refused version is written
	w.choosing(till, "0.0.1", "CatalogProvided")
	w.awaitConditions(till, refused, "Installed=False Failed")
	w.Must(w.Delete(t.Context(), foreign))
	w.awaitInstalled(till, "0.0.1")
	w.awaitConditions(till, "BundleDeprecated=True Deprecated 0.0.1 is old", "Deprecated=True Deprecated use fast; 0.0.1 is old", "PackageDeprecated=False NotDeprecated")
	before := w.deployment("memcached-operator")
	w.quiet()
	w.explained("till", true, "memcached-operator.v0.0.1 is installed")
	w.failPods("memcached-operator", `"never-ready"`)
	w.awaitConditions(till, "Progressing=True RollingOut "+first+" is Failed: ", "Installed=True Succeeded")
	w.failPods("memcached-operator", "null")
	w.awaitInstalled(till, "0.0.1")

	w.choosing(till, "<0.0.8", "CatalogProvided")
	w.awaitInstalled(till, "0.0.3")
	w.awaitConditions(till, "BundleDeprecated=False NotDeprecated")
	w.choosing(till, "0.0.1", "CatalogProvided")
	w.awaitConditions(till, `Progressing=True Retrying error upgrading from currently installed version "0.0.3": no bundles found`, "Installed=True Succeeded", "ChannelDeprecated=True Deprecated use fast")
	for _, number := range []string{"0.0.1", "0.0.3", "0.0.1"} { // after the downgrade, 0.0.1 keeps the name of 0.0.3 in spec.replaces
		w.choosing(till, number, "SelfCertified")
		w.awaitInstalled(till, number)
	}
	if now := w.deployment("memcached-operator"); now.UID != before.UID {
		t.Error("the Deployment was created again")
	}
	w.choosing(till, "1 and 2", "SelfCertified")
	w.awaitConditions(till, "Progressing=False Blocked spec.source.catalog.version", "Installed=True Succeeded")
	w.explained("till", false, "spec.source.catalog.version")
	w.refusals(catalog)
	w.choosing(till, "0.0.1", "SelfCertified")
	w.uninstall(catalog, till)
}

// A catalog that withdraws a version while it is rolled out, or offers a newer one, does not take the operator back to the version before. The user can.
func TestCatalogThatChangesDuringARollout(t *testing.T) {
	t.Parallel()
	w := &world{T: t, Env: localtest.New(t, local.Options{Nodes: 1}), csvs: &csv.Composer{Clock: testclock.NewFakePassiveClock(time.Now())}} // the rollout does not time out
	w.connect()
	w.run()
	r := registrytest.New(t)
	w.Cleanup(func() { w.Must(w.DeleteAllOf(context.WithoutCancel(w.Context()), &extensionv1.ClusterExtension{})) })
	const entry = "- {name: memcached-operator.v0.0.1}\n"
	bundles := map[string]string{"0.0.1": w.bundle(r, "0.0.1", memcached)}
	withdrawn := w.catalog(r, "withdrawn", bundles, entry).Spec.Image
	bundles["0.0.2"] = w.bundle(r, "0.0.2", failing(version("0.0.2", "0.0.1")))
	offered := w.catalog(r, "offered", bundles, bothVersions).Spec.Image
	bundles["0.0.3"] = w.bundle(r, "0.0.3", version("0.0.3", "0.0.1"))
	newer := w.catalog(r, "newer", bundles, bothVersions+"- {name: memcached-operator.v0.0.3, replaces: memcached-operator.v0.0.2, skips: [memcached-operator.v0.0.1]}\n").Spec.Image
	catalog := &extensionv1.ClusterCatalog{ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Spec: extensionv1.ClusterCatalogSpec{
		Source: extensionv1.CatalogSource{Type: extensionv1.SourceImage, Image: &extensionv1.ImageSource{Ref: offered}},
	}}
	extension := clusterExtension("till", w.Namespace, "memcached", "0.0.1")
	w.Add(catalog, extension)
	w.awaitInstalled(extension, "0.0.1")
	w.choosing(extension, "", "CatalogProvided")
	next := w.AwaitPhase(second, v1alpha1.PhaseInstalling, "")
	for _, image := range []string{withdrawn, newer} {
		name, _, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
		w.patch(catalog, fmt.Sprintf(`{"spec":{"source":{"image":{"ref":%q}}}}`, image))
		localtest.Eventually(t, "the catalog "+name, func(ctx context.Context) error {
			if err := w.Get(ctx, client.ObjectKeyFromObject(catalog), catalog); err != nil {
				return err
			}
			if read := catalog.Status.ResolvedSource.Image.Ref; !strings.Contains(read, name+"@") {
				return fmt.Errorf("read is %s", read)
			}
			return nil
		})
		w.quiet()
		w.awaitConditions(extension, "Progressing=True RollingOut installs "+second+": it is Installing", "Installed=True Succeeded Installed bundle "+first)
		if now := w.AwaitPhase(second, v1alpha1.PhaseInstalling, ""); now.UID != next.UID {
			t.Errorf("with the catalog %s, the version was installed again", name)
		}
	}
	w.choosing(extension, "0.0.1", "CatalogProvided")
	w.awaitInstalled(extension, "0.0.1")
	w.choosing(extension, "", "CatalogProvided")
	w.awaitInstalled(extension, "0.0.3")

	// One that is created again has nothing of the deleted one.
	w.Must(w.Delete(t.Context(), catalog))
	again := &extensionv1.ClusterCatalog{ObjectMeta: metav1.ObjectMeta{Name: catalog.Name}, Spec: catalog.Spec}
	again.Spec.Source.Image.Ref = r.Host + "/none:1"
	w.Add(again)
	w.awaitConditions(again, "Progressing=True Retrying", "Serving=False Unavailable The catalog was not read yet")
}

// awaitInstalled waits until a version of memcached is installed, and nothing else remains to be done.
func (w *world) awaitInstalled(of *extensionv1.ClusterExtension, number string) {
	w.Helper()
	w.awaitConditions(of, "Progressing=True Succeeded", "Installed=True Succeeded Installed bundle memcached-operator.v"+number)
	if got := of.Status.Install.Bundle; got.Name != "memcached-operator.v"+number || got.Version != number {
		w.Errorf("installed is %+v", got)
	}
	localtest.Eventually(w.T, "the Deployment of "+number, func(ctx context.Context) error { // a version that works again creates it again
		now := &appsv1.Deployment{}
		err := w.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: "memcached-operator"}, now)
		if err == nil && now.Spec.Template.Spec.Containers[0].Image != "memcached-operator:"+number {
			err = fmt.Errorf("it has the image %s", now.Spec.Template.Spec.Containers[0].Image)
		}
		return err
	})
	w.quiet()
	var plans v1alpha1.InstallPlanList
	w.Must(w.List(w.Context(), &plans, client.InNamespace(w.Namespace)))
	if len(plans.Items) > 0 {
		w.Errorf("there are %d plans, want none when all is installed", len(plans.Items))
	}
}

// explained checks what the commands say about a ClusterExtension: explain, for any namespace, and status.
func (w *world) explained(name string, settled bool, why string) {
	w.Helper()
	connection, err := kube.New(w.Config, "operon-olm")
	w.Must(err)
	state, err := olm.ReadNamed(w.Context(), connection, metav1.NamespaceDefault, name)
	w.Must(err)
	if answer, err := state.Why(name); err != nil || answer.Kind != "ClusterExtension" || answer.Settled != settled || !strings.Contains(answer.Why, why) {
		w.Errorf("the answer is %+v, %v", answer, err)
	}
	if state, err = olm.Read(w.Context(), connection, w.Namespace); err == nil {
		err = state.ReadExtensions(w.Context(), connection)
	}
	w.Must(err)
	bill := state.Bill()
	if len(bill.Operators) != 1 || bill.Operators[0].Extension != name || bill.Operators[0].CSV == "" || (len(bill.Operators[0].Problems) == 0) != settled {
		w.Errorf("the bill has %+v", bill.Operators)
	}
	if at := len(bill.Catalogs) - 1; at < 0 || bill.Catalogs[at].Kind != "ClusterCatalog" || bill.Catalogs[at].State != "Available" || !strings.HasPrefix(bill.Catalogs[at].Digest, "sha256:") {
		w.Errorf("the catalogs are %+v", bill.Catalogs)
	}
}

// refusals checks what a ClusterExtension cannot install, and fields that the API server refuses.
func (w *world) refusals(catalog *extensionv1.ClusterCatalog) {
	w.Helper()
	for want, of := range map[string]*extensionv1.ClusterExtension{
		"the namespace nowhere does not exist":                              clusterExtension("a", "nowhere", "memcached", "0.0.2"),
		"the namespace " + w.Namespace + " has the OperatorGroup till":      clusterExtension("b", w.Namespace, "memcached", "0.0.2"),
		"memcached-operator.v0.0.8: AllNamespaces InstallModeType not":      clusterExtension("c", "default", "memcached", "0.0.8"),
		"bundle proxy.v1.0.0 has an unsupported dependency":                 clusterExtension("d", "default", "proxy", ""),
		"the ServiceAccount nobody does not exist in the namespace default": limited(clusterExtension("e", "default", "memcached", "0.0.2")),
	} {
		w.Add(of)
		w.awaitConditions(of, "Progressing=True Retrying "+want, "Installed=False Failed No bundle installed: "+want)
		w.Must(w.Delete(w.Context(), of))
		w.AwaitGone(of)
	}
	source, sub := &v1alpha1.CatalogSource{ObjectMeta: w.Named("shop"), Spec: v1alpha1.CatalogSourceSpec{SourceType: "grpc", Image: catalog.Spec.Source.Image.Ref}}, w.subscribe("shop")
	byHand := &v1alpha1.InstallPlan{ObjectMeta: w.Named("by-hand"), Spec: v1alpha1.InstallPlanSpec{
		Approval: v1alpha1.Automatic, Approved: true, ClusterServiceVersionNames: []string{second},
	}}
	byHand.Annotations = map[string]string{installplan.AnnotationBundles: second + "=" + w.Namespace + "/shop"}
	w.Add(source, sub, byHand)
	reserved := "the namespace is for the operator of the ClusterExtension till alone: subscribe in another namespace"
	w.awaitRefusal(byHand, v1alpha1.PlanFailed, installplan.ReasonExtension, reserved)
	w.awaitConditions(sub, "ResolutionFailed=True "+installplan.ReasonExtension+" "+reserved)
	w.Must(w.Delete(w.Context(), byHand))
	w.Must(w.Delete(w.Context(), sub))
	w.Must(w.Delete(w.Context(), source))
	w.AwaitGone(byHand)
	twice := &extensionv1.ClusterCatalog{ObjectMeta: metav1.ObjectMeta{Name: "twice", Labels: map[string]string{"of": "test"}}, Spec: catalog.Spec}
	chooses := clusterExtension("f", "nowhere", "memcached", "")
	w.Add(twice, chooses)
	w.awaitConditions(chooses, `Progressing=True Retrying found bundles for package "memcached" in multiple catalogs with the same priority [shop twice]`)
	w.patch(twice, `{"spec":{"priority":1}}`)
	w.awaitConditions(chooses, "Progressing=True Retrying the namespace nowhere does not exist")
	w.patch(twice, `{"spec":{"priority":0}}`)
	w.awaitConditions(chooses, "Progressing=True Retrying found bundles")
	w.patch(chooses, `{"spec":{"source":{"catalog":{"selector":{"matchLabels":{"of":"test"}}}}}}`)
	w.awaitConditions(chooses, "Progressing=True Retrying the namespace nowhere does not exist")
	for _, content := range []string{
		`{"spec":{"namespace":"other"}}`, `{"spec":{"source":{"catalog":{"packageName":"other"}}}}`, `{"spec":{"source":{"catalog":null}}}`,
		`{"spec":{"source":{"catalog":{"channels":["` + strings.Repeat("a", 254) + `"]}}}}`, `{"spec":{"serviceAccount":{"name":"In Staller"}}}`,
		`{"spec":{"install":{"preflight":{"crdUpgradeSafety":{"enforcement":"None"}}}}}`,
	} {
		if err := w.Patch(w.Context(), chooses, client.RawPatch("application/merge-patch+json", []byte(content))); !apierrors.IsInvalid(err) {
			w.Errorf("%s: the error is %v", content, err)
		}
	}
	w.Must(w.Delete(w.Context(), chooses))
	w.Must(w.Delete(w.Context(), twice))
	w.AwaitGone(chooses)
	w.AwaitGone(twice)
}

func limited(of *extensionv1.ClusterExtension) *extensionv1.ClusterExtension {
	of.Spec.ServiceAccount = &extensionv1.ServiceAccountReference{Name: "nobody"}
	return of
}

// uninstall checks that what is installed is repaired, stays without its catalog, and leaves nothing but its CRD when it is removed.
func (w *world) uninstall(catalog *extensionv1.ClusterCatalog, till *extensionv1.ClusterExtension) {
	w.Helper()
	csv := w.AwaitPhase("memcached-operator.v0.0.1", v1alpha1.PhaseSucceeded, "")
	before := csv.UID
	w.Must(w.Delete(w.Context(), csv))
	csv = w.Await(csv.Name, "installed again", func(csv *v1alpha1.ClusterServiceVersion) bool {
		return csv.UID != before && csv.Status.Phase == v1alpha1.PhaseSucceeded
	})
	w.awaitInstalled(till, "0.0.1")
	w.patch(catalog, `{"spec":{"availabilityMode":"Unavailable"}}`)
	w.awaitConditions(catalog, "Serving=False UserSpecifiedUnavailable")
	w.awaitConditions(till, `Progressing=True Retrying error upgrading from currently installed version "0.0.1": no bundles found`, "Installed=True Succeeded", "BundleDeprecated=Unknown DeprecationStatusUnknown")
	w.Must(w.Delete(w.Context(), catalog))
	w.AwaitGone(catalog)
	w.awaitInstalled(till, "0.0.1")
	w.removal(csv)
	var roles rbacv1.ClusterRoleList
	w.Must(w.List(w.Context(), &roles, client.MatchingLabels{"olm.owner": "memcached-operator.v0.0.1"}))
	if len(roles.Items) == 0 {
		w.Error("the version has no ClusterRoles")
	}
	gone := []client.Object{
		till, csv, &operatorsv1.OperatorGroup{ObjectMeta: w.Named("till")}, &appsv1.Deployment{ObjectMeta: w.Named("memcached-operator")},
		&corev1.ServiceAccount{ObjectMeta: w.Named("memcached-operator")}, &corev1.ConfigMap{ObjectMeta: w.Named("memcached-config")},
	}
	for i := range roles.Items {
		gone = append(gone, &roles.Items[i], &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: roles.Items[i].Name}})
	}
	w.Must(w.Delete(w.Context(), till))
	w.AwaitGone(till)
	if err := w.Get(w.Context(), client.ObjectKeyFromObject(csv), csv); !apierrors.IsNotFound(err) {
		w.Errorf("the version exists when the ClusterExtension is gone, error %v", err)
	}
	for _, object := range gone {
		w.AwaitGone(object)
	}
	w.Must(w.Get(w.Context(), client.ObjectKey{Name: "memcacheds." + w.group}, &apiextensionsv1.CustomResourceDefinition{}))
}

// removal checks what "operon olm remove" would remove: with the version its ClusterExtension, which would install it again.
func (w *world) removal(csv *v1alpha1.ClusterServiceVersion) {
	w.Helper()
	connection, err := kube.New(w.Config, "operon-olm")
	w.Must(err)
	for definitions, want := range map[bool]string{
		false: fmt.Sprintf("[ClusterExtension till ClusterServiceVersion %s/%s]", csv.Namespace, csv.Name),
		true:  fmt.Sprintf("[ClusterExtension till ClusterServiceVersion %s/%s CustomResourceDefinition memcacheds.%s]", csv.Namespace, csv.Name, w.group),
	} {
		if all, err := change.Plan(w.Context(), connection, csv.Namespace, csv.Name, definitions); err != nil || fmt.Sprint(all.Removed) != want {
			w.Errorf("with CRDs %v: removed are %+v, error %v, want %s", definitions, all, err, want)
		}
	}
}

// Of two ClusterExtensions that have each seen an empty namespace, one is installed, and the other one leaves nothing there.
func TestTwoClusterExtensionsInANamespace(t *testing.T) {
	t.Parallel()
	w, r := &world{T: t, Env: localtest.New(t, local.Options{Nodes: 1})}, registrytest.New(t)
	w.connect()
	w.Add(w.clusterCatalog(r))
	kind := extensionv1.GroupVersion.WithKind("ClusterExtension")
	both := map[string]*extensionv1.ClusterExtension{}
	for _, name := range []string{"one", "two"} {
		of := clusterExtension(name, w.Namespace, "memcached", "0.0.1")
		w.Add(of)
		both[name] = of
		group := &operatorsv1.OperatorGroup{ObjectMeta: w.Named(name)}
		group.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(of, kind)}
		group.Labels = map[string]string{plan.OwnerLabel: string(of.UID), plan.PartOfLabel: plan.ApplySetID(plan.ID{GroupKind: kind.GroupKind(), Name: name})}
		w.Add(group)
	}
	w.run()
	w.Cleanup(func() { w.Must(w.DeleteAllOf(context.WithoutCancel(w.Context()), &extensionv1.ClusterExtension{})) })
	var groups operatorsv1.OperatorGroupList
	localtest.Eventually(t, "one group is left", func(ctx context.Context) error {
		if err := w.List(ctx, &groups, client.InNamespace(w.Namespace)); err != nil || len(groups.Items) != 1 {
			return fmt.Errorf("there are %d, error %w", len(groups.Items), err)
		}
		return nil
	})
	winner := groups.Items[0].Name
	w.awaitInstalled(both[winner], "0.0.1")
	delete(both, winner)
	for _, loser := range both {
		w.awaitConditions(loser, "Progressing=True Retrying the namespace "+w.Namespace+" has the OperatorGroup "+winner+" already")
		localtest.Eventually(t, "the other one is not ready", func(ctx context.Context) error {
			if err := w.Get(ctx, client.ObjectKeyFromObject(loser), loser); err != nil || !meta.IsStatusConditionFalse(loser.Status.Conditions, "Ready") {
				return fmt.Errorf("the conditions are %+v, error %w", loser.Status.Conditions, err)
			}
			return nil
		})
	}
}
