// Package chartkind derives the CustomResourceDefinition and the permissions of an operator from its Helm chart. The schema follows
// values.schema.json or values.yaml, and leaves parts open that a CustomResourceDefinition cannot express. The permissions follow from the
// objects that the chart renders with its default values and with its boolean values inverted, without a cluster.
package chartkind
