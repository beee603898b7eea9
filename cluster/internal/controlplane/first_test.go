package controlplane

import (
	"os"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
)

// A machine may be so slow that the controllers rest for longer than the quiet time before
// they made what they always make.
func TestFirstStateAwaitsTheControllers(t *testing.T) {
	t.Parallel()
	cp := stored(t)
	write := func(keys ...string) {
		for _, key := range keys {
			if _, err := cp.store.client.Put(t.Context(), registry+key, "x"); err != nil {
				t.Error(err)
			}
		}
	}
	write("namespaces/team")
	done := make(chan struct{})
	time.AfterFunc(4*quiet, func() {
		defer close(done)
		write("serviceaccounts/team/default", "configmaps/team/kube-root-ca.crt")
	})
	first, err := cp.awaitComplete(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	<-done
	if len(first) != 3 {
		t.Errorf("the first state has %d objects, want the namespace and the two that it gets:\n%v", len(first), first)
	}
}

// stored is a control plane of which there is only the store.
func stored(t *testing.T) *ControlPlane {
	t.Helper()
	folder, err := os.MkdirTemp("", "operon") // a test's own is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	cp := &ControlPlane{cfg: Config{Dir: folder}, orphans: newOrphans()}
	if cp.store, err = startStore(t.Context(), &cp.cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cp.store.close)
	return cp
}

func TestChosenControllersAreNotAwaited(t *testing.T) {
	t.Parallel()
	bare := lasting([]*mvccpb.KeyValue{{Key: []byte(registry + "namespaces/team")}})
	chosen := ControlPlane{cfg: Config{ControllerManager: Settings{"controllers": "-*"}}}
	if missing := chosen.missing(bare); missing != "" {
		t.Errorf("waits for %s, which no controller may make", missing)
	}
	if missing := new(ControlPlane).missing(bare); missing == "" {
		t.Error("does not wait for what every namespace gets")
	}
}
