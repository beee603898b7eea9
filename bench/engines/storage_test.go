package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"testing"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/kube"
	release "helm.sh/helm/v4/pkg/release/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/engine"
	"github.com/operon-framework/operon/engine/helm"
	"github.com/operon-framework/operon/internal/testing/enginetest"
)

// Helm reads the releases that the engine stores, and upgrades them when the operator is stopped. The operator continues after it. The
// test is in this module because Helm's actions have dependencies that the engine does without.
func TestHelmReadsStoredReleases(t *testing.T) {
	t.Parallel()
	kind := schema.GroupVersionKind{Group: "shop.example.com", Version: "v1", Kind: "Till"}
	s := enginetest.New(t, "../../engine/helm/testdata/till", kind, func() []engine.Engine { return []engine.Engine{helm.Engine{}} })
	s.Write("watches.yaml", "- {group: shop.example.com, version: v1, kind: Till, chart: helm-charts/till, storage: secret}\n")
	s.Add("one", map[string]any{"color": "blue"})
	_, stop := s.Start()
	s.AwaitReady("one")
	s.AwaitCondition("one", "Deployed", "True", "InstallSuccessful")
	client := newHelmClient(t, s)
	client.eventuallyHas("one", map[int]string{1: "deployed"})
	list := action.NewList(client.config)
	found, err := list.Run()
	s.Must(err)
	if len(found) != 1 {
		t.Fatalf("helm list shows %d releases, want 1", len(found))
	}
	values, err := action.NewGetValues(client.config).Run("one")
	s.Must(err)
	if values["color"] != "blue" {
		t.Errorf("helm get values returns %v", values)
	}

	stop()
	chart, err := loader.Load(filepath.Join(s.Project, "helm-charts/till"))
	s.Must(err)
	upgrade := action.NewUpgrade(client.config)
	upgrade.Namespace, upgrade.WaitStrategy = s.Namespace, kube.HookOnlyStrategy
	_, err = upgrade.RunWithContext(t.Context(), "one", chart, map[string]any{"color": "yellow"})
	s.Must(err)
	client.eventuallyHas("one", map[int]string{1: "superseded", 2: "deployed"})
	s.EventuallyData("one", "color", "yellow")

	seen, _ := s.Start()
	s.EventuallyData("one", "color", "blue")
	s.EventuallyData("one", "revision", "3")
	client.eventuallyHas("one", map[int]string{1: "superseded", 2: "superseded", 3: "deployed"})
	s.AwaitReady("one")
	s.Quiet(seen)

	// The way back, as the documentation describes it.
	one := s.New("one", nil)
	s.Must(s.Delete(t.Context(), one, ctrlclient.PropagationPolicy(metav1.DeletePropagationOrphan)))
	s.EventuallyGone(one)
	upgrade = action.NewUpgrade(client.config)
	upgrade.Namespace, upgrade.WaitStrategy, upgrade.ReuseValues = s.Namespace, kube.HookOnlyStrategy, true
	_, err = upgrade.RunWithContext(t.Context(), "one", chart, map[string]any{"replicas": 2})
	s.Must(err)
	client.eventuallyHas("one", map[int]string{1: "superseded", 2: "superseded", 3: "superseded", 4: "deployed"})
	if data := s.Data("one"); data["color"] != "blue" {
		t.Errorf("after the way back, the data is %v", data)
	}
	uninstall := action.NewUninstall(client.config)
	uninstall.WaitStrategy = kube.HookOnlyStrategy
	_, err = uninstall.Run("one")
	s.Must(err)
	s.EventuallyGone(&corev1.ConfigMap{ObjectMeta: s.Named("one")})
}

// helmClient is Helm in the namespace of a test.
type helmClient struct {
	*enginetest.Operator
	config *action.Configuration
}

func newHelmClient(t *testing.T, s *enginetest.Operator) *helmClient {
	t.Helper()
	getter, cache := genericclioptions.NewConfigFlags(true), t.TempDir()
	getter.KubeConfig, getter.Namespace, getter.CacheDir = &s.Kubeconfig, &s.Namespace, &cache
	getter.WrapConfigFn = func(config *rest.Config) *rest.Config { return peerConfig(config) }
	c := &helmClient{s, action.NewConfiguration()}
	s.Must(c.config.Init(getter, s.Namespace, "secret"))
	return c
}

// eventuallyHas waits until the revisions of a release have these statuses.
func (c *helmClient) eventuallyHas(name string, want map[int]string) {
	c.Helper()
	c.Eventually(fmt.Sprintf("helm history to show %v", want), func(ctx context.Context) error {
		history, err := action.NewHistory(c.config).Run(name)
		if err != nil {
			return err
		}
		got := map[int]string{}
		for _, one := range history {
			if r, ok := one.(*release.Release); ok {
				got[r.Version] = r.Info.Status.String()
			}
		}
		if !maps.Equal(got, want) {
			return fmt.Errorf("it shows %v", got)
		}
		return nil
	})
}
