// Package kube reads and writes objects of any kind in a cluster. The tools that install objects of manifests use it, so
// that these are written in the same way:
//
//   - by server-side apply that takes over conflicting fields and validates all fields strictly,
//     under the tool's own field manager;
//   - with a label that distinguishes a tool's own objects from others ([SetLabel]);
//   - CustomResourceDefinitions first: [Client.InstallCRDs] returns when the API server serves them.
//
// The API server limits the rate of requests. Its warnings are dropped, because they would appear between the lines of a
// tool's own output.
//
// [ReadCRD] decodes CustomResourceDefinitions from a cluster or a manifest.
package kube
