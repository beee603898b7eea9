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

// markerName is what markers begin with.
const markerName = "operon:policy"

// Marker is one rule of a policy. Several markers of one name, in one place, make one policy: what it matches and
// the result of it the first one says.
type Marker struct {
	// Name of the policy. In the cluster it gets the resource's after it: NAME.PLURAL.GROUP.
	Name string
	// Expression in CEL that is true for what is allowed. It knows object, oldObject, request,
	// namespaceObject, authorizer and, with Params, params.
	Expression string
	// Message is what a user is told otherwise; MessageExpression is CEL that makes it.
	Message           string `marker:",optional"`
	MessageExpression string `marker:"messageExpression,optional"`
	// Reason of the refusal: Invalid, Forbidden, Unauthorized or RequestEntityTooLarge.
	Reason string `marker:",optional"`
	// Operations: create, update, delete, connect. Default: create;update.
	Operations []string `marker:",optional"`
	// Match is CEL that has to be true for the policy to be asked.
	Match string `marker:",optional"`
	// Namespaces is a selector of labels: env=prod,team in (a,b). Objects is one of the object's.
	Namespaces string `marker:",optional"`
	Objects    string `marker:",optional"`
	// Actions are the result of who breaks the rule: deny, warn, audit. Default: deny.
	Actions []string `marker:",optional"`
	// FailurePolicy, where an expression cannot be judged: fail or ignore. Default: fail.
	FailurePolicy string `marker:"failurePolicy,optional"`
	// Audit is written to the audit log for each request: KEY=EXPRESSION.
	Audit string `marker:",optional"`
	// Params is the kind of the object that the expression knows as params, as VERSION/KIND or
	// GROUP/VERSION/KIND; ParamsName is the object's, in the namespace of what is judged or in ParamsNamespace.
	Params          string `marker:",optional"`
	ParamsName      string `marker:"paramsName,optional"`
	ParamsNamespace string `marker:"paramsNamespace,optional"`
	// FeatureGate is the one without which there is no such rule, as of a field that is behind it.
	FeatureGate string `marker:"featureGate,optional"`
	// Groups, Versions and Resources say what is matched, where the marker stands on no type.
	Groups    []string `marker:",optional"`
	Versions  []string `marker:",optional"`
	Resources []string `marker:",optional"`
}

// vocabulary are the marker on a type, and in a package.
var vocabulary = []*markers.Definition{
	markers.Must(markers.MakeDefinition(markerName, markers.DescribesType, Marker{})),
	markers.Must(markers.MakeDefinition(markerName, markers.DescribesPackage, Marker{})),
}

// words are what an argument may be, as it is written in markers and in objects.
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

// say translates what is written, or is the error that lists what may be.
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

// check is what is wrong with a marker by itself.
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
