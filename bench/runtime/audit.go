package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
)

// operatorAgent is the suffix of the user agent of the operators' requests, and of no other requests.
const operatorAgent = "bench-operator"

// auditPolicy logs the requests of users with a certificate: the operators and this program.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
omitManagedFields: true
rules:
  - level: None
    users: ["system:kube-controller-manager", "system:kube-scheduler", "system:simulated-nodes", "system:apiserver"]
  - level: Metadata
`

// request is a line of the audit log.
type request struct {
	Verb                     string
	UserAgent                string
	RequestReceivedTimestamp time.Time
	ObjectRef                struct{ Resource, Subresource string }
}

// kind is the category in which a request is counted.
type kind string

const (
	read  kind = "read"
	write kind = "write"
	event kind = "event"
	// aside are requests that an idle operator may send: watches, and requests for leases.
	aside kind = "aside"
)

func (r request) kind() kind {
	switch {
	case r.ObjectRef.Resource == "leases" || r.Verb == "watch" || r.ObjectRef.Resource == "":
		return aside
	case r.ObjectRef.Resource == "events":
		return event
	case r.Verb == "get" || r.Verb == "list":
		return read
	}
	return write
}

// audit reads a growing audit log.
type audit struct{ path string }

// mark is a time, and how long the log was then. It grows to hundreds of megabytes.
type mark struct {
	at   time.Time
	size int64
}

// now returns a mark for requests from now on.
func (a audit) now() mark {
	m := mark{at: time.Now()}
	if info, err := os.Stat(a.path); err == nil { // otherwise no request was logged yet, or count reports the error
		m.size = info.Size()
	}
	return m
}

// count counts the operator's requests since a mark, by kind.
func (a audit) count(since mark) (map[kind]int64, error) {
	file, err := os.Open(a.path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[kind]int64{}, nil // no request was logged yet
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	counts := map[kind]int64{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	if since.size > 0 { // the mark may be within a line
		if _, err := file.Seek(since.size-1, io.SeekStart); err != nil {
			return nil, err
		}
		lines.Scan()
	}
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s: %w", a.path, err)
		}
		if strings.HasSuffix(r.UserAgent, "/"+operatorAgent) && !r.RequestReceivedTimestamp.Before(since.at) {
			counts[r.kind()]++
		}
	}
	return counts, lines.Err()
}
