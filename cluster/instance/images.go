package instance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/operon-framework/operon/cluster/image"
	"github.com/operon-framework/operon/cluster/node/settings"
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

// takesImages tells why images cannot be put into the nodes of a cluster, in the words of the root module's local.TakesImages, which
// tells it before an image is made.
func takesImages(name string) error {
	up := "`operon cluster up --node container`"
	if name != DefaultName {
		up = fmt.Sprintf("`operon cluster up --name %s --node container`", name)
	}
	facts, err := Status(name)
	var unknown *UnknownError
	switch {
	case errors.As(err, &unknown):
		return fmt.Errorf("there is no local cluster %q: start it with %s", name, up)
	case err != nil:
		return err
	case facts.State != Running:
		return fmt.Errorf("cluster %q is not running: start it with %s", name, up)
	case facts.Node != Container:
		return fmt.Errorf("cluster %q has simulated nodes only, which run no image: take it down, and start it with %s", name, up)
	}
	return nil
}
