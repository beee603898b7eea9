// Package external lets an operator manage resources outside of Kubernetes: machines, buckets, accounts, rows in a
// database. Start with a [Provider], which observes, creates, updates and deletes one kind of resource, and
// declare resources with operon.ExternalKind. Add a [Finder] if the external system can look a resource up by its key.
//
// The operator records the resources of an object in an annotation of that object. It records a token before it
// creates a resource, and the ID afterwards. If it finds a token without an ID, after a crash for example, it asks
// the external system for the resource by its key, and takes over what exists instead of creating a second one.
// [Next] is this policy.
//
// The package is pure: apart from the methods of your providers it calls nothing, and it writes nothing.
package external
