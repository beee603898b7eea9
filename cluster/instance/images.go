package instance

import (
	"fmt"
	"os"
	"strings"

	"github.com/operon-framework/operon/cluster/image"
	"github.com/operon-framework/operon/cluster/node/settings"
)

// Images opens the store of a running cluster's container node, and tells the name of what
// unpacks images there.
func Images(name string) (store *image.Store, snapshotter string, err error) {
	facts, err := Status(name)
	if err != nil {
		return nil, "", err
	}
	if facts.State != Running {
		return nil, "", fmt.Errorf("cluster %q is not running; `operon cluster up --name %s --node container` starts it", name, name)
	}
	if facts.Node != Container {
		return nil, "", fmt.Errorf("cluster %q has simulated nodes only, which run no images; take it down, and start it with `operon cluster up --name %s --node container`", name, name)
	}
	f, err := openFolder(name)
	if err != nil {
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
