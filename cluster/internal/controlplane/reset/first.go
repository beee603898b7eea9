package reset

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
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
// from an earlier start, the first state of that start is used, unless the cluster now creates other objects at its start than
// it did then: a reset would delete them, so it fails. node is the kind of the nodes. RememberFirst returns at once.
func (r *Resetter) RememberFirst(ctx context.Context, plane *controlplane.ControlPlane, node string) error {
	r.admin = plane.AdminConfig()
	r.origin = newOrigin(r.cfg, node)
	r.first.taken = make(chan struct{})
	kept, of, err := r.readFirst()
	if err != nil || kept != nil {
		r.first.snapshot, r.first.err = kept, r.origin.check(of, r.firstFile())
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
	return first, writeFirst(r.firstFile(), first, r.origin)
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
func (r *Resetter) readFirst() (snapshot, origin, error) {
	if !r.cfg.Durable() {
		return nil, nil, nil
	}
	data, err := os.ReadFile(r.firstFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	var kept snapshot
	var of origin
	decoder := gob.NewDecoder(bytes.NewReader(data))
	err = decoder.Decode(&kept)
	if err == nil {
		err = decoder.Decode(&of)
	}
	if err != nil && !(errors.Is(err, io.EOF) && kept != nil) { // earlier versions did not write the origin
		return nil, nil, fmt.Errorf("%s: %w", r.firstFile(), err)
	}
	return kept, of, nil
}

func writeFirst(path string, s snapshot, of origin) error {
	var data bytes.Buffer
	encoder := gob.NewEncoder(&data)
	if err := errors.Join(encoder.Encode(s), encoder.Encode(of)); err != nil {
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
