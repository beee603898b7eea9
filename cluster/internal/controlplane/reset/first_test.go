package reset

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"

	"github.com/operon-framework/operon/cluster/internal/controlplane"
	"github.com/operon-framework/operon/cluster/internal/controlplane/storage"
)

// The first state is complete even on a slow machine, on which the controllers pause for longer than the quiet time before they
// have created all objects.
func TestFirstStateAwaitsTheControllers(t *testing.T) {
	t.Parallel()
	r := stored(t)
	write := func(keys ...string) {
		for _, key := range keys {
			if _, err := r.etcd.Put(t.Context(), storage.Registry+key, "x"); err != nil {
				t.Error(err)
			}
		}
	}
	for _, name := range systemNamespaces {
		write("namespaces/"+name, "serviceaccounts/"+name+"/default", "configmaps/"+name+"/kube-root-ca.crt")
	}
	write("namespaces/team")
	done := make(chan struct{})
	time.AfterFunc(4*turns*timing.turn, func() {
		defer close(done)
		write("serviceaccounts/team/default", "configmaps/team/kube-root-ca.crt")
	})
	first, err := r.awaitComplete(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	<-done
	if want := 3 * (len(systemNamespaces) + 1); len(first) != want {
		t.Errorf("the first state has %d objects, want %d, three for each namespace:\n%v", len(first), want, first)
	}
}

// stored returns a resetter that has only etcd.
func stored(t *testing.T) *Resetter {
	t.Helper()
	folder, err := os.MkdirTemp("", "operon") // the path of a test's temporary directory is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	config := embed.NewConfig()
	config.Dir, config.LogLevel, config.LogOutputs = folder, "error", []string{"stderr"}
	config.ListenClientUrls = []url.URL{{Scheme: "unix", Path: filepath.Join(folder, "etcd.sock")}}
	config.ListenPeerUrls = nil
	config.AdvertisePeerUrls = []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	server, err := embed.StartEtcd(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	<-server.Server.ReadyNotify()
	return &Resetter{etcd: v3client.New(server.Server), orphans: newOrphans()}
}

func TestChosenControllersAreNotAwaited(t *testing.T) {
	t.Parallel()
	bare := lasting([]*mvccpb.KeyValue{{Key: []byte(storage.Registry + "namespaces/team")}})
	chosen := Resetter{cfg: controlplane.Config{ControllerManager: controlplane.Settings{"controllers": "-*"}}}
	if missing := chosen.missing(bare); missing != "" {
		t.Errorf("waits for %s, which no controller may make", missing)
	}
	if missing := new(Resetter).missing(bare); missing == "" {
		t.Error("does not wait for what every namespace gets")
	}
}
