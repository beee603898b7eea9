package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Status returns a cluster. It returns an error if the cluster is unknown. It never builds the binary.
func Status(_ context.Context, name string) (*Cluster, error) {
	folder, names, err := known()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(names, name) {
		return nil, unknown(name, names)
	}
	cluster, err := describe(folder, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, unknown(name, nil)
	}
	if err == nil && cluster.State == Damaged {
		return nil, fmt.Errorf("the description of cluster %q cannot be read: remove the cluster with `operon cluster down --cluster %s`", name, name)
	}
	return cluster, err
}

// TakesImages returns an error if images cannot be loaded into the nodes of a cluster. The error states why, and
// how to start a cluster that accepts images. It never builds the binary.
func TakesImages(ctx context.Context, name string) error {
	up := "`operon cluster up --node container`"
	if name != DefaultName {
		up = fmt.Sprintf("`operon cluster up --cluster %s --node container`", name)
	}
	cluster, err := Status(ctx, name)
	switch {
	case errors.Is(err, errUnknown):
		return fmt.Errorf("unknown local cluster %q: start it with %s", name, up)
	case err != nil:
		return err
	case cluster.State != Running:
		return fmt.Errorf("cluster %q is not running: start it with %s", name, up)
	case cluster.Node != Container:
		return fmt.Errorf("cluster %q has simulated nodes only, which run no images: stop it, then start it with %s", name, up)
	}
	return nil
}

// List returns all clusters, by name. It never builds the binary.
func List(context.Context) ([]Cluster, error) {
	folder, names, err := known()
	if err != nil {
		return nil, err
	}
	list := []Cluster{}
	for _, name := range names {
		cluster, err := describe(folder, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was removed after its directory was listed
		}
		if err != nil {
			return nil, err
		}
		list = append(list, *cluster)
	}
	return list, nil
}

// known returns the directory of all clusters, and their names. Each cluster has a directory with its state, and next to it a file that its
// process locks.
func known() (folder string, names []string, err error) {
	home, err := Home()
	if err != nil {
		return "", nil, err
	}
	folder = filepath.Join(home, "clusters")
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return folder, nil, nil
	}
	for _, entry := range entries {
		if entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return folder, names, err
}

// errUnknown returns an error about a cluster that does not exist.
var errUnknown = errors.New("unknown local cluster")

func unknown(name string, names []string) error {
	if len(names) == 0 {
		return fmt.Errorf("%w %q; start it with `operon cluster up --cluster %s`", errUnknown, name, name)
	}
	return fmt.Errorf("%w %q; existing clusters: %s", errUnknown, name, strings.Join(names, ", "))
}

// describe reads the state of a cluster. The error is fs.ErrNotExist if the cluster no longer exists.
func describe(folder, name string) (*Cluster, error) {
	dir := filepath.Join(folder, name)
	if _, err := os.Stat(dir); err != nil {
		return nil, err
	}
	running, err := isHeld(dir + ".lock")
	if err != nil {
		return nil, err
	}
	log := filepath.Join(dir, "cluster.log")
	content, err := os.ReadFile(filepath.Join(dir, "cluster.json"))
	if errors.Is(err, fs.ErrNotExist) { // it is starting, or was killed before it was ready
		return &Cluster{Name: name, State: Stopped, Log: log}, nil
	}
	if err != nil {
		return nil, err
	}
	cluster := &Cluster{}
	if err := json.Unmarshal(content, cluster); err != nil {
		return &Cluster{Name: name, State: Damaged, Log: log}, nil
	}
	if !running {
		cluster.State, cluster.PID = Stopped, 0
	}
	return cluster, nil
}
