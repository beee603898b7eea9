package reset

import (
	"bytes"
	"encoding/gob"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
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

// A first state is stored with the settings on which it depends. Earlier versions stored it without them.
func TestFirstStateOfOtherSettings(t *testing.T) {
	t.Parallel()
	cfg := controlplane.Config{DataDir: t.TempDir()}
	r := New(cfg)
	if kept, _, err := r.readFirst(); kept != nil || err != nil {
		t.Fatalf("before the first start, the first state is %v, error %v", kept, err)
	}
	first := snapshot{"/registry/namespaces/default": []byte("d")}
	sim := newOrigin(cfg, "sim")
	if err := writeFirst(r.firstFile(), first, sim); err != nil {
		t.Fatal(err)
	}
	kept, recorded, err := r.readFirst()
	if err != nil || !reflect.DeepEqual(kept, first) {
		t.Fatalf("the first state is %v, error %v", kept, err)
	}
	if err := sim.check(recorded, "F"); err != nil {
		t.Errorf("with the same settings: %v", err)
	}
	newer := newOrigin(cfg, "sim")
	newer["Kubernetes"] = "v1.99.0"
	for want, now := range map[string]origin{"node sim, and the cluster now has container": newOrigin(cfg, "container"), "the cluster now has v1.99.0": newer} {
		if err := now.check(recorded, "F"); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "delete F") {
			t.Errorf("error %v: want %q in it", err, want)
		}
	}
	var old bytes.Buffer
	if err := gob.NewEncoder(&old).Encode(first); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.firstFile(), old.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	kept, recorded, err = r.readFirst()
	if err != nil || !reflect.DeepEqual(kept, first) || newer.check(recorded, "F") != nil {
		t.Errorf("of an earlier version: %v, %v, error %v", kept, recorded, err)
	}
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
