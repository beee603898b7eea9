package policies

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/util/version"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	celenvironment "k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
	"k8s.io/apiserver/pkg/cel/openapi"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Types that an expression may have.
var (
	truth = cel.BoolType
	text  = cel.StringType
)

// environment is the CEL environment of a policy's expressions.
type environment struct{ *cel.Env }

// environment returns the environment of an API server, with the schema of the kind if it is known.
func (r *rules) environment() (*environment, error) {
	request, namespace := plugincel.BuildRequestType(), plugincel.BuildNamespaceType()
	declared := []*apiservercel.DeclType{request, namespace}
	object := cel.DynType
	if r.kind != nil {
		is, err := r.objectType()
		if err != nil {
			return nil, err
		}
		declared, object = append(declared, is), is.CelType()
	}
	options := []cel.EnvOption{
		cel.Variable(plugincel.ObjectVarName, object), cel.Variable(plugincel.OldObjectVarName, object),
		cel.Variable(plugincel.RequestVarName, request.CelType()), cel.Variable(plugincel.NamespaceVarName, namespace.CelType()),
		cel.Variable(plugincel.AuthorizerVarName, library.AuthorizerType), cel.Variable(plugincel.RequestResourceAuthorizerVarName, library.ResourceCheckType),
	}
	if r.markers[0].Params != "" {
		options = append(options, cel.Variable(plugincel.ParamsVarName, cel.DynType))
	}
	base := celenvironment.MustBaseEnvSet(celenvironment.DefaultCompatibilityVersion())
	extended, err := base.Extend(celenvironment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0), EnvOptions: options, DeclTypes: declared,
	})
	if err != nil {
		return nil, fmt.Errorf("what expressions know: %w", err)
	}
	env, err := extended.Env(celenvironment.NewExpressions)
	return &environment{env}, err
}

// objectType returns the type defined by the kind's schema, with a complete schema of metadata: definitions leave this to API
// servers.
func (r *rules) objectType() (*apiservercel.DeclType, error) {
	for _, one := range r.kind.Spec.Versions {
		if one.Name != r.version {
			continue
		}
		content, err := json.Marshal(one.Schema.OpenAPIV3Schema)
		if err != nil {
			return nil, err
		}
		var schema spec.Schema
		if err := json.Unmarshal(content, &schema); err != nil {
			return nil, fmt.Errorf("the schema of %s: %w", r.kind.Name, err)
		}
		schema.Properties["metadata"] = metadata()
		is := common.SchemaDeclType(&openapi.Schema{Schema: &schema}, false)
		if is == nil {
			return nil, fmt.Errorf("the schema of %s has no fields", r.kind.Name)
		}
		return is.MaybeAssignTypeName(r.kind.Spec.Names.Kind), nil
	}
	return nil, fmt.Errorf("%s has no version %s", r.kind.Name, r.version)
}

// metadata returns the schema of the part of metadata that rules use.
func metadata() spec.Schema {
	made := spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}, Properties: map[string]spec.Schema{}}}
	for _, name := range []string{"name", "generateName", "namespace", "uid", "resourceVersion"} {
		made.Properties[name] = *spec.StringProperty()
	}
	for _, name := range []string{"labels", "annotations"} {
		made.Properties[name] = *spec.MapProperty(spec.StringProperty())
	}
	for _, name := range []string{"creationTimestamp", "deletionTimestamp"} {
		made.Properties[name] = *spec.DateTimeProperty()
	}
	made.Properties["generation"] = *spec.Int64Property()
	made.Properties["deletionGracePeriodSeconds"] = *spec.Int64Property()
	made.Properties["finalizers"] = *spec.ArrayProperty(spec.StringProperty())
	made.Properties["ownerReferences"] = *spec.ArrayProperty(owner())
	return made
}

func owner() *spec.Schema {
	made := &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}, Properties: map[string]spec.Schema{}}}
	for _, name := range []string{"apiVersion", "kind", "name", "uid"} {
		made.Properties[name] = *spec.StringProperty()
	}
	for _, name := range []string{"controller", "blockOwnerDeletion"} {
		made.Properties[name] = *spec.BooleanProperty()
	}
	return made
}

// check compiles an expression. It reports errors at their place in the marker.
func (e *environment) check(at placed, expression string, wanted *cel.Type) error {
	compiled, issues := e.Compile(expression)
	var problems []error
	for _, problem := range issues.Errors() {
		by := 0
		if problem.Location.Line() == 1 {
			by = problem.Location.Column() // from 0
		}
		problems = append(problems, at.wrongIn(expression, by, fmt.Errorf("%s: %s", problem.Message, expression)))
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	if is := compiled.OutputType(); !is.IsExactType(wanted) && !is.IsExactType(cel.DynType) {
		return at.wrongIn(expression, 0, fmt.Errorf("it has the type %s, want %s: %s", is, wanted, expression))
	}
	return nil
}
