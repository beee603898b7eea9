// Package chartkind derives the CustomResourceDefinition and the permissions of an operator from its Helm chart. The schema follows
// values.schema.json or values.yaml, and leaves open what a CustomResourceDefinition cannot express. The permissions follow from what
// the chart renders with its values and with its switches turned, without a cluster.
package chartkind
