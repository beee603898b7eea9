// Package contents makes the objects that an InstallPlan writes for a bundle: the ClusterServiceVersion, the CustomResourceDefinitions and
// the other objects. What it refuses, the lifecycle manager does not install. `operon bundle check` uses the same code.
package contents
