package controlplane

import (
	"encoding/json"
	"path/filepath"

	"github.com/operon-framework/operon/cluster/internal/pki"
)

// writeEgress writes the configuration file that makes the API server connect to kubelets, webhooks and Services over a unix
// socket, and returns its path.
func writeEgress(cfg *Config) (string, error) {
	transport := map[string]any{"uds": map[string]any{"udsName": cfg.Egress}}
	data, err := json.Marshal(map[string]any{
		"apiVersion": "apiserver.k8s.io/v1beta1",
		"kind":       "EgressSelectorConfiguration",
		"egressSelections": []any{map[string]any{
			"name":       "cluster",
			"connection": map[string]any{"proxyProtocol": "HTTPConnect", "transport": transport},
		}},
	})
	if err != nil {
		return "", err
	}
	path := filepath.Join(cfg.Dir, "egress.json")
	return path, pki.WriteFile(path, data)
}
