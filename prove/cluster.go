package prove

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/local"
)

// clusterLife is how long the cluster of a session that was killed lives on.
const clusterLife = 10 * time.Minute

// StartCluster starts a cluster for one session, with one simulated node, and returns an
// administrator's connection and what stops it.
func StartCluster(ctx context.Context, progress io.Writer) (config *rest.Config, stop func() error, err error) {
	name := "prove-" + strings.ToLower(rand.Text()[:6])
	cluster, err := local.Up(ctx, local.Options{Name: name, TTL: clusterLife, Progress: progress})
	if err != nil {
		return nil, nil, err
	}
	stop = func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		return local.Down(ctx, name)
	}
	config, err = cluster.RESTConfig()
	if err != nil {
		return nil, nil, fmt.Errorf("%w (and its end: %v)", err, stop())
	}
	return config, stop, nil
}

// Folder makes a folder for the files of one session, for this user alone, and returns what
// removes it.
func Folder() (path string, remove func() error, err error) {
	parent, err := local.Folder("prove")
	if err != nil {
		return "", nil, err
	}
	path, err = os.MkdirTemp(parent, "session-")
	return path, func() error { return os.RemoveAll(path) }, err
}
