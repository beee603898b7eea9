// Package rbac contains what all tools know about RBAC permissions. A [Permission] is one verb on one kind of
// objects; API servers and manifests speak of rules, which grant many at once. The package converts between the two:
//
//	Permissions(rule)     all permissions of a rule
//	Rules(permissions)    the fewest rules that grant permissions, and no more
//	Lines(rule)           a rule as YAML
//	Marker                a rule as a comment of kubebuilder's in Go code
//
// A [Set] collects what an operator lacks, from the sentence by which the API server refuses a request:
//
//	pods is forbidden: User "system:serviceaccount:ns:name" cannot list resource "pods"
//	in API group "" in the namespace "default"
//
// Client libraries of all languages carry it into errors and logs, so that it works for every operator.
package rbac
