package reset

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/mvccpb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/operon-framework/operon/cluster/internal/controlplane"
	"github.com/operon-framework/operon/cluster/internal/controlplane/storage"
	"github.com/operon-framework/operon/cluster/internal/pki"
)

// snapshot is the content of etcd at one time: key → value.
type snapshot map[string][]byte

// firstState is the state that Reset restores. It is taken when the controllers have created everything that they create in an
// empty cluster, which is a moment after the cluster becomes usable. Until then, writes of users are delayed, so they are not
// mistaken for writes of the cluster itself.
type firstState struct {
	taken chan struct{} // closed when snapshot and err are final
	snapshot
	err error
}

// RememberFirst records the state in which the control plane settles as the one that Reset restores. If the state was retained
// from an earlier start, the first state of that start is used. RememberFirst returns at once.
func (r *Resetter) RememberFirst(ctx context.Context, plane *controlplane.ControlPlane) error {
	r.admin = plane.AdminConfig()
	r.first.taken = make(chan struct{})
	kept, err := r.readFirst()
	if err != nil || kept != nil {
		r.first.snapshot = kept
		close(r.first.taken)
		return err
	}
	r.writes.hold(r.first.taken)
	go func() {
		defer close(r.first.taken)
		r.first.snapshot, r.first.err = r.takeFirst(ctx)
	}()
	return nil
}

func (r *Resetter) takeFirst(ctx context.Context) (snapshot, error) {
	first, err := r.awaitComplete(ctx)
	if err != nil || !r.cfg.Durable() {
		return first, err
	}
	return first, writeSnapshot(r.firstFile(), first)
}

// awaitComplete returns the current state when the controllers have settled and have created all objects that they always
// create. Without the second condition, a pause of a slow start would be mistaken for its end, and every Reset would delete the
// objects that the controllers then create again.
func (r *Resetter) awaitComplete(ctx context.Context) (snapshot, error) {
	patient, cancel := context.WithTimeout(ctx, timing.firstDeadline)
	defer cancel()
	for {
		settled := awaitSettled(patient, r.etcd)
		entries, _, err := readEntries(ctx, r.etcd)
		if err != nil {
			return nil, err
		}
		first := lasting(entries)
		missing := r.missing(first)
		if settled == nil && missing == "" {
			return first, nil
		}
		if settled != nil {
			klog.ErrorS(settled, "The controllers do not become idle; the current state is used as the initial state", "missing", missing)
			return first, nil
		}
	}
}

// systemNamespaces are the namespaces that an API server creates in each cluster.
var systemNamespaces = []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease}

// missing returns the name of an object that the API server or the controllers still have to create, or the empty string.
func (r *Resetter) missing(s snapshot) string {
	if _, chosen := r.cfg.ControllerManager["controllers"]; chosen {
		return "" // the user has chosen which controllers run
	}
	for _, name := range systemNamespaces {
		if key := "namespaces/" + name; s[storage.Registry+key] == nil {
			return key
		}
	}
	for key := range s {
		namespace, is := strings.CutPrefix(key, storage.Registry+"namespaces/")
		if !is {
			continue
		}
		for _, made := range []string{"serviceaccounts/" + namespace + "/default", "configmaps/" + namespace + "/kube-root-ca.crt"} {
			if _, there := s[storage.Registry+made]; !there {
				return made
			}
		}
	}
	return ""
}

// lasting returns the entries that are neither heartbeats nor events.
func lasting(entries []*mvccpb.KeyValue) snapshot {
	s := snapshot{}
	for _, entry := range entries {
		if key := string(entry.Key); !isVolatile(key) {
			s[key] = entry.Value
		}
	}
	return s
}

func (r *Resetter) firstFile() string { return filepath.Join(r.cfg.DataDir, "first-state") }

// readFirst returns the first state of an earlier start, or nil.
func (r *Resetter) readFirst() (snapshot, error) {
	if !r.cfg.Durable() {
		return nil, nil
	}
	data, err := os.ReadFile(r.firstFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var kept snapshot
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&kept); err != nil {
		return nil, fmt.Errorf("%s: %w", r.firstFile(), err)
	}
	return kept, nil
}

func writeSnapshot(path string, s snapshot) error {
	var data bytes.Buffer
	if err := gob.NewEncoder(&data).Encode(s); err != nil {
		return err
	}
	return pki.WriteFile(path, data.Bytes())
}

// gate delays the writes of users until a channel is closed.
type gate struct {
	until atomic.Pointer[chan struct{}]
}

func (g *gate) hold(until chan struct{}) { g.until.Store(&until) }

func (g *gate) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if until := g.until.Load(); until != nil && writes(r) && !controlplane.OwnComponent(r) {
			select {
			case <-*until:
			case <-r.Context().Done():
			}
		}
		next.ServeHTTP(w, r)
	})
}

func writes(r *http.Request) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions
}
