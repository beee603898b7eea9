package image

import (
	"context"

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
		waiting := func() { to.tell("waiting for another process that writes to " + to.Layout) }
		if done.Written, err = s.writeLayout(ctx, to.Layout, name, image, waiting); err != nil {
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
	return done, s.load(ctx, to, name, image)
}

func (d Delivery) tell(doing string) {
	if d.Tell != nil {
		d.Tell(doing)
	}
}
