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
	"github.com/operon-framework/operon/cluster/internal/node/program"
	"github.com/operon-framework/operon/cluster/internal/node/settings"
)

// Spec describes the cluster to run. It is also the format of the file for `up --config`. Flags override the file.
type Spec struct {
	// Node is the kind of node that runs pods: Simulated, the default, or Container, which has requirements on this machine.
	Node NodeKind `json:"node,omitempty"`
	// Nodes is the number of simulated nodes. Default: 1, or 0 with a node of containers.
	Nodes int `json:"nodes,omitempty"`
	// Port is the port of the API server on loopback. Default: a free port.
	Port int `json:"port,omitempty"`
	// RegistryPort is the port of the cluster's image registry on loopback. It requires a node of containers. Default: the port in
	// the names of the images in Data, or a free port.
	RegistryPort int `json:"registryPort,omitempty"`
	// Egress allows pods to connect to everything that this machine can reach, by TCP and by name, and allows images to be pulled
	// from registries. It requires a node of containers. Default: pods cannot connect to addresses outside the cluster.
	Egress bool `json:"egress,omitempty"`
	// Publish lists ports of this machine that are forwarded to ports of the node of containers, as [IP:]HOSTPORT:NODEPORT. The
	// default of IP is loopback. Default: none.
	Publish []string `json:"publish,omitempty"`
	// Data is a directory that retains the state across down and up. Default: the state is lost when the cluster stops.
	Data string `json:"data,omitempty"`
	// Plain disables all accelerations of package fast, so the components behave, and take as long, as in other clusters. Default:
	// false.
	Plain bool `json:"plain,omitempty"`
	// TTL is the time without requests or watches of users after which the cluster stops. Default: never.
	TTL metav1.Duration `json:"ttl,omitzero"`
	// LogLevel is the verbosity of the component logs, 0 to 10. Default: 0.
	LogLevel int `json:"logLevel,omitempty"`
	// AuditPolicy is the path of an audit policy. Default: nothing is audited.
	AuditPolicy string `json:"auditPolicy,omitempty"`
	// FeatureGates enables or disables feature gates in all components.
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
	// RuntimeConfig enables or disables API groups and versions.
	RuntimeConfig map[string]bool `json:"runtimeConfig,omitempty"`
	// APIServer, ControllerManager and Scheduler are flags of that component, by name and without dashes.
	APIServer         controlplane.Settings `json:"apiServer,omitempty"`
	ControllerManager controlplane.Settings `json:"controllerManager,omitempty"`
	Scheduler         controlplane.Settings `json:"scheduler,omitempty"`
}

// NodeKind is the kind of node that runs the pods of a cluster.
type NodeKind string

const (
	// Simulated nodes run no containers, but report that they do.
	Simulated NodeKind = "sim"
	// Container is a node that runs containers. A cluster has at most one.
	Container NodeKind = "container"
)

// Check returns an error if the kind does not exist.
func (k NodeKind) Check() error {
	if k != Simulated && k != Container {
		return fmt.Errorf("%q: want %s or %s", string(k), Simulated, Container)
	}
	return nil
}

// MaxNodes is the maximum number of simulated nodes in one cluster. KWOK's own tests use no more.
const MaxNodes = 5000

const maxPort = 65535

// ReadSpec reads a spec from a YAML file. An unknown field is an error.
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

// complete sets defaults, makes paths absolute and validates the other fields.
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
		if _, err := program.Find(); err != nil {
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
		return mistake("registryPort", "%d: only container nodes pull images; add --node container", s.RegistryPort)
	}
	if s.Node != Container && s.Egress {
		return mistake("egress", "true: simulated pods reach nothing; add --node container")
	}
	if err := s.checkPublished(); err != nil {
		return err
	}
	return errors.Join(absolute(&s.Data), absolute(&s.AuditPolicy), s.checkData())
}

// checkData rejects a directory for the state among the files of clusters, which are removed when a cluster stops.
func (s *Spec) checkData() error {
	if s.Data == "" {
		return nil
	}
	home, err := homeDir()
	if err != nil {
		return err
	}
	inside, err := filepath.Rel(resolved(filepath.Join(home, "clusters")), resolved(s.Data))
	if err != nil || !filepath.IsLocal(inside) {
		return nil
	}
	return mistake("data", "%s: the directory is among the files of clusters, which are removed when a cluster stops; choose one outside of %s", s.Data, home)
}

// resolved returns a path without links, as far as its directories exist.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	above := filepath.Dir(path)
	if above == path {
		return path
	}
	return filepath.Join(resolved(above), filepath.Base(path))
}

// FieldError is an error in a field of a Spec.
type FieldError struct {
	// Field is the name of the field in a file.
	Field string
	Err   error
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Err.Error() }
func (e *FieldError) Unwrap() error { return e.Err }

func mistake(field, format string, values ...any) error {
	return &FieldError{field, fmt.Errorf(format, values...)}
}

// checkRanges returns an error if a number is out of range.
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

// volumes returns the directory of container volumes: with the state that refers to them.
func (s *Spec) volumes(f folder) string {
	if s.Data != "" {
		return filepath.Join(s.Data, "volumes")
	}
	return f.file("volumes")
}

// images returns the directory in which a node of containers stores images: with the state that refers to them. If it is empty,
// the node chooses the directory.
func (s *Spec) images() string {
	if s.Data == "" {
		return ""
	}
	return filepath.Join(s.Data, "images")
}

// registry returns the directory of the registry's images: with the state that refers to them.
func (s *Spec) registry(f folder) string {
	if s.Data != "" {
		return filepath.Join(s.Data, "registry")
	}
	return f.file("registry")
}

// config returns the configuration of the control plane.
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
