package webhook

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Rule is a CEL expression that must be true for an object to be stored.
type Rule struct {
	// Check is the CEL expression. It can use object, oldObject (null for an object that is created), request and
	// namespaceObject.
	Check string
	// Message is shown to the user if Check is false.
	Message string
}

// Policy holds the rules for one kind.
type Policy struct {
	Kind  schema.GroupVersionKind
	Rules []Rule
}

var (
	policyKind  = admissionv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicy")
	bindingKind = admissionv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicyBinding")
)

// policy is the desired state of a ValidatingAdmissionPolicy, or its binding.
type policy struct {
	Policy
	bound  bool
	name   string
	owner  string
	scoped []string
	mapper meta.RESTMapper
}

func (p *policy) id() ident {
	if p.bound {
		return ident{kind: bindingKind, name: p.name}
	}
	return ident{kind: policyKind, name: p.name}
}

// asked implements registration: API servers send no requests for a policy.
func (p *policy) asked(*unstructured.Unstructured) []asked { return nil }

// wanted implements registration.
func (p *policy) wanted(live *unstructured.Unstructured, _ bundler, leads bool) (*unstructured.Unstructured, error) {
	if !leads {
		return nil, nil
	}
	object, same, err := p.compare(live)
	if err != nil || same {
		return nil, err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	unstructured.RemoveNestedField(content, "status")
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	return &unstructured.Unstructured{Object: content}, nil
}

// compare returns the desired state, and whether the live state equals it.
func (p *policy) compare(live *unstructured.Unstructured) (any, bool, error) {
	if p.bound {
		want, is := p.binding(), admissionv1.ValidatingAdmissionPolicyBinding{}
		if live == nil {
			return want, false, nil
		}
		err := typedFrom(live, &is)
		return want, equality.Semantic.DeepEqual(want.Spec, is.Spec) && is.Labels[labelManagedBy] == p.owner, err
	}
	want, err := p.policy()
	if err != nil || live == nil {
		return want, false, err
	}
	var is admissionv1.ValidatingAdmissionPolicy
	err = typedFrom(live, &is)
	return want, equality.Semantic.DeepEqual(want.Spec, is.Spec) && is.Labels[labelManagedBy] == p.owner, err
}

func (p *policy) meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: p.name, Labels: map[string]string{labelManagedBy: p.owner}}
}

func (p *policy) binding() *admissionv1.ValidatingAdmissionPolicyBinding {
	return &admissionv1.ValidatingAdmissionPolicyBinding{
		TypeMeta:   typeMeta(bindingKind),
		ObjectMeta: p.meta(),
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        p.name,
			ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
}

func (p *policy) policy() (*admissionv1.ValidatingAdmissionPolicy, error) {
	mapping, err := p.mapper.RESTMapping(p.Kind.GroupKind(), p.Kind.Version)
	if err != nil {
		return nil, err
	}
	spec := admissionv1.ValidatingAdmissionPolicySpec{
		FailurePolicy:   new(admissionv1.Fail),
		MatchConditions: always(Validate),
		MatchConstraints: &admissionv1.MatchResources{
			NamespaceSelector: selectorOf(p.scoped, mapping),
			ObjectSelector:    &metav1.LabelSelector{},
			MatchPolicy:       new(admissionv1.Equivalent),
			ResourceRules:     []admissionv1.NamedRuleWithOperations{{RuleWithOperations: ruleOf(Validate, mapping)}},
		},
	}
	for _, rule := range p.Rules {
		spec.Validations = append(spec.Validations, admissionv1.Validation{Expression: rule.Check, Message: rule.Message})
	}
	return &admissionv1.ValidatingAdmissionPolicy{TypeMeta: typeMeta(policyKind), ObjectMeta: p.meta(), Spec: spec}, nil
}
