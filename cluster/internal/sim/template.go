package sim

import (
	"encoding/json"
	"strings"
	"time"

	"sigs.k8s.io/kwok/pkg/utils/gotpl"
)

// templateFunctions are the functions that stage templates may call in addition to KWOK's own.
var templateFunctions = gotpl.FuncMap{
	"Condition":     templateCondition,
	"NodeCondition": templateNodeCondition,
	"StartedAt":     templateStartedAt,
	"Restarts":      templateRestarts,
	"Containers":    templateContainers,
}

// templateCondition returns a condition on one line. Its transition time is the current time unless the object already has the
// condition with that status. A reason and a message may follow the status. Without them, an existing reason and message are
// removed.
func templateCondition(doc document, kind, status string, reasonMessage ...string) (string, error) {
	data, err := json.Marshal(condition(doc, kind, status, reasonMessage))
	return string(data), err
}

// templateNodeCondition is templateCondition for a node, whose conditions also have the time of the last heartbeat.
func templateNodeCondition(doc document, kind, status string, reasonMessage ...string) (string, error) {
	c := condition(doc, kind, status, reasonMessage)
	c["lastHeartbeatTime"] = now()
	data, err := json.Marshal(c)
	return string(data), err
}

func condition(doc document, kind, status string, reasonMessage []string) document {
	c := document{"type": kind, "status": status, "reason": nil, "message": nil, "lastTransitionTime": now()}
	for i, text := range reasonMessage {
		c[[]string{"reason", "message"}[i]] = text
	}
	if has := find(doc, "type", kind, "status", "conditions"); has["status"] == status {
		c["lastTransitionTime"] = has["lastTransitionTime"]
	}
	return c
}

// templateStartedAt returns when the named container started: the time in its status if it already runs with this image,
// otherwise the current time.
func templateStartedAt(doc document, list string, container document) string {
	status := find(doc, "name", container["name"], "status", list)
	running, ok := dig(status, "state", "running")
	if startedAt, text := running["startedAt"].(string); ok && text && status["image"] == container["image"] {
		return startedAt
	}
	return now()
}

// templateRestarts returns the number of restarts of a container: the number in its status, and one more if it runs a different
// image than in its spec.
func templateRestarts(doc document, list string, container document) (int64, error) {
	status := find(doc, "name", container["name"], "status", list)
	count, ok := status["restartCount"].(json.Number)
	if !ok {
		return 0, nil
	}
	restarts, err := count.Int64()
	if _, running := dig(status, "state", "running"); running && status["image"] != container["image"] {
		restarts++
	}
	return restarts, err
}

// templateContainers lists the names of a pod's containers in the format of the kubelet's messages: [app proxy].
func templateContainers(doc document) string {
	spec, _ := dig(doc, "spec")
	var names []string
	for _, item := range items(spec["containers"]) {
		name, _ := item["name"].(string)
		names = append(names, name)
	}
	return "[" + strings.Join(names, " ") + "]"
}

// find returns the item whose field key is value from the list at path, or an empty item.
func find(doc document, key string, value any, path ...string) document {
	parent, _ := dig(doc, path[:len(path)-1]...)
	for _, item := range items(parent[path[len(path)-1]]) {
		if item[key] == value {
			return item
		}
	}
	return document{}
}

// dig follows path through nested documents.
func dig(doc document, path ...string) (document, bool) {
	for _, key := range path {
		inner, ok := doc[key].(document)
		if !ok {
			return document{}, false
		}
		doc = inner
	}
	return doc, true
}

func items(list any) []document {
	var docs []document
	values, _ := list.([]any)
	for _, value := range values {
		if doc, ok := value.(document); ok {
			docs = append(docs, doc)
		}
	}
	return docs
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }
