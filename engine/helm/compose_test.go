package helm_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/engine/helm"
	"github.com/operon-framework/operon/local/localtest"
)

// A converged release costs nothing: no requests while nothing changes, and no writes after a restart of the operator,
// although the chart calls a random function.
func TestFixedPoint(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.Add("one", map[string]any{"replicas": int64(2)})
	seen, stop := s.Start()
	s.AwaitReady("one")
	deployed := s.AwaitCondition("one", "Deployed", metav1.ConditionTrue, "InstallSuccessful")
	if deployed.Message != "The till one is red." {
		t.Errorf("Deployed has the message %q, want the notes of the chart", deployed.Message)
	}
	s.Quiet(seen)
	password := s.password("one")
	stop()

	again, _ := s.Start()
	s.AwaitReady("one")
	s.Quiet(again)
	if writes := again.Writes(); len(writes) > 0 {
		t.Errorf("the operator started again and wrote %q", writes)
	}
	s.SetSpec("one", `{"color":"blue"}`)
	s.EventuallyData("one", "color", "blue")
	s.AwaitReady("one")
	if got := s.password("one"); got != password {
		t.Errorf("the password changed from %q to %q", password, got)
	}
	if got := s.Data("one")["revision"]; got != "2" {
		t.Errorf("the chart was rendered with revision %s after one change, want 2", got)
	}
	s.AwaitCondition("one", "Deployed", metav1.ConditionTrue, "UpgradeSuccessful")
	s.Quiet(again)
	if release := s.StatusOf("one").DeployedRelease; release.Revision != 2 || strings.Contains(release.Manifest, password) {
		t.Errorf("the status has the release %+v, want revision 2 and no password", release)
	}
}

func (s *shop) password(name string) string {
	s.Helper()
	var secret corev1.Secret
	s.Must(s.Get(s.Context(), client.ObjectKey{Namespace: s.Namespace, Name: name + "-password"}, &secret))
	if len(secret.Data["password"]) != 16 {
		s.Fatalf("the Secret has %q, want a password of 16 characters", secret.Data)
	}
	return string(secret.Data["password"])
}

// Drift is reverted, and objects that the chart no longer renders are deleted.
func TestDriftAndPruning(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.Add("one", map[string]any{"extra": true})
	seen, _ := s.Start()
	s.AwaitReady("one")

	live := &appsv1.Deployment{ObjectMeta: s.Named("one")}
	s.Must(s.Patch(t.Context(), live, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":5,"paused":true}}`))))
	localtest.Eventually(t, "one replica again", func(ctx context.Context) error {
		err := s.Get(ctx, client.ObjectKeyFromObject(live), live)
		if err == nil && *live.Spec.Replicas != 1 {
			err = fmt.Errorf("%d replicas", *live.Spec.Replicas)
		}
		return err
	})
	if !live.Spec.Paused {
		t.Error("a field that the chart does not render was reverted")
	}
	if got := live.Spec.Template.Spec.Containers[0].Image; got != "till:" {
		t.Errorf("the image is %s, want the tag that overrideValues takes from the environment, which is empty", got)
	}
	labels, annotations := live.Labels, live.Annotations
	if labels["helm.sdk.operatorframework.io/chart"] != "till" || labels["app.kubernetes.io/managed-by"] != "Helm" || annotations["meta.helm.sh/release-name"] != "one" {
		t.Errorf("the Deployment has labels %v and annotations %v, want those of Helm", labels, annotations)
	}

	s.SetSpec("one", `{"extra":false}`)
	s.EventuallyGone(&corev1.ConfigMap{ObjectMeta: s.Named("one-extra")})
	s.Must(s.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: s.Named("one")}))
	s.EventuallyData("one", "color", "red")
	s.Must(s.Patch(t.Context(), live, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"paused":false}}`))))
	s.AwaitReady("one")
	s.Quiet(seen)
	s.Must(s.Delete(t.Context(), s.New("one", nil)))
	s.EventuallyGone(live)
}

// Objects that a chart looks up are watched.
func TestLookupIsTracked(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.Add("one", nil)
	seen, _ := s.Start()
	s.AwaitReady("one")
	prices := &corev1.ConfigMap{ObjectMeta: s.Named("prices"), Data: map[string]string{"price": "5"}}
	s.Must(s.Create(t.Context(), prices))
	s.EventuallyData("one", "price", "5")
	prices.Data["price"] = "6"
	s.Must(s.Update(t.Context(), prices))
	s.EventuallyData("one", "price", "6")
	s.AwaitReady("one")
	s.Quiet(seen)
}

// Values come from Secrets and ConfigMaps, then the spec, then overrideValues.
func TestValuesFrom(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.Write("watches.yaml", `
- group: shop.example.com
  version: v1
  kind: Till
  chart: helm-charts/till
  valuesFrom:
  - {kind: ConfigMap, name: colors, optional: true}
  - {kind: Secret, name: $(name)-values}
  overrideValues: {image.repository: '{{ "" | default "elsewhere" }}'}
`)
	s.Add("one", map[string]any{"replicas": int64(0)})
	s.Start()
	waiting := s.AwaitCondition("one", "Ready", metav1.ConditionFalse, "ValuesMissing")
	if want := "the chart needs the key values.yaml of Secret one-values"; waiting.Message != want {
		t.Errorf("Ready has the message %q, want %q", waiting.Message, want)
	}
	s.Must(s.Create(t.Context(), &corev1.Secret{ObjectMeta: s.Named("one-values"), StringData: map[string]string{"values.yaml": "color: gold\nreplicas: 3\n"}}))
	s.EventuallyData("one", "color", "gold")
	s.Must(s.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: s.Named("colors"), Data: map[string]string{"values.yaml": "color: green\nextra: true\n"}}))
	s.EventuallyData("one-extra", "", "")
	if got := s.Data("one")["color"]; got != "gold" {
		t.Errorf("the color is %s, want that of the later source", got)
	}
	var live appsv1.Deployment
	s.Must(s.Get(t.Context(), client.ObjectKey{Namespace: s.Namespace, Name: "one"}, &live))
	if *live.Spec.Replicas != 0 || live.Spec.Template.Spec.Containers[0].Image != "elsewhere:1" {
		t.Errorf("%d replicas of %s, want none of elsewhere:1", *live.Spec.Replicas, live.Spec.Template.Spec.Containers[0].Image)
	}
}

// A problem with a chart or with values is reported once, with its position, and does not affect other objects.
func TestErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, template, text string
		spec                 map[string]any
		reason, want         string
	}{
		{"function", "bad.yaml", "a: b\n{{ fail .Values.color }}\n", nil, "ChartError", "chart till: execution error at (till/templates/bad.yaml:2:3): red"},
		{"yaml", "bad.yaml", "kind: ConfigMap\n a: b\n", nil, "ChartError", "chart till: YAML parse error on till/templates/bad.yaml"},
		{"kind", "bad.yaml", "a: b\n", nil, "ChartError", "chart till: till/templates/bad.yaml: not a Kubernetes object"},
		{"twice", "bad.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Release.Name }}'}\n", nil, "DuplicateChild", "two children are declared as ConfigMap one"},
		{"served", "bad.yaml", "apiVersion: none.example.com/v1\nkind: None\nmetadata: {name: none}\n", nil, "KindMissing", "None"},
		{"lookup", "bad.yaml", "{{ lookup `v1` `Secret` `` `` }}", nil, "UnboundedLookup", "the chart looks up every Secret of the cluster"},
		{"schema", "../values.schema.json", `{"properties": {"color": {"enum": ["red"]}}}`, map[string]any{"color": "blue"}, "InvalidValues", "/color"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			s.Write(template(test.template), test.text)
			s.Add("one", test.spec)
			s.Start()
			ready := s.AwaitCondition("one", "Ready", metav1.ConditionFalse, test.reason)
			if !strings.Contains(ready.Message, test.want) {
				t.Errorf("Ready has the message %q, want it to contain %q", ready.Message, test.want)
			}
			if test.reason == "KindMissing" {
				s.EventuallyData("one", "color", "red")
				return
			}
			failed := s.AwaitCondition("one", "ReleaseFailed", metav1.ConditionTrue, "InstallError")
			if failed.Message != ready.Message {
				t.Errorf("ReleaseFailed has the message %q, want that of Ready", failed.Message)
			}
			s.Eventually("one Warning event", func(ctx context.Context) error {
				var events corev1.EventList
				if err := s.List(ctx, &events, client.InNamespace(s.Namespace)); err != nil {
					return err
				}
				if len(events.Items) == 0 {
					return errors.New("there is no event")
				}
				return nil
			})
		})
	}
}

// The status does not show Secrets, also if they are in a list.
func TestSecretsInAList(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.Write(template("list.yaml"), `apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Secret, metadata: {name: "{{ .Release.Name }}-listed"}, stringData: {key: sesame}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .Release.Name }}-listed"}}
`)
	s.Add("one", nil)
	s.Start()
	s.AwaitReady("one")
	secret := &corev1.Secret{ObjectMeta: s.Named("one-listed")}
	s.Must(s.Get(t.Context(), client.ObjectKeyFromObject(secret), secret))
	if manifest := s.StatusOf("one").DeployedRelease.Manifest; strings.Contains(manifest, "sesame") || !strings.Contains(manifest, "list.yaml") {
		t.Errorf("the status has the manifest\n%s", manifest)
	}
}

// A chart for another version of Kubernetes is not installed, and its custom resources can be deleted.
func TestVersionOfKubernetes(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.Write("helm-charts/till/Chart.yaml", "apiVersion: v2\nname: till\nversion: 0.1.0\nkubeVersion: '>=99.0.0-0'\n")
	s.Add("one", nil)
	s.Start()
	stalled := s.AwaitCondition("one", "Stalled", metav1.ConditionTrue, helm.ReasonChartError)
	if want := "chart till: its kubeVersion is >=99.0.0-0, and the version of the cluster is v1."; !strings.HasPrefix(stalled.Message, want) {
		t.Errorf("the message is %q, want it to begin with %q", stalled.Message, want)
	}
	s.Must(s.Delete(t.Context(), s.New("one", nil)))
	s.EventuallyGone(s.New("one", nil))
}
