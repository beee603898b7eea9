package main

import (
	"strings"
	"testing"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/operon-framework/operon/cluster/internal/instance"
)

// In a plain cluster, the API server itself writes its bootstrap policy, in a hook that is a readiness check.
func TestPlain(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for name, plain := range map[string]bool{"plain": true, "fast": false} {
		arguments := []string{"--cluster", name}
		if plain {
			arguments = append(arguments, "--plain")
		}
		facts := h.up(arguments...)
		if facts.Plain != plain {
			t.Errorf("cluster %s: plain is %t", name, facts.Plain)
		}
		if bootstraps := strings.Contains(checks(t, facts), "poststarthook/rbac/bootstrap-roles"); bootstraps != plain {
			t.Errorf("cluster %s: the API server bootstraps by itself: %t", name, bootstraps)
		}
		h.must("reset", "--cluster", name)
	}
}

// checks returns the readiness checks of the API server.
func checks(t *testing.T, facts instance.Facts) string {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", facts.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.RESTClient().Get().AbsPath("/readyz").Param("verbose", "true").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}
