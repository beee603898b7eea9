package controlplane

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"k8s.io/klog/v2"

	"github.com/operon-framework/operon/cluster/internal/pki"
)

// snapshot is what etcd held at one time: key → value.
type snapshot map[string][]byte

// firstState is the state that Reset returns to. It is taken when the controllers have
// done what they do in an empty cluster, which is a moment after the cluster can be used;
// until then writes of users wait, so that none of them is taken for the cluster's own.
type firstState struct {
	taken chan struct{} // closed when snapshot and err are final
	snapshot
	err error
}

// firstDeadline is how long writes wait at most for the controllers to settle. It takes a
// second; a machine that is busy with something else may need much longer.
const firstDeadline = time.Minute

// RememberFirst makes the state that this cluster settles in the one that Reset returns
// to. Where the state was kept from an earlier start, that start's first state stays the
// first. It returns at once.
func (cp *ControlPlane) RememberFirst(ctx context.Context) error {
	cp.first.taken = make(chan struct{})
	kept, err := cp.readFirst()
	if err != nil || kept != nil {
		cp.first.snapshot = kept
		close(cp.first.taken)
		return err
	}
	cp.writes.hold(cp.first.taken)
	go func() {
		defer close(cp.first.taken)
		cp.first.snapshot, cp.first.err = cp.takeFirst(ctx)
	}()
	return nil
}

func (cp *ControlPlane) takeFirst(ctx context.Context) (snapshot, error) {
	first, err := cp.awaitComplete(ctx)
	if err != nil || !cp.cfg.durable() {
		return first, err
	}
	return first, writeSnapshot(cp.firstFile(), first)
}

// awaitComplete returns the present state when the controllers have settled in it and have
// made what they always make. Without that a slow start would be taken for an end, and
// Reset would then delete for ever what they make again.
func (cp *ControlPlane) awaitComplete(ctx context.Context) (snapshot, error) {
	patient, cancel := context.WithTimeout(ctx, firstDeadline)
	defer cancel()
	for {
		settled := cp.store.awaitSettled(patient)
		entries, _, err := cp.store.entries(ctx)
		if err != nil {
			return nil, err
		}
		first := lasting(entries)
		missing := cp.missing(first)
		if settled == nil && missing == "" {
			return first, nil
		}
		if settled != nil {
			klog.ErrorS(settled, "The controllers do not settle; the first state is the present one", "missing", missing)
			return first, nil
		}
	}
}

// missing names an object that the controllers will make in a namespace of s, or nothing.
func (cp *ControlPlane) missing(s snapshot) string {
	if _, chosen := cp.cfg.ControllerManager["controllers"]; chosen {
		return "" // which of them run is its user's choice
	}
	for key := range s {
		namespace, is := strings.CutPrefix(key, registry+"namespaces/")
		if !is {
			continue
		}
		for _, made := range []string{"serviceaccounts/" + namespace + "/default", "configmaps/" + namespace + "/kube-root-ca.crt"} {
			if _, there := s[registry+made]; !there {
				return made
			}
		}
	}
	return ""
}

// lasting is what of entries is neither a heartbeat nor an event.
func lasting(entries []*mvccpb.KeyValue) snapshot {
	s := snapshot{}
	for _, entry := range entries {
		if key := string(entry.Key); !isVolatile(key) {
			s[key] = entry.Value
		}
	}
	return s
}

func (cp *ControlPlane) firstFile() string { return filepath.Join(cp.cfg.DataDir, "first-state") }

// readFirst returns the first state of an earlier start, or nil.
func (cp *ControlPlane) readFirst() (snapshot, error) {
	if !cp.cfg.durable() {
		return nil, nil
	}
	data, err := os.ReadFile(cp.firstFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var kept snapshot
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&kept); err != nil {
		return nil, fmt.Errorf("%s: %w", cp.firstFile(), err)
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

// gate holds back the writes of users until a channel is closed.
type gate struct {
	until atomic.Pointer[chan struct{}]
}

func (g *gate) hold(until chan struct{}) { g.until.Store(&until) }

func (g *gate) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if until := g.until.Load(); until != nil && writes(r) && !OwnComponent(r) {
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

// loopbackName is the server name by which the API server calls itself.
const loopbackName = "apiserver-loopback-client"

// OwnComponent tells whether a request comes from the cluster itself: from the API
// server, or from a component whose user name starts with SystemPrefix.
func OwnComponent(r *http.Request) bool {
	if r.TLS == nil {
		return false
	}
	if r.TLS.ServerName == loopbackName {
		return true
	}
	certs := r.TLS.PeerCertificates
	return len(certs) > 0 && strings.HasPrefix(certs[0].Subject.CommonName, SystemPrefix)
}
