package image

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/operon-framework/operon/local"
)

// Ready returns an error if the image cannot be delivered to a cluster, before the image is built.
func (d Delivery) Ready(ctx context.Context) error {
	if d.elsewhere() {
		return nil
	}
	if err := local.TakesImages(ctx, cmp.Or(d.Cluster, local.DefaultName)); err != nil {
		return fmt.Errorf("%w; --tar FILE, --layout DIR and --push NAME put the image elsewhere", err)
	}
	return nil
}

// loadFile is the archive that operon-cluster loads.
const loadFile = "load.tar"

// load makes operon-cluster load the image into a cluster's nodes, unless they have it.
func (s *Store) load(ctx context.Context, to Delivery, name Name, image Image) error {
	binary, err := local.Binary(ctx, os.Stderr)
	if err != nil {
		return err
	}
	n := node{binary, to.Cluster}
	there, err := n.has(ctx, name, image)
	if err != nil {
		return err
	}
	if there {
		to.tell("the nodes of cluster " + to.Cluster + " have " + name.Short + " already")
		return nil
	}
	to.tell("loading " + name.Short + " into the nodes of cluster " + to.Cluster)
	file := filepath.Join(s.dir, loadFile)
	defer os.Remove(file)
	if err := s.WriteArchive(ctx, file, name, image); err != nil {
		return err
	}
	_, err = n.images(ctx, "load", file)
	return err
}

// LoadArchives loads images in archives, as Store.WriteArchive writes them, into the nodes of a local cluster, and returns their full names.
func LoadArchives(ctx context.Context, cluster string, files ...string) (names []string, _ error) {
	binary, err := local.Binary(ctx, os.Stderr)
	if err != nil {
		return nil, err
	}
	loaded, err := node{binary, cluster}.images(ctx, "load", files...)
	for _, one := range loaded {
		names = append(names, one.Name)
	}
	return names, err
}

// node gives access to the images in the nodes of a local cluster.
type node struct{ binary, cluster string }

// has reports whether the node has the image with its name: an image gets its name after it is complete.
func (n node) has(ctx context.Context, name Name, image Image) (bool, error) {
	list, err := n.images(ctx, "ls")
	for _, one := range list {
		if one.Name == name.Full && one.Digest == image.Descriptor.Digest.String() {
			return true, nil
		}
	}
	return false, err
}

// nodeImage is an image in a node.
type nodeImage struct{ Name, Digest string }

// images runs a command of `operon-cluster image` and returns the images of its output.
func (n node) images(ctx context.Context, verb string, files ...string) (list []nodeImage, _ error) {
	command := exec.CommandContext(ctx, n.binary, append([]string{"image", verb, "--cluster", n.cluster, "-o", "json"}, files...)...)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = 10 * time.Second
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
	case err != nil:
		return nil, err
	default:
		if err := json.Unmarshal(stdout.Bytes(), &list); err != nil {
			return nil, fmt.Errorf("read the images of cluster %q: %w", n.cluster, err)
		}
		return list, nil
	}
	said := strings.TrimPrefix(strings.TrimSpace(stderr.String()), filepath.Base(n.binary)+": ")
	return nil, fmt.Errorf("load the image into cluster %q: %s", n.cluster, cmp.Or(said, err.Error()))
}
