package image

import (
	"cmp"
	"context"

	"github.com/operon-framework/operon/local"
)

// Delivery defines where to deliver an image. If no place is set, it is loaded into the nodes of a local cluster.
type Delivery struct {
	// Archive is a file, and Layout a directory.
	Archive, Layout string
	// Push is a name in a registry.
	Push string
	// Cluster is the local cluster, by default local.DefaultName.
	Cluster string
	// Tell receives descriptions of the progress, including the build of operon-cluster.
	Tell func(string)
}

// Delivered describes where the image was delivered. After an error, it includes the place for which the delivery failed.
type Delivered struct {
	Archive string `json:"archive,omitempty"`
	Layout  string `json:"layout,omitempty"`
	Pushed  string `json:"pushed,omitempty"`
	Cluster string `json:"cluster,omitempty"`
	// Written is the number of blobs that the layout did not have yet.
	Written int `json:"written,omitempty"`
}

// Check returns an error if the delivery is invalid, before anything is created.
func (d Delivery) Check() error {
	if d.Push == "" {
		return nil
	}
	_, err := ParseName(d.Push)
	return err
}

// Files returns the files that will be written.
func (d Delivery) Files() []string {
	var files []string
	for _, file := range []string{d.Archive, d.Layout} {
		if file != "" {
			files = append(files, file)
		}
	}
	return files
}

// Deliver delivers an image to all places. The name is used except in a registry.
func (s *Store) Deliver(ctx context.Context, name Name, image Image, to Delivery) (Delivered, error) {
	var done Delivered
	for _, put := range []func(context.Context, Name, Image, Delivery, *Delivered) error{s.toArchive, s.toLayout, s.toRegistry, s.toCluster} {
		if err := put(ctx, name, image, to, &done); err != nil {
			return done, err
		}
	}
	return done, nil
}

func (s *Store) toArchive(ctx context.Context, name Name, image Image, to Delivery, done *Delivered) error {
	if to.Archive == "" {
		return nil
	}
	to.tell("writing " + to.Archive)
	done.Archive = to.Archive
	return s.WriteArchive(ctx, to.Archive, name, image)
}

func (s *Store) toLayout(ctx context.Context, name Name, image Image, to Delivery, done *Delivered) (err error) {
	if to.Layout == "" {
		return nil
	}
	to.tell("writing " + to.Layout)
	done.Layout = to.Layout
	done.Written, err = s.writeLayout(ctx, to.Layout, name, image, func() { to.tell("waiting for another process that writes to " + to.Layout) })
	return err
}

func (s *Store) toRegistry(ctx context.Context, _ Name, image Image, to Delivery, done *Delivered) error {
	if to.Push == "" {
		return nil
	}
	target, err := ParseName(to.Push)
	if err != nil {
		return err
	}
	to.tell("pushing " + target.Short)
	done.Pushed = target.Full
	return s.Push(ctx, target, image)
}

// toCluster loads an image that is not delivered anywhere else into the cluster.
func (s *Store) toCluster(ctx context.Context, name Name, image Image, to Delivery, done *Delivered) error {
	if to.elsewhere() {
		return nil
	}
	to.Cluster = cmp.Or(to.Cluster, local.DefaultName)
	done.Cluster = to.Cluster
	return s.load(ctx, to, name, image)
}

// elsewhere reports whether the image is not loaded into a cluster.
func (d Delivery) elsewhere() bool { return len(d.Files()) > 0 || d.Push != "" }

func (d Delivery) tell(doing string) {
	if d.Tell != nil {
		d.Tell(doing)
	}
}
