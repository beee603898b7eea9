// Package recorder records Kubernetes events with the API that the operator has the permission to use: events.k8s.io, or the core API,
// which the Roles of many existing projects allow alone.
//
// Both APIs serve the same objects.
package recorder
