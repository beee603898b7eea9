// Package create makes bundles of operator projects, in the layout registry+v1. A bundle has the same objects as a deployment of the
// project: permissions and Deployments become fields of the ClusterServiceVersion, and the others manifests.
package create
