// Package kube reads and writes objects of any kind in a cluster. Every tool that puts objects into a cluster uses
// it, so that they are all written in the same way:
//
//   - by server-side apply that takes over conflicting fields and validates all fields strictly,
//     under the tool's own field manager;
//   - with a label that tells a tool its own objects from those of others ([SetLabel]);
//   - CustomResourceDefinitions first: [Client.InstallCRDs] returns when the API server serves them.
//
// The API server limits the rate of requests. Its warnings are dropped, because they would appear between the lines
// of a tool's own output.
//
// CustomResourceDefinitions are read by [ReadCRD], from a cluster or a manifest alike.
package kube
