// Package v1 has markers with a mistake each.
//
// +groupName=policies.example.com
package v1

// +operon:policy:name=nowhere,expression="true"

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Crate holds bottles.
//
// +operon:policy:name=field,expression="object.spec.size <= 24"
// +operon:policy:name=syntax,expression="object.spec.bottles <= "
// +operon:policy:name=type,expression="object.spec.bottles"
// +operon:policy:name=NAME,expression="true"
// +operon:policy:name=operation,expression="true",operations=change
// +operon:policy:name=action,expression="true",actions=refuse
// +operon:policy:name=both,expression="true",actions=deny;warn
// +operon:policy:name=params,expression="true",params=ConfigMap,paramsName=limits
// +operon:policy:name=unknown,expression="params.data == {}"
// +operon:policy:name=said,expression="true",message="a",messageExpression="'a'"
// +operon:policy:name=selector,expression="true",namespaces="a b c"
type Crate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              Spec `json:"spec"`
}

// Spec is what a crate is to hold.
type Spec struct {
	Bottles int64 `json:"bottles"`
}

// Part is no kind.
//
// +operon:policy:name=part,expression="true"
type Part struct {
	Name string `json:"name"`
}
