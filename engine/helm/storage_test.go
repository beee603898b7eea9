package helm_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	release "helm.sh/helm/v4/pkg/release/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/engine"
	"github.com/operon-framework/operon/engine/helm"
)

// newStoringShop returns a shop whose releases are stored. watch is added to watches.yaml.
func newStoringShop(t *testing.T, watch string) *shop {
	t.Helper()
	s := newShop(t)
	s.Write("watches.yaml", `
- group: shop.example.com
  version: v1
  kind: Till
  chart: helm-charts/till
  storage: secret
`+watch)
	return s
}

// Each revision is stored as Helm does, with as many earlier ones as maxHistory allows.
func TestReleasesAreStored(t *testing.T) {
	t.Parallel()
	s := newStoringShop(t, "  maxHistory: 2\n")
	s.Add("one", map[string]any{"color": "blue"})
	seen, stop := s.Start()
	s.AwaitReady("one")
	s.eventuallyStored("one", map[int]string{1: "deployed"})
	first := s.stored("one", 1)
	if first.Name != "one" || first.Namespace != s.Namespace || first.Chart.Name() != "till" || !reflect.DeepEqual(first.Config["color"], "blue") {
		t.Errorf("the release is %s in %s of chart %s with values %v", first.Name, first.Namespace, first.Chart.Name(), first.Config)
	}
	if !strings.Contains(first.Manifest, "password: ") || !strings.Contains(first.Manifest, "# Source: till/templates/config.yaml") {
		t.Errorf("the manifest is not complete:\n%s", first.Manifest)
	}
	if first.Info.Description != "Install complete" || first.Info.LastDeployed.IsZero() || first.Info.Notes == "" {
		t.Errorf("the release has the info %+v", first.Info)
	}
	s.Quiet(seen)

	s.SetSpec("one", `{"color":"green"}`)
	s.eventuallyStored("one", map[int]string{1: "superseded", 2: "deployed"})
	s.SetSpec("one", `{"color":"white"}`)
	s.eventuallyStored("one", map[int]string{2: "superseded", 3: "deployed"})
	if third := s.stored("one", 3); !third.Info.FirstDeployed.Equal(first.Info.FirstDeployed) {
		t.Errorf("the release was first deployed %s, want %s", third.Info.FirstDeployed, first.Info.FirstDeployed)
	}
	s.Quiet(seen)
	stop()
	seen, _ = s.Start()
	s.Must(s.Delete(t.Context(), &corev1.Secret{ObjectMeta: s.Named("sh.helm.release.v1.one.v3")}))
	s.eventuallyStored("one", map[int]string{2: "superseded", 3: "deployed"})
	s.Quiet(seen)
	s.Must(s.Delete(t.Context(), s.New("one", nil)))
	s.eventuallyStored("one", map[int]string{})
}

// A release whose objects cannot be applied is stored as failed, beside the one that is deployed.
func TestFailedReleasesAreStored(t *testing.T) {
	t.Parallel()
	s := newStoringShop(t, "")
	s.Add("one", nil)
	seen, _ := s.Start()
	s.eventuallyStored("one", map[int]string{1: "deployed"})
	s.SetSpec("one", `{"replicas":-1}`)
	s.eventuallyStored("one", map[int]string{1: "deployed", 2: "failed"})
	s.SetSpec("one", `{"replicas":2}`)
	s.eventuallyStored("one", map[int]string{1: "superseded", 2: "deployed"})
	s.SetSpec("one", `{"replicas":-1}`)
	s.eventuallyStored("one", map[int]string{1: "superseded", 2: "deployed", 3: "failed"})
	s.SetSpec("one", `{"replicas":2}`)
	s.eventuallyStored("one", map[int]string{1: "superseded", 2: "deployed"})
	s.Quiet(seen)
}

// The revision that is deployed is kept beside those that fail, whatever maxHistory is.
func TestDeployedReleaseIsKept(t *testing.T) {
	t.Parallel()
	s := newStoringShop(t, "  maxHistory: 1\n")
	s.Add("one", nil)
	seen, _ := s.Start()
	s.eventuallyStored("one", map[int]string{1: "deployed"})
	s.SetSpec("one", `{"replicas":-1}`)
	s.eventuallyStored("one", map[int]string{1: "deployed", 2: "failed"})
	s.Quiet(seen)
	s.SetSpec("one", `{"replicas":2}`)
	s.eventuallyStored("one", map[int]string{2: "deployed"})
	s.Quiet(seen)
}

// Changes that follow each other at once leave one deployed revision, and revisions without gaps.
func TestReleasesOfQuickChanges(t *testing.T) {
	t.Parallel()
	s := newStoringShop(t, "  maxHistory: 0\n")
	s.Add("one", nil)
	seen, _ := s.Start()
	for i := range 12 {
		s.SetSpec("one", fmt.Sprintf(`{"color":"color-%d"}`, i))
	}
	s.EventuallyData("one", "color", "color-11")
	s.Quiet(seen)
	last, err := strconv.Atoi(s.Data("one")["revision"])
	s.Must(err)
	want := map[int]string{last: "deployed"}
	for i := 1; i < last; i++ {
		want[i] = "superseded"
	}
	s.eventuallyStored("one", want)
}

// An object takes over no release of another chart that has its name by chance.
func TestReleaseOfAnotherChart(t *testing.T) {
	t.Parallel()
	s := newStoringShop(t, "")
	foreign := s.foreignRelease("one", "other", 4)
	s.Must(s.Create(t.Context(), foreign))
	s.Add("one", nil)
	seen, _ := s.Start()
	ready := s.AwaitCondition("one", "Ready", metav1.ConditionFalse, helm.ReasonReleaseInUse)
	if want := "has a release one of the chart other"; !strings.Contains(ready.Message, want) {
		t.Errorf("the message is %q, want %q", ready.Message, want)
	}
	s.Quiet(seen)
	if writes := strings.Join(seen.Writes(), "\n"); strings.Contains(writes, "/secrets/") || strings.Contains(writes, "configmaps/one") {
		t.Errorf("the operator wrote %s", writes)
	}
	s.Must(s.Delete(t.Context(), foreign))
	s.AwaitReady("one") // the revision is 5 if a cache still has the other release
}

// A release of Helm is taken over although one of its objects is refused at first: the revision continues, and no stored revision is lost.
func TestTakeOverWithStorage(t *testing.T) {
	t.Parallel()
	s := newStoringShop(t, "")
	for _, revision := range []int{3, 4} {
		s.Must(s.Create(t.Context(), s.foreignRelease("one", "till", revision)))
	}
	config := &corev1.ConfigMap{ObjectMeta: s.Named("one"), Data: map[string]string{"color": "red"}}
	till := s.Add("one", map[string]any{"replicas": -1})
	config.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(till, tillKind)}
	s.Must(s.Create(t.Context(), config))
	till.Object["status"] = map[string]any{"deployedRelease": map[string]any{"name": "one", "manifest": classicManifest}}
	s.Must(s.Status().Update(t.Context(), till))
	seen, _ := s.Start()
	s.AwaitCondition("one", "Ready", metav1.ConditionFalse, "")
	s.Quiet(seen)
	s.SetSpec("one", `{"replicas":1}`)
	s.AwaitReady("one")
	s.Quiet(seen)
	last, err := strconv.Atoi(s.Data("one")["revision"])
	s.Must(err)
	if last < 4 {
		t.Errorf("the revision is %d, want 4 or more", last)
	}
	want := map[int]string{3: "superseded", 4: "superseded", last: "deployed"}
	s.eventuallyStored("one", want)
}

// foreignRelease returns the Secret of a release that Helm stored.
func (s *shop) foreignRelease(name, chart string, revision int) *corev1.Secret {
	s.Helper()
	content, err := json.Marshal(map[string]any{
		"name": name, "namespace": s.Namespace, "version": revision, "info": map[string]any{"status": "deployed"},
		"chart": map[string]any{"metadata": map[string]any{"name": chart, "version": "1.0.0", "apiVersion": "v2"}},
	})
	s.Must(err)
	secret := &corev1.Secret{ObjectMeta: s.Named(fmt.Sprintf("sh.helm.release.v1.%s.v%d", name, revision)), Type: "helm.sh/release.v1"}
	secret.Labels = map[string]string{"owner": "helm", "name": name, "status": "deployed", "version": strconv.Itoa(revision)}
	secret.Data = s.packed(string(content))
	return secret
}

// packed returns the data of a release Secret with this text.
func (s *shop) packed(text string) map[string][]byte { return inRelease(s.compressed(text)) }

// compressed returns a member of a gzip file.
func (s *shop) compressed(text string) []byte {
	s.Helper()
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, err := writer.Write([]byte(text))
	s.Must(err)
	s.Must(writer.Close())
	return packed.Bytes()
}

// inRelease returns the data of a release Secret with the members of a gzip file.
func inRelease(members ...[]byte) map[string][]byte {
	return map[string][]byte{"release": []byte(base64.StdEncoding.EncodeToString(slices.Concat(members...)))}
}

// A release Secret that takes a lot of memory unpacked is reported, and holds up only the object with its name.
func TestReleaseThatUnpacksTooMuch(t *testing.T) {
	t.Parallel()
	s := newStoringShop(t, "")
	bomb := s.foreignRelease("one", "till", 1)
	megabyte := s.compressed(strings.Repeat(" ", 1<<20)) // to compress all of them takes long with the race detector
	bomb.Data = inRelease(slices.Concat([][]byte{s.compressed(`{"info":{},"chart":{"metadata":{"name":"till"}},"hooks":[`)}, slices.Repeat([][]byte{megabyte}, 16), [][]byte{s.compressed(`]}`)})...)
	s.Must(s.Create(t.Context(), bomb))
	s.Add("one", nil)
	s.Add("two", nil)
	s.Start()
	ready := s.AwaitCondition("one", "Ready", metav1.ConditionFalse, helm.ReasonReleaseTooLarge)
	if want := "the release Secret sh.helm.release.v1.one.v1 cannot be checked: the release takes more than 16 MiB unpacked"; !strings.Contains(ready.Message, want) {
		t.Errorf("the message is %q, want %q", ready.Message, want)
	}
	s.AwaitReady("two")
	s.Must(s.Delete(t.Context(), bomb))
	s.AwaitReady("one")
}

// A release that does not fit into a Secret is reported, and nothing of it is created.
func TestReleaseThatIsTooLarge(t *testing.T) {
	t.Parallel()
	s := newStoringShop(t, "")
	noise := make([]byte, 1<<20)
	_, err := rand.Read(noise)
	s.Must(err)
	s.Write("helm-charts/till/noise.bin", string(noise))
	s.Add("one", nil)
	s.Start()
	ready := s.AwaitCondition("one", "Ready", metav1.ConditionFalse, helm.ReasonReleaseTooLarge)
	if !strings.Contains(ready.Message, "exclude files from the chart with .helmignore") {
		t.Errorf("the message is %s", ready.Message)
	}
	s.EventuallyGone(&corev1.ConfigMap{ObjectMeta: s.Named("one")})
}

func TestBadStorage(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for fields, want := range map[string]string{
		"storage: configmap":              `watches.yaml:6: storage: "configmap" is neither secret nor none`,
		"storage: secret, maxHistory: -1": "watches.yaml:7: maxHistory: -1 is negative: set a number of revisions, or 0 to keep all",
		"storage: secret, maxHistory: x":  "watches.yaml:7: maxHistory",
	} {
		s.Write("watches.yaml", "- group: shop.example.com\n  version: v1\n  kind: Till\n  chart: helm-charts/till\n\n  "+strings.ReplaceAll(fields, ", ", "\n  ")+"\n")
		watches, err := engine.Read(filepath.Join(s.Project, "watches.yaml"), helm.Engine{})
		s.Must(err)
		_, err = engine.Options(watches)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %s", fields, err, want)
		}
	}
}

// eventuallyStored waits until the revisions of a release that are stored have these statuses, in the label and in the release.
func (s *shop) eventuallyStored(name string, want map[int]string) {
	s.Helper()
	s.Eventually(fmt.Sprintf("the stored revisions %v", want), func(ctx context.Context) error {
		var list corev1.SecretList
		if err := s.List(ctx, &list, client.InNamespace(s.Namespace), client.MatchingLabels{"owner": "helm", "name": name}); err != nil {
			return err
		}
		got := map[int]string{}
		for _, secret := range list.Items {
			r, err := decode(&secret)
			if err != nil {
				return err
			}
			if label := secret.Labels["status"]; label != r.Info.Status.String() {
				return fmt.Errorf("revision %d has the label %s and the status %s", r.Version, label, r.Info.Status)
			}
			got[r.Version] = r.Info.Status.String()
		}
		if !maps.Equal(got, want) {
			return fmt.Errorf("there are %v", got)
		}
		return nil
	})
}

// stored returns a stored revision.
func (s *shop) stored(name string, revision int) *release.Release {
	s.Helper()
	secret := &corev1.Secret{}
	s.Must(s.Get(s.Context(), client.ObjectKey{Namespace: s.Namespace, Name: fmt.Sprintf("sh.helm.release.v1.%s.v%d", name, revision)}, secret))
	r, err := decode(secret)
	s.Must(err)
	return r
}

// decode reads the release in a Secret.
func decode(secret *corev1.Secret) (*release.Release, error) {
	packed, err := base64.StdEncoding.DecodeString(string(secret.Data["release"]))
	if err != nil {
		return nil, err
	}
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	r := &release.Release{}
	return r, json.NewDecoder(reader).Decode(r)
}
