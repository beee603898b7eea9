package bundletest

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/operon-framework/operon/internal/ship/bundle"
)

// Prover injects faults into an operator, and returns what it found. An error means that the operator could not be tested.
type Prover func(context.Context, Proof) (*Proven, error)

// Proof is an operator to inject faults into, and what that needs.
type Proof struct {
	// Run is a shell command that starts the operator with the environment variables and arguments of its container. {namespace} stands for
	// the namespace of a test case.
	Run string
	// CRDs are those of the bundle, Samples its samples without namespaces, and Permissions the Roles and ClusterRoles of its ServiceAccounts.
	CRDs, Samples, Permissions []*unstructured.Unstructured
	// Budget is the time in which test cases are started.
	Budget time.Duration
}

// Proven is what faults have shown.
type Proven struct {
	// Failures are the findings, each in a line. Notes are other facts.
	Failures, Notes []string
}

// prove injects faults into the operator.
func (t *test) prove(ctx context.Context) (Stage, error) {
	stage := Stage{Version: t.bundle.CSV.Name}
	switch {
	case t.Prove == 0:
		return stage, skipError("it needs --prove")
	case len(t.bundle.samples) == 0:
		return stage, skipError("the bundle has no samples")
	}
	t.stopOperator()
	permissions, err := t.permissions()
	if err != nil {
		return stage, err
	}
	of := Proof{Run: t.proofCommand(), Permissions: permissions, Budget: t.Prove}
	for _, crd := range t.bundle.CRDs {
		of.CRDs = append(of.CRDs, crd.Unstructured)
	}
	for _, sample := range t.bundle.samples {
		placed := sample.DeepCopy()
		placed.SetNamespace("")
		of.Samples = append(of.Samples, placed)
	}
	found, err := t.Prover(ctx, of)
	if err != nil {
		return stage, err
	}
	stage.Notes = found.Notes
	if len(found.Failures) > 0 {
		return stage, errors.New(strings.Join(found.Failures, "\n"))
	}
	return stage, nil
}

// proofCommand returns the command of the operator as it ran last. Instead of the namespaces of this test, it gets that of a test case.
func (t *test) proofCommand() string {
	words := []string{"exec", "env"}
	for _, variable := range t.pod.env {
		words = append(words, quote(variable))
	}
	words = append(words, "/bin/sh", "-c", quote(withArguments(t.bundle.command)), "sh")
	for _, argument := range t.pod.args {
		words = append(words, quote(argument))
	}
	return t.placeless(strings.Join(words, " "))
}

// anyWord matches words, of which some are names of namespaces.
var anyWord = regexp.MustCompile(`[-._a-zA-Z0-9]+`)

// placeless returns a text with {namespace} instead of the namespaces of this test, as far as they are whole words.
func (t *test) placeless(text string) string {
	return anyWord.ReplaceAllStringFunc(text, func(word string) string {
		if word == t.otherNamespace() || word == t.namespace {
			return "{namespace}"
		}
		return word
	})
}

// quote returns a word of a shell command.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// permissions returns the permissions of the version under test as a Role and a ClusterRole.
func (t *test) permissions() ([]*unstructured.Unstructured, error) {
	install := t.bundle.CSV.Spec.Install.Spec
	rules := func(all []bundle.Permissions) []rbacv1.PolicyRule {
		var of []rbacv1.PolicyRule
		for _, one := range all {
			of = append(of, one.Rules...)
		}
		return of
	}
	own, wide := rules(install.Permissions), rules(install.ClusterPermissions)
	if t.Mode == bundle.AllNamespaces {
		own, wide = nil, slices.Concat(own, wide)
	}
	meta := metav1.ObjectMeta{Name: t.bundle.CSV.Name}
	var made []runtime.Object
	if len(wide) > 0 || len(own) == 0 {
		made = append(made, &rbacv1.ClusterRole{TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"}, ObjectMeta: meta, Rules: wide})
	}
	if len(own) > 0 {
		made = append(made, &rbacv1.Role{TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"}, ObjectMeta: meta, Rules: own})
	}
	var all []*unstructured.Unstructured
	for _, object := range made {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return nil, err
		}
		all = append(all, &unstructured.Unstructured{Object: fields})
	}
	return all, nil
}
