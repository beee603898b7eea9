package instance

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/cluster/internal/controlplane"
	"github.com/operon-framework/operon/cluster/internal/node"
	"github.com/operon-framework/operon/cluster/internal/node/settings"
)

// Spec says what cluster to run. It is also the form of the file that `up --config`
// reads; flags win over it.
type Spec struct {
	// Node is what runs pods: Simulated, the default, or Container, for which this machine
	// has to be fit.
	Node NodeKind `json:"node,omitempty"`
	// Nodes is how many nodes are simulated. Default 1, or none beside one of containers.
	Nodes int `json:"nodes,omitempty"`
	// Port of the API server on loopback. Default: one that is free.
	Port int `json:"port,omitempty"`
	// RegistryPort is the port of the cluster's image registry on loopback, where there is a
	// node of containers. Default: the one by which images in Data are called, or one that is free.
	RegistryPort int `json:"registryPort,omitempty"`
	// Egress lets pods reach what this machine reaches, by TCP and by name, and images come
	// from registries. It takes a node of containers. Default: there is no way out.
	Egress bool `json:"egress,omitempty"`
	// Publish lists ports of this machine that lead to ports of the node of containers, as
	// [IP:]HOSTPORT:NODEPORT. Default: none; IP is by default loopback.
	Publish []string `json:"publish,omitempty"`
	// Data is a directory that keeps the state across down and up. Default: the state ends
	// with the cluster.
	Data string `json:"data,omitempty"`
	// Plain turns off every acceleration of package fast, so that the components do all by themselves, as slowly as
	// elsewhere. Default: false.
	Plain bool `json:"plain,omitempty"`
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

// NodeKind is what runs the pods of a cluster.
type NodeKind string

const (
	// Simulated nodes run nothing and say they did.
	Simulated NodeKind = "sim"
	// Container is a node that runs containers, of which a cluster has one at most.
	Container NodeKind = "container"
)

// Check tells what is wrong with a kind that there is not.
func (k NodeKind) Check() error {
	if k != Simulated && k != Container {
		return fmt.Errorf("%q: want %s or %s", string(k), Simulated, Container)
	}
	return nil
}

// MaxNodes is how many simulated nodes one cluster takes; KWOK's own tests stop there.
const MaxNodes = 5000

const maxPort = 65535

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
	if s.Node == "" {
		s.Node = Simulated
	}
	if err := s.Node.Check(); err != nil {
		return &FieldError{"node", err}
	}
	if s.Node == Container {
		if err := node.Check(); err != nil {
			return err
		}
	}
	if s.Nodes == 0 && s.Node == Simulated {
		s.Nodes = 1
	}
	if err := s.checkRanges(); err != nil {
		return err
	}
	if s.Node != Container && s.RegistryPort != 0 {
		return mistake("registryPort", "%d: only a node of containers pulls images; say --node container, too", s.RegistryPort)
	}
	if s.Node != Container && s.Egress {
		return mistake("egress", "true: simulated pods reach nothing; say --node container, too")
	}
	if err := s.checkPublished(); err != nil {
		return err
	}
	return errors.Join(absolute(&s.Data), absolute(&s.AuditPolicy))
}

// FieldError is a mistake in a field of a Spec.
type FieldError struct {
	// Field is its name in a file.
	Field string
	Err   error
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Err.Error() }
func (e *FieldError) Unwrap() error { return e.Err }

func mistake(field, format string, values ...any) error {
	return &FieldError{field, fmt.Errorf(format, values...)}
}

// checkRanges finds numbers that cannot be.
func (s *Spec) checkRanges() error {
	switch {
	case s.Nodes < 0 || s.Nodes > MaxNodes:
		return mistake("nodes", "%d: want 1 to %d", s.Nodes, MaxNodes)
	case s.Port < 0 || s.Port > maxPort:
		return mistake("port", "%d: want 1 to %d", s.Port, maxPort)
	case s.RegistryPort < 0 || s.RegistryPort > maxPort:
		return mistake("registryPort", "%d: want 1 to %d", s.RegistryPort, maxPort)
	case s.LogLevel < 0 || s.LogLevel > 10:
		return mistake("logLevel", "%d: want 0 to 10", s.LogLevel)
	case s.TTL.Duration < 0 || (s.TTL.Duration > 0 && s.TTL.Duration < time.Second):
		return mistake("ttl", "%s: want at least 1s, or 0 for a cluster that is not stopped by itself", s.TTL.Duration)
	}
	return nil
}

func absolute(path *string) error {
	if *path == "" {
		return nil
	}
	var err error
	*path, err = filepath.Abs(*path)
	return err
}

// volumes is where the volumes of containers lie: with the state that knows of them.
func (s *Spec) volumes(f folder) string {
	if s.Data != "" {
		return filepath.Join(s.Data, "volumes")
	}
	return f.file("volumes")
}

// images is where a node of containers keeps images: with the state that knows of what runs them, or where it likes.
func (s *Spec) images() string {
	if s.Data == "" {
		return ""
	}
	return filepath.Join(s.Data, "images")
}

// registry is where the registry's images lie: with the state that names them.
func (s *Spec) registry(f folder) string {
	if s.Data != "" {
		return filepath.Join(s.Data, "registry")
	}
	return f.file("registry")
}

// config is the control plane's part of the spec.
func (s *Spec) config(f folder) controlplane.Config {
	config := controlplane.Config{
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
	if s.Node == Container {
		config.Egress = f.egress()
		config.Hosts = []string{settings.Address.String()}
	}
	return config
}
