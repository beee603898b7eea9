package instance

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/operon-framework/operon/cluster/internal/pki"
)

// State is the state of a cluster.
type State string

const (
	// Running clusters serve.
	Running State = "Running"
	// Stopped clusters left a directory because their process was killed.
	Stopped State = "Stopped"
	// Damaged: its description cannot be read, after a full disk for example. It can only be removed.
	Damaged State = "Damaged"
)

// Facts describe a cluster for programs.
type Facts struct {
	Name       string   `json:"name"`
	State      State    `json:"state"`
	Server     string   `json:"server,omitempty"`
	Kubeconfig string   `json:"kubeconfig,omitempty"`
	PID        int      `json:"pid,omitempty"`
	Version    string   `json:"version,omitempty"`
	Node       NodeKind `json:"node,omitempty"`
	Nodes      int      `json:"nodes,omitempty"` // simulated ones
	// Registry is the address to which images are pushed. It is the prefix of their names.
	Registry string `json:"registry,omitempty"`
	Egress   bool   `json:"egress,omitempty"`
	// Published are the ports of this machine that are forwarded to ports of the node, as IP:HOSTPORT:NODEPORT.
	Published    []string  `json:"published,omitempty"`
	Data         string    `json:"data,omitempty"`
	Plain        bool      `json:"plain,omitempty"`
	TTL          string    `json:"ttl,omitempty"`
	StartedAt    time.Time `json:"startedAt,omitzero"`
	ReadySeconds float64   `json:"readySeconds,omitempty"`
	Log          string    `json:"log,omitempty"`
	// Crash is set by Up if the previous process of the cluster was killed or crashed: a sentence with the reason.
	Crash string `json:"crash,omitempty"`
	// MergedInto is the kubeconfig to which the context of the cluster was added. Down removes it from there.
	MergedInto string `json:"mergedInto,omitempty"`
	// MergedOver is the previous current context of that kubeconfig. It becomes current again.
	MergedOver string `json:"mergedOver,omitempty"`
}

// UnknownError reports that no cluster has the given name.
type UnknownError struct {
	Name string
	// Known are the names of the existing clusters.
	Known []string
}

func (e *UnknownError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("unknown cluster %q; no clusters exist; start it with `operon cluster up --cluster %s`", e.Name, e.Name)
	}
	return fmt.Sprintf("unknown cluster %q; existing clusters: %s", e.Name, strings.Join(e.Known, ", "))
}

// Status returns the facts of one cluster, or an *UnknownError.
func Status(name string) (Facts, error) {
	f, err := openFolder(name)
	if err != nil {
		return Facts{}, err
	}
	exists, err := f.exists()
	if err != nil {
		return Facts{}, err
	}
	if !exists {
		known, err := names()
		return Facts{}, errors.Join(err, &UnknownError{Name: name, Known: known})
	}
	return f.readFacts()
}

// StatusRunning returns the facts of one cluster, which must be running.
func StatusRunning(name string) (Facts, error) {
	facts, err := Status(name)
	if err == nil {
		err = facts.damage()
	}
	if err == nil && facts.State != Running {
		err = fmt.Errorf("cluster %q is not running; start it with `operon cluster up --cluster %s`", name, name)
	}
	return facts, err
}

// damage returns an error if the description of the cluster cannot be read.
func (f Facts) damage() error {
	if f.State != Damaged {
		return nil
	}
	return fmt.Errorf("the description of cluster %q cannot be read: remove the cluster with `operon cluster down --cluster %s`", f.Name, f.Name)
}

// List returns the facts of all clusters, sorted by name.
func List() ([]Facts, error) {
	found, err := names()
	if err != nil {
		return nil, err
	}
	list := []Facts{}
	for _, name := range found {
		facts, err := Status(name)
		var gone *UnknownError
		if errors.As(err, &gone) {
			continue // stopped after its directory was listed
		}
		if err != nil {
			return nil, err
		}
		list = append(list, facts)
	}
	return list, nil
}

func (f folder) readFacts() (Facts, error) {
	running, err := held(f.runLock())
	if err != nil {
		return Facts{}, err
	}
	stopped := Facts{Name: f.name, State: Stopped, Log: f.log()}
	data, err := os.ReadFile(f.facts())
	if errors.Is(err, fs.ErrNotExist) {
		return stopped, nil // killed or stopped before it was ready
	}
	if err != nil {
		return Facts{}, err
	}
	var facts Facts
	if err := json.Unmarshal(data, &facts); err != nil {
		return Facts{Name: f.name, State: Damaged, Log: f.log()}, nil
	}
	if !running {
		facts.State, facts.PID = Stopped, 0
	}
	return facts, nil
}

// writeFacts replaces the facts atomically, so no reader sees a part of them.
func (f folder) writeFacts(facts Facts) error {
	data, err := json.MarshalIndent(facts, "", "  ")
	if err != nil {
		return err
	}
	return pki.WriteFile(f.facts(), data)
}
