// Package plan makes the objects that an InstallPlan writes for a bundle: the ClusterServiceVersion, the CustomResourceDefinitions
// and the other objects of the bundle. It has no client.
package plan
