// Package cel lets you write the readiness of a child as an expression in the Common Expression Language (CEL),
// with the environment that CRDs and admission policies have: Kubernetes' functions such as quantity() and
// isIP(), and optional fields:
//
//	out.Child(database, cel.ReadyWhen("self.?status.?phase.orValue('') == 'Up'"))
//
// It is a separate package because CEL brings a parser and its tables. An operator that does not import this
// package does not carry them in its binary and memory.
package cel

import (
	"fmt"
	"sync"

	gocel "github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/runtime/author"
)

const (
	// maxCost bounds an evaluation, in the units of cel-go: about 10 ms.
	maxCost = 1_000_000
	// maxKept bounds how many expressions are kept compiled. Those of one operator are few,
	// unless it makes them of what users write.
	maxKept = 256
)

// ReadyWhen decides by an expression whether the child is ready. The child is self, and the result must be a bool.
// If a field does not exist yet, the child is not ready; has(self.status.x) and self.?status.?x read it without an
// error. An expression that does not compile stalls the object with the reason InvalidChild. Each expression is
// compiled only once.
func ReadyWhen(expression string) operon.ChildOption {
	program, err := compiled(expression)
	if err != nil {
		return author.Invalid(fmt.Errorf("readiness %q: %w", expression, err))
	}
	return author.ReadyAs(expression, told(expression, program))
}

// Condition compiles an expression to a function that reports whether it is true for an object, which is self, and
// if not, why. Each expression is compiled only once.
func Condition(expression string) (func(*unstructured.Unstructured) (bool, string), error) {
	program, err := compiled(expression)
	if err != nil {
		return nil, fmt.Errorf("condition %q: %w", expression, err)
	}
	return told(expression, program), nil
}

func told(expression string, program gocel.Program) func(*unstructured.Unstructured) (bool, string) {
	return func(live *unstructured.Unstructured) (bool, string) {
		result, _, err := program.Eval(map[string]any{"self": live.Object})
		if err != nil {
			return false, fmt.Sprintf("%s: %v", expression, err)
		}
		if result.Value() != true {
			return false, fmt.Sprintf("%s is %v", expression, result.Value())
		}
		return true, ""
	}
}

// programs are the expressions that were compiled.
var programs = struct {
	sync.Mutex
	kept map[string]gocel.Program
}{kept: map[string]gocel.Program{}}

func compiled(expression string) (gocel.Program, error) {
	programs.Lock()
	defer programs.Unlock()
	if program := programs.kept[expression]; program != nil {
		return program, nil
	}
	program, err := compile(expression)
	if err == nil && len(programs.kept) < maxKept {
		programs.kept[expression] = program
	}
	return program, err
}

// kubernetes is the environment of CEL in Kubernetes, with the variable self. It is created when first needed.
var kubernetes = sync.OnceValues(func() (*gocel.Env, error) {
	extended, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions:        []gocel.EnvOption{gocel.Variable("self", gocel.DynType)},
	})
	if err != nil {
		return nil, err
	}
	return extended.Env(environment.NewExpressions)
})

func compile(expression string) (gocel.Program, error) {
	env, err := kubernetes()
	if err != nil {
		return nil, err
	}
	parsed, issues := env.Compile(expression)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	if kind := parsed.OutputType(); kind != gocel.BoolType && kind != gocel.DynType {
		return nil, fmt.Errorf("the result is of type %s, and not bool", kind)
	}
	return env.Program(parsed, gocel.CostLimit(maxCost), gocel.CostTracking(&library.CostEstimator{}))
}
