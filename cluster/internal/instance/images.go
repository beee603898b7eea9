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

// Images opens the store of a running cluster's container node, and tells the name of what
// unpacks images there. Until ctx ends, or this process, the cluster counts as used.
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

// LoadImages puts the images of archives into the store of a running cluster's container node. One process does that at a time, so that
// what another one left that was killed is not what somebody is about to load.
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

// takesImages tells why images cannot be put into the nodes of a cluster, in the words of the root module's local.TakesImages, which
// tells it before an image is made.
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
