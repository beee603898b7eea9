package helm_test

import (
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// classicManifest is the rendered chart of the release "one" under Operator SDK's Helm operator, without its Secret.
const classicManifest = `---
# Source: till/templates/config.yaml
apiVersion: v1
kind: ConfigMap
metadata:
  name: one
data:
  color: red
  revision: "3"
`

// This operator takes over a release of Operator SDK's Helm operator: no object is recreated, no pod restarts, and the old
// finalizer does not prevent the deletion.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	// The stock charts look a password up before they generate one.
	s.Write(template("secret.yaml"), `apiVersion: v1
kind: Secret
metadata:
  name: {{ .Release.Name }}-password
data:
  {{- with lookup "v1" "Secret" .Release.Namespace (print .Release.Name "-password") }}
  password: {{ .data.password }}
  {{- else }}
  password: {{ randAlphaNum 16 | b64enc }}
  {{- end }}
`)
	till := s.New("one", nil)
	till.SetFinalizers([]string{"helm.sdk.operatorframework.io/uninstall-release"})
	s.Must(s.Create(t.Context(), till))
	owned := s.classicObjects(till)
	till.Object["status"] = map[string]any{
		"conditions":      []any{map[string]any{"type": "Deployed", "status": "True", "reason": "UpgradeSuccessful", "lastTransitionTime": "2025-01-01T00:00:00Z"}},
		"deployedRelease": map[string]any{"name": "one", "manifest": classicManifest},
	}
	s.Must(s.Status().Update(t.Context(), till))
	before := s.uids(owned)
	spec := s.deployment("one").Spec

	seen, _ := s.Start()
	s.AwaitReady("one")
	s.Quiet(seen)
	after := s.uids(owned)
	for name, uid := range before {
		if after[name] != uid {
			t.Errorf("%s was created again", name)
		}
	}
	if now := s.deployment("one").Spec; !reflect.DeepEqual(spec, now) {
		t.Errorf("the spec of the Deployment changed from %+v to %+v", spec, now)
	}
	if got := s.Data("one")["revision"]; got != "3" {
		t.Errorf("the revision is %s, want that of the stored release, 3", got)
	}
	s.Must(s.Get(t.Context(), client.ObjectKeyFromObject(till), till))
	if len(till.GetFinalizers()) > 0 {
		t.Errorf("the finalizers are %v, want none", till.GetFinalizers())
	}
	s.Must(s.Delete(t.Context(), till))
	s.EventuallyGone(till)
	s.EventuallyGone(&appsv1.Deployment{ObjectMeta: s.Named("one")})
}

// classicObjects creates the objects of a release as Operator SDK's Helm operator leaves them, and its release Secret.
func (s *shop) classicObjects(till *unstructured.Unstructured) []client.Object {
	s.Helper()
	owner := metav1.NewControllerRef(till, tillKind)
	classic := func(name string) metav1.ObjectMeta {
		meta := s.Named(name)
		meta.OwnerReferences = []metav1.OwnerReference{*owner}
		meta.Labels = map[string]string{"app.kubernetes.io/managed-by": "Helm", "helm.sdk.operatorframework.io/chart": "till"}
		meta.Annotations = map[string]string{"meta.helm.sh/release-name": "one", "meta.helm.sh/release-namespace": s.Namespace}
		return meta
	}
	config := &corev1.ConfigMap{ObjectMeta: classic("one"), Data: map[string]string{"color": "red", "revision": "3"}}
	config.OwnerReferences = nil // like an object that is kept: only the manifest shows that it belongs to the release
	stored := &corev1.Secret{ObjectMeta: classic("sh.helm.release.v1.one.v3"), Type: "helm.sh/release.v1"}
	stored.Labels = map[string]string{"owner": "helm", "name": "one", "status": "deployed", "version": "3"}
	password := &corev1.Secret{ObjectMeta: classic("one-password"), StringData: map[string]string{"password": "0123456789abcdef"}}
	replicas := int32(1)
	labels := map[string]string{"app": "one"}
	deployment := &appsv1.Deployment{ObjectMeta: classic("one"), Spec: appsv1.DeploymentSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{"checksum/password": "8f0d9b9adc0b526e2c55fd37dc8b3f687f2d1f481b277f952fa331310158b769"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "till", Image: "till:"}}},
		},
	}}
	objects := []client.Object{config, stored, password, deployment}
	for _, object := range objects {
		s.Must(s.Create(s.Context(), object, client.FieldOwner("helm-operator")))
	}
	return objects
}

// uids returns the UIDs of objects, by their names.
func (s *shop) uids(objects []client.Object) map[string]string {
	s.Helper()
	uids := map[string]string{}
	for _, object := range objects {
		s.Must(s.Get(s.Context(), client.ObjectKeyFromObject(object), object))
		uids[object.GetName()] += string(object.GetUID())
	}
	return uids
}

func (s *shop) deployment(name string) *appsv1.Deployment {
	s.Helper()
	var found appsv1.Deployment
	s.Must(s.Get(s.Context(), client.ObjectKey{Namespace: s.Namespace, Name: name}, &found))
	return &found
}
