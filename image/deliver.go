package image

import (
	"bytes"
	"context"
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

// Delivery says where an image goes. Without any place it goes to the nodes of a local cluster.
type Delivery struct {
	// Archive is a file, Layout a folder.
	Archive, Layout string
	// Push is a name in a registry.
	Push string
	// Cluster is the local cluster, by default local.DefaultName.
	Cluster string
	// Progress is told what is being done, and what of operon-cluster is built.
	Tell func(string)
}

// Delivered is where it went.
type Delivered struct {
	Archive string `json:"archive,omitempty"`
	Layout  string `json:"layout,omitempty"`
	Pushed  string `json:"pushed,omitempty"`
	Cluster string `json:"cluster,omitempty"`
	// Written is how many blobs the layout did not have yet.
	Written int `json:"written,omitempty"`
}

// Check tells what is wrong with it, before anything is made.
func (d Delivery) Check() error {
	if d.Push == "" {
		return nil
	}
	_, err := ParseName(d.Push)
	return err
}

// Files are those that will be written.
func (d Delivery) Files() []string {
	var files []string
	for _, file := range []string{d.Archive, d.Layout} {
		if file != "" {
			files = append(files, file)
		}
	}
	return files
}

// Deliver puts an image wherever it is to go, under name where that is no registry.
func (s *Store) Deliver(ctx context.Context, name Name, image Image, to Delivery) (Delivered, error) {
	done := Delivered{Archive: to.Archive, Layout: to.Layout}
	if to.Archive != "" {
		to.tell("writing " + to.Archive)
		if err := s.WriteArchive(ctx, to.Archive, name, image); err != nil {
			return done, err
		}
	}
	if to.Layout != "" {
		to.tell("writing " + to.Layout)
		var err error
		if done.Written, err = s.WriteLayout(ctx, to.Layout, name, image); err != nil {
			return done, err
		}
	}
	if to.Push != "" {
		target, err := ParseName(to.Push)
		if err != nil {
			return done, err
		}
		to.tell("pushing " + target.Short)
		if err := s.Push(ctx, target, image); err != nil {
			return done, err
		}
		done.Pushed = target.Full
	}
	if len(to.Files()) > 0 || to.Push != "" {
		return done, nil
	}
	if to.Cluster == "" {
		to.Cluster = local.DefaultName
	}
	done.Cluster = to.Cluster
	to.tell("loading " + name.Short + " into the nodes of cluster " + to.Cluster)
	return done, s.load(ctx, to.Cluster, name, image)
}

func (d Delivery) tell(doing string) {
	if d.Tell != nil {
		d.Tell(doing)
	}
}

// exitUsage is the exit code of an operon-cluster that does not know what is asked of it.
const exitUsage = 2

// load has operon-cluster put the image into a cluster's nodes.
func (s *Store) load(ctx context.Context, cluster string, name Name, image Image) error {
	binary, err := local.Binary(ctx, os.Stderr)
	if err != nil {
		return err
	}
	file := filepath.Join(s.dir, "load.tar")
	defer os.Remove(file)
	if err := s.WriteArchive(ctx, file, name, image); err != nil {
		return err
	}
	command := exec.CommandContext(ctx, binary, "image", "load", "--name", cluster, file)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = 10 * time.Second
	var stderr bytes.Buffer
	command.Stderr = &stderr
	err = command.Run()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	said := strings.TrimPrefix(strings.TrimSpace(stderr.String()), filepath.Base(binary)+": ")
	if exit.ExitCode() == exitUsage {
		return fmt.Errorf("load the image into cluster %q: %s cannot do that (%s); --tar FILE, --layout DIR and --push NAME put the image elsewhere", cluster, binary, firstLine(said))
	}
	return fmt.Errorf("load the image into cluster %q: %s", cluster, said)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
