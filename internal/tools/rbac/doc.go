// Package rbac contains the code about RBAC permissions that all tools share. A [Permission] is one verb on one kind of
// objects. API servers and manifests use rules, which grant many permissions at once. The package converts between the two:
//
//	Permissions(rule)     all permissions of a rule
//	Rules(permissions)    the fewest rules that grant permissions, and no more
//	Lines(rule)           a rule as YAML
//	Marker                a rule as a comment of kubebuilder's in Go code
//
// A [Set] collects the permissions that an operator lacks, from the sentence with which the API server rejects a request:
//
//	pods is forbidden: User "system:serviceaccount:ns:name" cannot list resource "pods"
//	in API group "" in the namespace "default"
//
// Client libraries in all languages include it in errors and logs, so that this works for every operator.
package rbac
