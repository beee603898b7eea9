package policies

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-tools/pkg/markers"
)

// markerName is the name of the markers.
const markerName = "operon:policy"

// Marker is one rule of a policy. Several markers with the same name at one place define one policy: the first one defines
// what the policy matches and its effect.
type Marker struct {
	// Name is the name of the policy. In the cluster, the name of the resource is appended: NAME.PLURAL.GROUP.
	Name string
	// Expression is a CEL expression that is true for allowed requests. It can use object, oldObject, request, namespaceObject,
	// authorizer and, with Params, params.
	Expression string
	// Message is the message for a user whose request is rejected; MessageExpression is a CEL expression that returns it.
	Message           string `marker:",optional"`
	MessageExpression string `marker:"messageExpression,optional"`
	// Reason is the reason of the rejection: Invalid, Forbidden, Unauthorized or RequestEntityTooLarge.
	Reason string `marker:",optional"`
	// Operations lists operations to match: create, update, delete, connect. Default: create;update.
	Operations []string `marker:",optional"`
	// Match is a CEL expression that must be true for the policy to apply.
	Match string `marker:",optional"`
	// Namespaces is a label selector for the namespace: env=prod,team in (a,b). Objects is a label selector for the object.
	Namespaces string `marker:",optional"`
	Objects    string `marker:",optional"`
	// Actions are the effects of a violation: deny, warn, audit. Default: deny.
	Actions []string `marker:",optional"`
	// FailurePolicy applies if an expression cannot be evaluated: fail or ignore. Default: fail.
	FailurePolicy string `marker:"failurePolicy,optional"`
	// Audit is written to the audit log for each request: KEY=EXPRESSION.
	Audit string `marker:",optional"`
	// Params is the kind of the object that the expression can use as params, as VERSION/KIND or GROUP/VERSION/KIND. ParamsName
	// is the name of this object, in the namespace of the checked object or in ParamsNamespace.
	Params          string `marker:",optional"`
	ParamsName      string `marker:"paramsName,optional"`
	ParamsNamespace string `marker:"paramsNamespace,optional"`
	// FeatureGate is the feature gate that enables the rule, as for a gated field.
	FeatureGate string `marker:"featureGate,optional"`
	// Groups, Versions and Resources define what is matched if the marker is not on a type.
	Groups    []string `marker:",optional"`
	Versions  []string `marker:",optional"`
	Resources []string `marker:",optional"`
}

// vocabulary defines the marker for types and for packages.
var vocabulary = []*markers.Definition{
	markers.Must(markers.MakeDefinition(markerName, markers.DescribesType, Marker{})),
	markers.Must(markers.MakeDefinition(markerName, markers.DescribesPackage, Marker{})),
}

// words maps the valid values of an argument in markers to their values in objects.
type words map[string]string

var (
	operations = words{
		"create": string(admissionv1.Create), "update": string(admissionv1.Update), "delete": string(admissionv1.Delete), "connect": string(admissionv1.Connect),
	}
	actions  = words{"deny": string(admissionv1.Deny), "warn": string(admissionv1.Warn), "audit": string(admissionv1.Audit)}
	failures = words{"fail": string(admissionv1.Fail), "ignore": string(admissionv1.Ignore)}
	reasons  = words{
		"invalid": string(metav1.StatusReasonInvalid), "forbidden": string(metav1.StatusReasonForbidden),
		"unauthorized": string(metav1.StatusReasonUnauthorized), "requestentitytoolarge": string(metav1.StatusReasonRequestEntityTooLarge),
	}
)

// say translates values of an argument. For an invalid value it returns an error that lists the valid ones.
func (w words) say(argument string, written ...string) ([]string, error) {
	var said []string
	for _, one := range written {
		word, ok := w[strings.ToLower(one)]
		if !ok {
			return nil, fmt.Errorf("%s=%s: want %s", argument, one, w)
		}
		said = append(said, word)
	}
	return said, nil
}

func (w words) String() string {
	var all []string
	for _, word := range w {
		all = append(all, word)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// check validates a single marker.
func (m Marker) check(onType bool) error {
	for _, wrong := range validation.IsDNS1123Subdomain(m.Name) {
		return fmt.Errorf("name=%s: %s", m.Name, wrong)
	}
	switch {
	case strings.TrimSpace(m.Expression) == "":
		return fmt.Errorf("expression is empty: want CEL that is true for what is allowed")
	case m.Message != "" && m.MessageExpression != "":
		return fmt.Errorf("message and messageExpression: want one of them")
	case onType && len(m.Groups)+len(m.Versions)+len(m.Resources) > 0:
		return fmt.Errorf("groups, versions and resources are those of the type that the marker stands on: leave them out, or put the marker above the package clause")
	case !onType && len(m.Resources) == 0:
		return fmt.Errorf("it stands on no type: want resources=PLURAL, and groups= and versions=")
	case (m.Params == "") != (m.ParamsName == ""):
		return fmt.Errorf("params and paramsName: want both or none")
	case m.Audit != "" && !strings.Contains(m.Audit, "="):
		return fmt.Errorf("audit=%s: want KEY=EXPRESSION", m.Audit)
	}
	return nil
}
