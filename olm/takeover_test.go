package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/olm/handback"
	"github.com/operon-framework/operon/local"
	"github.com/operon-framework/operon/local/localtest"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	v2 "github.com/operon-framework/operon/internal/olm/api/v2"
	"github.com/operon-framework/operon/internal/testing/registrytest"
)

// left is what OLM has left in a namespace.
type left struct {
	*world
	objects []*unstructured.Unstructured
	// bundle is the ClusterServiceVersion as the bundle has it.
	bundle string
}

// leave reads what OLM leaves from a file in testdata/takeover. more are further words to replace, each followed by what it stands for.
func (w *world) leave(file string, more ...string) *left {
	w.Helper()
	content, err := os.ReadFile("testdata/takeover/" + file)
	w.Must(err)
	objects, err := operon.FromYAML([]byte(strings.NewReplacer(append(more, "$GROUP", w.group, "$NAMESPACE", w.Namespace)...).Replace(string(content))))
	w.Must(err)
	l := &left{world: w}
	for _, one := range objects {
		object := one.(*unstructured.Unstructured)
		l.objects = append(l.objects, object)
		if object.GetKind() == "ClusterServiceVersion" && object.GetNamespace() == w.Namespace {
			l.bundle = w.unpacked(object)
		}
	}
	return l
}

// unpacked returns a ClusterServiceVersion without what OLM adds to it.
func (w *world) unpacked(csv *unstructured.Unstructured) string {
	w.Helper()
	csv = csv.DeepCopy()
	delete(csv.Object, "status")
	csv.SetNamespace("")
	csv.SetFinalizers(nil)
	csv.SetLabels(nil)
	annotations := csv.GetAnnotations()
	for key := range annotations {
		if strings.HasPrefix(key, "olm.") || strings.HasPrefix(key, "operatorframework.io/") {
			delete(annotations, key)
		}
	}
	csv.SetAnnotations(annotations)
	text, err := yaml.Marshal(csv.Object)
	w.Must(err)
	return string(text)
}

// write writes the objects as OLM does: with updates of a field manager that has the name of this one. Objects that exist get the status.
func (l *left) write(image string) {
	l.Helper()
	uids := map[string]client.Object{}
	for _, object := range l.objects {
		if spec, is := object.Object["spec"].(map[string]any); is && spec["image"] == "$IMAGE" {
			spec["image"] = image
		}
		references := object.GetOwnerReferences()
		for i, one := range references {
			references[i].UID = uids[one.Kind+"/"+object.GetNamespace()+"/"+one.Name].GetUID()
		}
		if len(references) > 0 {
			object.SetOwnerReferences(references)
		}
		status, key := object.Object["status"], object.GetKind()+"/"+object.GetNamespace()+"/"+object.GetName()
		if before := uids[key]; before == nil {
			l.Must(l.Create(l.Context(), object, client.FieldOwner("olm")))
			uids[key] = object
		} else {
			l.Must(l.Get(l.Context(), client.ObjectKeyFromObject(object), object))
		}
		if status != nil {
			object.Object["status"] = status
			l.Must(l.Status().Update(l.Context(), object, client.FieldOwner("olm")))
		}
		if object.GetNamespace() == "" {
			l.Cleanup(func() { l.Must(client.IgnoreNotFound(l.Delete(context.WithoutCancel(l.Context()), object))) })
		}
	}
}

// pods returns the UIDs of the running pods of the operator.
func (w *world) pods() []string {
	w.Helper()
	var uids []string
	localtest.Eventually(w.T, "a pod of the operator is ready", func(ctx context.Context) error {
		var list corev1.PodList
		if err := w.List(ctx, &list, client.InNamespace(w.Namespace), client.MatchingLabels{"name": "memcached-operator"}); err != nil {
			return err
		}
		uids = nil
		for _, one := range list.Items {
			if slices.ContainsFunc(one.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue }) {
				uids = append(uids, string(one.UID))
			}
		}
		if len(uids) == 0 {
			return fmt.Errorf("of %d pods, none is ready", len(list.Items))
		}
		return nil
	})
	return uids
}

// namesOf returns the names of the objects of a kind that have the owner labels of a version.
func (w *world) namesOf(list client.ObjectList, version string) (names []string) {
	w.Helper()
	w.Must(w.List(w.Context(), list, client.MatchingLabels{"olm.owner": version, "olm.owner.namespace": w.Namespace}))
	raw, err := yaml.Marshal(list)
	w.Must(err)
	var found metav1.PartialObjectMetadataList
	w.Must(yaml.Unmarshal(raw, &found))
	for _, one := range found.Items {
		names = append(names, one.Name)
	}
	return names
}

// An operator that OLM has installed is taken over as it runs: its pods stay, its permissions exist once, it is upgraded, and nothing is left
// when it is uninstalled.
func TestTakeover(t *testing.T) {
	t.Parallel()
	w, r := &world{T: t, Env: localtest.Shared(t)}, registrytest.New(t)
	w.connect()
	l := w.leave("own.yaml")
	bundles := map[string]string{"0.0.1": w.bundle(r, "0.0.1", l.bundle)}
	source := w.catalog(r, "shop", bundles, "- {name: memcached-operator.v0.0.1}\n")
	crd := w.definition()
	w.Add(crd)
	w.Cleanup(func() { w.Must(client.IgnoreNotFound(w.Delete(context.WithoutCancel(w.Context()), crd))) })
	l.write(source.Spec.Image)
	pods, before := w.pods(), w.deployment("memcached-operator")
	account := &corev1.ServiceAccount{ObjectMeta: w.Named("memcached-operator")}
	w.Must(w.Get(t.Context(), client.ObjectKeyFromObject(account), account))
	uid := account.UID

	w.run(w.Namespace)
	csv := w.Await(first, "is taken over", func(csv *v1alpha1.ClusterServiceVersion) bool {
		return csv.Status.PermissionsDigest != "" && csv.Status.Phase == v1alpha1.PhaseSucceeded && !slices.Contains(csv.Finalizers, v1alpha1.FinalizerOLM)
	})
	w.awaitState("memcached-operator.v0.0.1 AtLatestKnown")
	w.quiet()
	w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")
	for _, one := range csv.Status.History {
		if one.Phase == v1alpha1.PhaseFailed {
			t.Errorf("the version failed: %+v", csv.Status.History)
		}
	}
	if now := w.pods(); !slices.Equal(now, pods) {
		t.Errorf("the pods are %v, they were %v", now, pods)
	}
	now := w.deployment("memcached-operator")
	if now.UID != before.UID || !equality.Semantic.DeepEqual(now.Spec, before.Spec) || now.Labels["operon.dev/owner"] != string(csv.UID) {
		t.Errorf("the Deployment is %s %v %+v; it was %s %+v", now.UID, now.Labels, now.Spec, before.UID, before.Spec)
	}
	w.granted(first)
	if roles := w.namesOf(&rbacv1.ClusterRoleList{}, first); len(roles) != 6 || slices.ContainsFunc(roles, func(name string) bool {
		return strings.HasPrefix(name, "memcacheds.") || strings.Contains(name, "2Lm8")
	}) {
		t.Errorf("the ClusterRoles are %q, want the one of the operator, the one of the bundle, and four for users", roles)
	}
	if bindings := w.namesOf(&rbacv1.ClusterRoleBindingList{}, first); len(bindings) != 1 || strings.Contains(bindings[0], "2Lm8") {
		t.Errorf("the ClusterRoleBindings are %q", bindings)
	}
	condition := &v2.OperatorCondition{ObjectMeta: w.Named(first)}
	w.Must(w.Get(t.Context(), client.ObjectKeyFromObject(condition), condition))
	if condition.Labels["operon.dev/owner"] != string(csv.UID) {
		t.Errorf("the OperatorCondition is %+v", condition.ObjectMeta)
	}
	w.sent.mustNotContain(t, "DELETE /apis/apps/")

	next := strings.ReplaceAll(strings.ReplaceAll(l.bundle, "0.0.1", "0.0.2"), "name: OLD", "name: NEW")
	bundles["0.0.2"] = w.bundle(r, "0.0.2", next)
	newer := w.catalog(r, "newer", bundles, "- {name: memcached-operator.v0.0.1}\n- {name: memcached-operator.v0.0.2, replaces: memcached-operator.v0.0.1}\n")
	w.Must(w.Patch(t.Context(), source, client.RawPatch("application/merge-patch+json", []byte(fmt.Sprintf(`{"spec":{"image":%q}}`, newer.Spec.Image)))))
	upgraded := w.AwaitPhase(second, v1alpha1.PhaseSucceeded, "")
	w.AwaitGone(csv)
	w.awaitState("memcached-operator.v0.0.2 AtLatestKnown")
	w.quiet()
	now = w.deployment("memcached-operator")
	if env := now.Spec.Template.Spec.Containers[0].Env; now.UID != before.UID || len(env) != 3 || slices.ContainsFunc(env, func(one corev1.EnvVar) bool { return one.Name == "OLD" }) {
		t.Errorf("the Deployment is %s, it was %s, its environment is %+v", now.UID, before.UID, env)
	}
	w.Must(w.Get(t.Context(), client.ObjectKeyFromObject(account), account))
	if account.UID != uid {
		t.Error("the ServiceAccount was created again, so the token of a pod is not valid any more")
	}

	sub := w.subscribe("shop")
	w.Must(w.Delete(t.Context(), sub))
	w.AwaitGone(sub)
	w.Must(w.Delete(t.Context(), upgraded))
	w.AwaitGone(upgraded)
	for _, object := range l.objects {
		switch object.GetKind() {
		case "OperatorGroup", "CatalogSource":
		default:
			w.AwaitGone(object)
		}
	}
	for _, version := range []string{first, second} {
		for _, list := range []client.ObjectList{&rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{}, &rbacv1.RoleList{}, &rbacv1.RoleBindingList{}} {
			localtest.Eventually(t, "nothing of "+version, func(context.Context) error {
				if names := w.namesOf(list, version); len(names) > 0 {
					return fmt.Errorf("%T: %q", list, names)
				}
				return nil
			})
		}
	}
}

// An operator with a webhook that works in all namespaces is taken over with its certificate: the webhook answers all the time. Copies of its
// version in other namespaces are not taken for operators, and are deleted.
func TestTakeoverOfAWebhook(t *testing.T) {
	t.Parallel()
	w := &world{T: t, Env: localtest.New(t, local.Options{Nodes: 1})}
	w.connect()
	h, r := newHooks(w), registrytest.New(t)
	for _, name := range []string{"other", "lost"} {
		w.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	c := w.issue()
	l := w.leave("all.yaml", "$OTHER", "other", "$LOST", "lost", "$PORT", strconv.Itoa(int(h.port)), "$HASH", c.hash, "$CRT", c.leaf, "$KEY", c.key, "$CA", c.ca)
	source := w.catalog(r, "shop", map[string]string{"0.0.1": w.bundle(r, "0.0.1", l.bundle)}, "- {name: memcached-operator.v0.0.1}\n")
	w.Add(w.definition())
	l.write(source.Spec.Image)
	pods, before := w.pods(), w.deployment("memcached-operator")
	localtest.Eventually(t, "the webhook answers", func(ctx context.Context) error {
		if err := w.Create(ctx, h.memcached("v1alpha1", "bad"), client.DryRunAll); err == nil || !strings.Contains(err.Error(), "it is bad") {
			return fmt.Errorf("the webhook: %w", err)
		}
		return nil
	})
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				ended <- nil
				return
			default:
			}
			err := w.Create(context.WithoutCancel(t.Context()), h.memcached("v1alpha1", "bad"), client.DryRunAll)
			if err == nil || !strings.Contains(err.Error(), "it is bad") {
				ended <- fmt.Errorf("a request during the takeover: %w", err)
				return
			}
		}
	}()

	w.run()
	csv := w.Await(first, "is taken over", func(csv *v1alpha1.ClusterServiceVersion) bool {
		return csv.Status.PermissionsDigest != "" && csv.Status.Phase == v1alpha1.PhaseSucceeded
	})
	for _, copied := range []string{"other/" + first, "lost/memcached-operator.v0.0.0"} {
		namespace, name, _ := strings.Cut(copied, "/")
		w.AwaitGone(&v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
	}
	w.quiet()
	close(stop)
	if err := localtest.Receive(t, "the end of the requests", ended); err != nil {
		t.Error(err)
	}
	if now := w.pods(); !slices.Equal(now, pods) {
		t.Errorf("the pods are %v, they were %v", now, pods)
	}
	if now := w.deployment("memcached-operator"); now.UID != before.UID || !equality.Semantic.DeepEqual(now.Spec, before.Spec) {
		t.Errorf("the Deployment is %+v, it was %+v", now.Spec, before.Spec)
	}
	if registered := h.registered(t.Context()); len(registered) != 2 || strings.HasSuffix(registered[0].GetName(), "-x8k2d") || registered[0].GetLabels()["operon.dev/owner"] != string(csv.UID) {
		t.Errorf("registered are %+v, want a webhook configuration and a binding of this manager", registered)
	}
	if secret := h.secret(); base64.StdEncoding.EncodeToString(secret.Data["olmCAKey"]) != c.ca {
		t.Error("the certificate was issued again")
	}
	if service := (&corev1.Service{ObjectMeta: w.Named(serviceName)}); w.Get(t.Context(), client.ObjectKeyFromObject(service), service) != nil || len(service.Spec.Ports) != 1 {
		t.Errorf("the Service is %+v", service)
	}
	w.Must(w.Delete(t.Context(), w.subscribe("shop")))
	w.Must(w.Delete(t.Context(), csv))
	for _, object := range l.objects {
		switch object.GetKind() {
		case "OperatorGroup", "CatalogSource":
		default:
			w.AwaitGone(object)
		}
	}
	for _, object := range h.registered(t.Context()) {
		t.Errorf("left is %T %s", object, object.GetName())
	}
}

// Operators are handed back to OLM: they run on, nothing of this manager is left on their objects, and what OLM needs stays. A run that ends in
// the middle loses nothing. This manager can take them over again.
func TestHandBack(t *testing.T) {
	t.Parallel()
	w, r := &world{T: t, Env: localtest.New(t, local.Options{Nodes: 1})}, registrytest.New(t)
	w.connect()
	l := w.leave("own.yaml")
	source := w.catalog(r, "shop", map[string]string{"0.0.1": w.bundle(r, "0.0.1", l.bundle)}, "- {name: memcached-operator.v0.0.1}\n")
	w.Add(w.definition())
	l.write(source.Spec.Image)
	pods := w.pods()
	stop := w.start(operon.Config{}, true)
	taken := func(csv *v1alpha1.ClusterServiceVersion) bool {
		return csv.Status.PermissionsDigest != "" && csv.Status.Phase == v1alpha1.PhaseSucceeded && csv.Labels["operon.dev/owner"] == ""
	}
	w.Await(first, "is taken over", taken)
	w.quiet()
	stop()

	config := rest.CopyConfig(w.Config)
	config.Wrap(failAfter(4))
	broken, err := kube.New(config, "operon-olm")
	w.Must(err)
	if _, err := handback.Run(t.Context(), broken); err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("the interrupted run: %v", err)
	}
	connection, err := kube.New(w.Config, "operon-olm")
	w.Must(err)
	w.Must(handback.Check(t.Context(), connection))
	if changed, err := handback.Run(t.Context(), connection); err != nil || changed < 10 {
		t.Errorf("handed %d objects back: %v", changed, err)
	}
	if changed, err := handback.Run(t.Context(), connection); err != nil || changed != 0 {
		t.Errorf("handed %d objects back again: %v", changed, err)
	}
	l.isHandedBack(connection)
	if now := w.pods(); !slices.Equal(now, pods) {
		t.Errorf("the pods are %v, they were %v", now, pods)
	}

	w.start(operon.Config{}, true)
	w.Await(first, "is taken over again", func(csv *v1alpha1.ClusterServiceVersion) bool {
		return taken(csv) && slices.Contains(csv.Finalizers, "operon.dev/cleanup")
	})
	w.quiet()
	if now := w.pods(); !slices.Equal(now, pods) {
		t.Errorf("the pods are %v, they were %v", now, pods)
	}
	w.granted(first)
}

// isHandedBack checks that no object of a namespace has marks of this manager, and that those which OLM made and which exist have its labels
// and owners.
func (l *left) isHandedBack(connection *kube.Client) {
	l.Helper()
	resources, _, err := connection.Deletable()
	l.Must(err)
	kinds := 0
	for _, resource := range resources {
		switch resource.Resource {
		case "events", "leases", "replicasets": // Kubernetes copies the annotations of a Deployment to ReplicaSets, and removes none
			continue
		}
		found, err := connection.List(l.Context(), resource.GroupVersionResource, metav1.NamespaceAll, "")
		l.Must(err)
		for _, one := range found {
			labels := one.GetLabels()
			if one.GetNamespace() != l.Namespace && labels["olm.owner.namespace"] != l.Namespace {
				continue
			}
			kinds++
			one.SetManagedFields(nil)
			delete(one.Object, "status")
			if raw, err := one.MarshalJSON(); err != nil || strings.Contains(string(raw), "operon.dev") || strings.Contains(string(raw), "applyset") {
				l.Errorf("a mark is left: %s %v", raw, err)
			}
			if slices.ContainsFunc([]string{"Deployment", "ConfigMap", "Role"}, func(kind string) bool { return kind == one.GetKind() }) && one.GetName() != "kube-root-ca.crt" {
				if owners := one.GetOwnerReferences(); len(owners) == 0 || owners[0].Kind != "ClusterServiceVersion" && owners[0].Kind != "OperatorCondition" {
					l.Errorf("%s %s has the owners %+v", one.GetKind(), one.GetName(), owners)
				}
			}
			if of := metav1.GetControllerOf(one); of != nil && of.Kind == "ClusterServiceVersion" {
				l.Errorf("%s %s is controlled by %+v", one.GetKind(), one.GetName(), of)
			}
			if one.GetKind() == "Deployment" && (labels["olm.managed"] != "true" || labels["olm.owner"] != first) {
				l.Errorf("the labels of the Deployment are %v", labels)
			}
		}
	}
	if kinds < 15 {
		l.Errorf("there are %d objects", kinds)
	}
}

// failAfter fails all writes after some.
func failAfter(writes int) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if request.Method == http.MethodGet {
				return next.RoundTrip(request)
			}
			if writes--; writes < 0 {
				return nil, errors.New("interrupted")
			}
			return next.RoundTrip(request)
		})
	}
}

// issued is a certificate in base64, as OLM issues it.
type issued struct{ ca, leaf, key, hash string }

// issue issues the certificate of the Service of the operator.
func (w *world) issue() issued {
	w.Helper()
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "olm-selfsigned-1", Organization: []string{"Red Hat, Inc."}}, NotBefore: time.Now().Add(-time.Minute),
		NotAfter: time.Now().Add(2 * 365 * 24 * time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	signs, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	w.Must(err)
	ca, err := x509.CreateCertificate(rand.Reader, authority, authority, signs.Public(), signs)
	w.Must(err)
	host := serviceName + "." + w.Namespace
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	w.Must(err)
	leaf, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: host, Organization: []string{"Red Hat, Inc."}}, NotBefore: authority.NotBefore, NotAfter: authority.NotAfter,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}, KeyUsage: x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true, DNSNames: []string{host, host + ".svc", host + ".svc.cluster.local"},
	}, authority, key.Public(), signs)
	w.Must(err)
	raw, err := x509.MarshalECPrivateKey(key)
	w.Must(err)
	text := func(kind string, raw []byte) string {
		return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}))
	}
	sum := sha256.Sum256(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca}))
	return issued{text("CERTIFICATE", ca), text("CERTIFICATE", leaf), text("EC PRIVATE KEY", raw), hex.EncodeToString(sum[:])}
}
