// Package csv manages ClusterServiceVersions: it runs the operators that they describe, as soon as what they need exists.
package csv
