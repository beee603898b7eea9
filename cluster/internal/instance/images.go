package instance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/operon-framework/operon/cluster/internal/image"
	"github.com/operon-framework/operon/cluster/internal/node/settings"
)

// Images opens the store of a running cluster's container node, and returns the name of the snapshotter that unpacks images
// there. The cluster counts as used until ctx or this process ends.
func Images(ctx context.Context, name string) (store *image.Store, snapshotter string, err error) {
	if err := takesImages(name); err != nil {
		return nil, "", err
	}
	f, err := openFolder(name)
	if err != nil {
		return nil, "", err
	}
	if err := f.use(ctx); err != nil {
		return nil, "", err
	}
	dir := settings.Dir(f.node())
	snapshotterFile, err := os.ReadFile(dir.Snapshotter())
	if err != nil {
		return nil, "", err
	}
	store, err = image.Open(dir.Socket())
	return store, strings.TrimSpace(string(snapshotterFile)), err
}

// LoadImages writes the images of archives to the store of a running cluster's container node. Only one process does this at a
// time, so the remains of a killed process can be distinguished from an image that is being loaded.
func LoadImages(ctx context.Context, name string, archives ...string) (loaded []image.Image, err error) {
	store, snapshotter, err := Images(ctx, name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	f, err := openFolder(name)
	if err != nil {
		return nil, err
	}
	turn, err := lock(ctx, settings.Dir(f.node()).File("load.lock"))
	if err != nil {
		return nil, err
	}
	defer turn.Close()
	if err := store.Sweep(ctx); err != nil {
		return nil, err
	}
	loaded = []image.Image{}
	for _, archive := range archives {
		some, err := store.Load(ctx, archive, snapshotter)
		if err != nil {
			return nil, err
		}
		loaded = append(loaded, some...)
	}
	return loaded, nil
}

// takesImages returns an error with the reason why images cannot be loaded into a cluster. The text is the same as in the root
// module's local.TakesImages, which reports it before an image is built.
func takesImages(name string) error {
	up := "`operon cluster up --node container`"
	if name != DefaultName {
		up = fmt.Sprintf("`operon cluster up --cluster %s --node container`", name)
	}
	facts, err := Status(name)
	var unknown *UnknownError
	switch {
	case errors.As(err, &unknown):
		return fmt.Errorf("unknown local cluster %q: start it with %s", name, up)
	case err != nil:
		return err
	case facts.State != Running:
		return fmt.Errorf("cluster %q is not running: start it with %s", name, up)
	case facts.Node != Container:
		return fmt.Errorf("cluster %q has simulated nodes only, which run no images: stop it, then start it with %s", name, up)
	}
	return nil
}
