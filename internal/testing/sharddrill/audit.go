// Package sharddrill proves with the audit log of an API server that replicas that share objects through package shard do not
// interfere. To provoke interference, it kills, stops, freezes and adds replicas at random while objects change.
package sharddrill

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/core/shardtable"
	"github.com/operon-framework/operon/internal/runtime/shard"
)

// Policy is the audit policy for logs that Read can read: writes, with their responses, by all clients except the cluster's own
// components.
const Policy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
omitManagedFields: true
rules:
  - level: None
    users: ["system:kube-controller-manager", "system:kube-scheduler", "system:simulated-nodes", "system:apiserver"]
  - level: None
    verbs: [get, list, watch]
  - level: None
    resources: [{group: events.k8s.io}, {group: authorization.k8s.io}, {group: authentication.k8s.io}]
  - level: RequestResponse
`

// Write is a write that took effect.
type Write struct {
	// Revision is the etcd revision of the write. For a deletion, it is the last revision before its response.
	Revision uint64
	At       time.Time
	// Replica is the replica that wrote, or "" for another client.
	Replica string
	Verb    string
	// Object is the written object. Owner is the UID that determines its slot.
	Object string
	Owner  types.UID
	// Generation and Observed are the generation and observed generation in the response.
	Generation, Observed int64
	// Table is the table that was written, if it was. Status reports whether a status was written.
	Table  *shardtable.Table
	Status bool
}

// line is a line of the log.
type line struct {
	Verb, UserAgent, RequestURI string
	StageTimestamp              time.Time
	ObjectRef                   struct{ Resource, Subresource, Namespace, Name string }
	ResponseStatus              struct{ Code int }
	ResponseObject              struct {
		Metadata metav1.ObjectMeta
		Status   json.RawMessage // a string if the response is not an object
	}
}

// agent precedes the name of a replica in its user agent.
const agent = "/replica/"

// A table is an object of tableResource whose name ends in tableSuffix.
const (
	tableResource = "leases"
	tableSuffix   = "-shards"
)

// Read returns the writes in a log and the recorded versions of tables, sorted by revision. The log records the write of a table as failed if its
// client timed out, even if it took effect.
func Read(path string, tables []Write) ([]Write, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var writes []Write
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 8<<20)
	owners := map[string]types.UID{}
	for number := 1; lines.Scan(); number++ {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, number, err)
		}
		w, err := l.write(owners)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, number, err)
		}
		if w != nil {
			writes = append(writes, *w)
		}
	}
	writes = append(writes, tables...)
	place(writes)
	slices.SortStableFunc(writes, func(a, b Write) int {
		switch {
		case a.Revision < b.Revision:
			return -1
		case a.Revision > b.Revision:
			return 1
		}
		return a.At.Compare(b.At)
	})
	return effective(writes), lines.Err()
}

// write returns the write in a line, or nil. owners contains the owners of objects in previous lines.
func (l *line) write(owners map[string]types.UID) (*Write, error) {
	resource := l.ObjectRef.Resource
	if l.ResponseStatus.Code >= 300 || strings.Contains(l.RequestURI, "dryRun=") {
		return nil, nil
	}
	if resource == tableResource && !strings.HasSuffix(l.ObjectRef.Name, tableSuffix) {
		return nil, nil
	}
	w := &Write{At: l.StageTimestamp, Verb: l.Verb, Object: resource + " " + l.ObjectRef.Namespace + "/" + l.ObjectRef.Name, Status: l.ObjectRef.Subresource == "status"}
	if _, replica, found := strings.Cut(l.UserAgent, agent); found {
		w.Replica, _, _ = strings.Cut(replica, " ")
	}
	answer := l.ResponseObject
	if l.Verb == "delete" {
		w.Owner = owners[w.Object]
		return w, nil
	}
	if err := w.at(answer.Metadata.ResourceVersion); err != nil {
		return nil, err
	}
	w.Generation = answer.Metadata.Generation
	var status struct{ ObservedGeneration int64 }
	if json.Unmarshal(answer.Status, &status) == nil {
		w.Observed = status.ObservedGeneration
	}
	if resource == tableResource {
		parsed, err := shardtable.Parse(answer.Metadata.Annotations[shard.TableAnnotation])
		w.Table = &parsed
		return w, err
	}
	w.Owner = answer.Metadata.UID
	if owner := answer.Metadata.Labels[plan.OwnerLabel]; owner != "" {
		w.Owner = types.UID(owner)
	}
	owners[w.Object] = w.Owner
	return w, nil
}

// at sets the revision of a write. Without a revision, the order of the write is unknown, and the log proves nothing.
func (w *Write) at(revision string) (err error) {
	if w.Revision, err = strconv.ParseUint(revision, 10, 64); err != nil || w.Revision == 0 {
		return fmt.Errorf("%s %s: its answer has the resourceVersion %q, want that of an object that was written: let the audit policy leave out what is none",
			w.Verb, w.Object, revision)
	}
	return nil
}

// place sets the revision of deletions, whose responses contain none, to the last revision before their response: a replica
// that releases a slot has received all its responses.
func place(writes []Write) {
	slices.SortStableFunc(writes, func(a, b Write) int { return a.At.Compare(b.At) })
	last := uint64(0)
	for i := range writes {
		if writes[i].Verb != "delete" {
			last = max(last, writes[i].Revision)
			continue
		}
		writes[i].Revision = last
	}
}

// effective removes writes that changed nothing: they have no new revision.
func effective(writes []Write) []Write {
	last := map[string]uint64{}
	return slices.DeleteFunc(writes, func(w Write) bool {
		nothing := w.Verb != "delete" && last[w.Object] == w.Revision
		last[w.Object] = w.Revision
		return nothing
	})
}
