// Package v1 has policies on a type, and on kinds of others.
//
// +groupName=policies.example.com
package v1

// No pod of a namespace that is labelled strict runs as root.
//
// +operon:policy:name=no-root.policies.example.com,resources=pods,operations=create,namespaces="policies.example.com/strict=true",actions=deny;audit,expression="!has(object.spec.hostPID) || !object.spec.hostPID",message="no pods that see the node's processes",failurePolicy=ignore

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Crate holds bottles.
//
// +operon:policy:name=size,expression="object.spec.bottles <= 24",message="a crate holds at most 24 bottles",reason=invalid,audit="bottles=string(object.spec.bottles)"
// +operon:policy:name=size,expression="request.operation == 'CREATE' || object.spec.bottles >= oldObject.spec.bottles",messageExpression="'a crate of ' + string(oldObject.spec.bottles) + ' cannot shrink'"
// +operon:policy:name=limit,params=v1/ConfigMap,paramsName=limits,match="!has(object.metadata.labels) || !('free' in object.metadata.labels)",expression="!('most' in params.data) || object.spec.bottles <= int(params.data.most)",message="more than is allowed here",actions=warn
type Crate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              Spec `json:"spec"`
}

// Spec is what a crate is to hold.
type Spec struct {
	Bottles int64 `json:"bottles"`
	// +optional
	Note string `json:"note,omitempty"`
}
