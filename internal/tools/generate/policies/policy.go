package policies

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// objects returns the policy and its binding.
func (r *rules) objects() ([]any, error) {
	spec, err := r.spec()
	if err != nil {
		return nil, err
	}
	binding, err := r.binding()
	if err != nil {
		return nil, err
	}
	meta := metav1.ObjectMeta{Name: r.name()}
	version := admissionv1.SchemeGroupVersion.String()
	return []any{
		admissionv1.ValidatingAdmissionPolicy{
			TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: "ValidatingAdmissionPolicy"}, ObjectMeta: meta, Spec: *spec,
		},
		admissionv1.ValidatingAdmissionPolicyBinding{
			TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: "ValidatingAdmissionPolicyBinding"}, ObjectMeta: meta, Spec: *binding,
		},
	}, nil
}

// name returns the policy's name in the cluster, which must differ from the names of other policies.
func (r *rules) name() string {
	if r.kind == nil {
		return r.markers[0].Name
	}
	return r.markers[0].Name + "." + r.kind.Name
}

func (r *rules) spec() (*admissionv1.ValidatingAdmissionPolicySpec, error) {
	first := r.markers[0]
	matched, err := r.matched()
	if err != nil {
		return nil, first.wrong(err)
	}
	failure, err := failures.say("failurePolicy", cmp.Or(first.FailurePolicy, "fail"))
	if err != nil {
		return nil, first.wrong(err)
	}
	policy := admissionv1.FailurePolicyType(failure[0])
	spec := &admissionv1.ValidatingAdmissionPolicySpec{FailurePolicy: &policy, MatchConstraints: matched}
	if first.Params != "" {
		if spec.ParamKind, err = paramKind(first.Params); err != nil {
			return nil, first.wrong(err)
		}
	}
	environment, err := r.environment()
	if err != nil {
		return nil, first.wrong(err)
	}
	var problems []error
	if first.Match != "" {
		problems = append(problems, environment.check(first, first.Match, truth))
		spec.MatchConditions = []admissionv1.MatchCondition{{Name: first.Name, Expression: first.Match}}
	}
	for _, marker := range r.markers {
		problems = append(problems, marker.add(spec, environment))
	}
	return spec, errors.Join(problems...)
}

// add adds the rule of one marker.
func (p placed) add(spec *admissionv1.ValidatingAdmissionPolicySpec, environment *environment) error {
	problems := []error{environment.check(p, p.Expression, truth)}
	rule := admissionv1.Validation{Expression: p.Expression, Message: p.Message, MessageExpression: p.MessageExpression}
	if p.Reason != "" {
		reason, err := reasons.say("reason", p.Reason)
		if err != nil {
			return p.wrong(err)
		}
		rule.Reason = new(metav1.StatusReason(reason[0]))
	}
	if p.MessageExpression != "" {
		problems = append(problems, environment.check(p, p.MessageExpression, text))
	}
	spec.Validations = append(spec.Validations, rule)
	if key, value, ok := strings.Cut(p.Audit, "="); ok {
		problems = append(problems, environment.check(p, value, text))
		spec.AuditAnnotations = append(spec.AuditAnnotations, admissionv1.AuditAnnotation{Key: key, ValueExpression: value})
	}
	return errors.Join(problems...)
}

// matched returns the resources to which the policy applies.
func (r *rules) matched() (*admissionv1.MatchResources, error) {
	first := r.markers[0]
	said, err := operations.say("operations", first.Operations...)
	if err != nil {
		return nil, err
	}
	if len(said) == 0 {
		said = []string{string(admissionv1.Create), string(admissionv1.Update)}
	}
	rule := admissionv1.Rule{APIGroups: first.Groups, APIVersions: first.Versions, Resources: first.Resources}
	if r.kind != nil {
		rule = admissionv1.Rule{APIGroups: []string{r.kind.Spec.Group}, APIVersions: []string{r.version}, Resources: []string{r.kind.Spec.Names.Plural}}
	}
	if len(rule.APIGroups) == 0 {
		rule.APIGroups = []string{""}
	}
	if len(rule.APIVersions) == 0 {
		rule.APIVersions = []string{"*"}
	}
	made := admissionv1.NamedRuleWithOperations{RuleWithOperations: admissionv1.RuleWithOperations{Rule: rule}}
	for _, operation := range said {
		made.Operations = append(made.Operations, admissionv1.OperationType(operation))
	}
	matched := &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{made}, MatchPolicy: new(admissionv1.Equivalent)}
	if matched.NamespaceSelector, err = selector("namespaces", first.Namespaces); err != nil {
		return nil, err
	}
	matched.ObjectSelector, err = selector("objects", first.Objects)
	return matched, err
}

func selector(argument, written string) (*metav1.LabelSelector, error) {
	if written == "" {
		return nil, nil
	}
	made, err := metav1.ParseToLabelSelector(written)
	if err != nil {
		return nil, fmt.Errorf("%s=%s: want a selector of labels, such as env=prod: %w", argument, written, err)
	}
	return made, nil
}

// paramKind reads VERSION/KIND or GROUP/VERSION/KIND.
func paramKind(written string) (*admissionv1.ParamKind, error) {
	parts := strings.Split(written, "/")
	if len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "") {
		return nil, fmt.Errorf("params=%s: want VERSION/KIND, such as v1/ConfigMap, or GROUP/VERSION/KIND", written)
	}
	last := len(parts) - 1
	return &admissionv1.ParamKind{APIVersion: strings.Join(parts[:last], "/"), Kind: parts[last]}, nil
}

func (r *rules) binding() (*admissionv1.ValidatingAdmissionPolicyBindingSpec, error) {
	first := r.markers[0]
	said, err := actions.say("actions", first.Actions...)
	if err != nil {
		return nil, first.wrong(err)
	}
	if len(said) == 0 {
		said = []string{string(admissionv1.Deny)}
	}
	spec := &admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: r.name()}
	for _, action := range said {
		spec.ValidationActions = append(spec.ValidationActions, admissionv1.ValidationAction(action))
	}
	if slices.Contains(said, string(admissionv1.Deny)) && slices.Contains(said, string(admissionv1.Warn)) {
		return nil, first.wrong(fmt.Errorf("actions=%s: deny and warn exclude each other: a rejected client sees the message anyway", strings.Join(first.Actions, ";")))
	}
	if first.Params != "" {
		spec.ParamRef = &admissionv1.ParamRef{Name: first.ParamsName, Namespace: first.ParamsNamespace, ParameterNotFoundAction: new(admissionv1.DenyAction)}
	}
	return spec, nil
}
