package instance

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/cluster/controlplane"
)

// Spec says what cluster to run. It is also the form of the file that `up --config`
// reads; flags win over it.
type Spec struct {
	// Nodes is how many nodes are simulated. Default 1.
	Nodes int `json:"nodes,omitempty"`
	// Port of the API server on loopback. Default: one that is free.
	Port int `json:"port,omitempty"`
	// Data is a folder that keeps the state across down and up. Default: the state ends
	// with the cluster.
	Data string `json:"data,omitempty"`
	// TTL stops the cluster after so long without a request or watch of a user's.
	// Default: never.
	TTL metav1.Duration `json:"ttl,omitzero"`
	// LogLevel is the verbosity of the components' log, 0 to 10. Default 0.
	LogLevel int `json:"logLevel,omitempty"`
	// AuditPolicy is the path of an audit policy. Default: nothing is audited.
	AuditPolicy string `json:"auditPolicy,omitempty"`
	// FeatureGates are switched for all components.
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
	// RuntimeConfig turns API groups and versions on or off.
	RuntimeConfig map[string]bool `json:"runtimeConfig,omitempty"`
	// APIServer, ControllerManager and Scheduler are flags of that component, by name and
	// without dashes.
	APIServer         controlplane.Settings `json:"apiServer,omitempty"`
	ControllerManager controlplane.Settings `json:"controllerManager,omitempty"`
	Scheduler         controlplane.Settings `json:"scheduler,omitempty"`
}

// MaxNodes is how many simulated nodes one cluster takes; KWOK's own tests stop there.
const MaxNodes = 5000

// ReadSpec reads a spec from a YAML file. A field that does not exist is an error.
func ReadSpec(path string) (Spec, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Spec{}, err
	}
	var spec Spec
	if err := yaml.UnmarshalStrict(data, &spec); err != nil {
		return Spec{}, fmt.Errorf("%s: %w", path, err)
	}
	return spec, nil
}

// complete fills in defaults, makes paths absolute and checks the rest.
func (s *Spec) complete() error {
	if s.Nodes == 0 {
		s.Nodes = 1
	}
	if s.Nodes < 0 || s.Nodes > MaxNodes {
		return fmt.Errorf("nodes: %d: want 1 to %d", s.Nodes, MaxNodes)
	}
	if s.Port < 0 || s.Port > 65535 {
		return fmt.Errorf("port: %d: want 1 to 65535", s.Port)
	}
	if s.LogLevel < 0 || s.LogLevel > 10 {
		return fmt.Errorf("logLevel: %d: want 0 to 10", s.LogLevel)
	}
	if s.TTL.Duration < 0 || (s.TTL.Duration > 0 && s.TTL.Duration < time.Second) {
		return fmt.Errorf("ttl: %s: want at least 1s, or 0 for a cluster that is not stopped by itself", s.TTL.Duration)
	}
	return errors.Join(absolute(&s.Data), absolute(&s.AuditPolicy))
}

func absolute(path *string) error {
	if *path == "" {
		return nil
	}
	var err error
	*path, err = filepath.Abs(*path)
	return err
}

// config is the control plane's part of the spec.
func (s *Spec) config(f folder) controlplane.Config {
	return controlplane.Config{
		Dir:               f.path,
		DataDir:           s.Data,
		Port:              s.Port,
		FeatureGates:      s.FeatureGates,
		RuntimeConfig:     s.RuntimeConfig,
		AuditPolicy:       s.AuditPolicy,
		AuditLog:          f.file("audit.log"),
		APIServer:         s.APIServer,
		ControllerManager: s.ControllerManager,
		Scheduler:         s.Scheduler,
	}
}
