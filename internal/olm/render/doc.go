// Package render makes the objects of an operator from its ClusterServiceVersion and the namespaces of its OperatorGroup. It has no client.
package render
