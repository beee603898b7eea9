package operontest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/reconcile"
)

// The flag has the package's name, so that a test package can have its own -rewrite flag. That flag rewrites golden files
// too.
var rewriteGolden = flag.Bool("operontest.rewrite", false, "write golden files as compositions are now")

func rewriting() bool {
	own := flag.Lookup("rewrite")
	return *rewriteGolden || own != nil && own.Value.String() == "true"
}

// Golden composes an object, without a cluster, and compares the declared children with a file of YAML documents,
// in order. Comments in the file record their options and what the composer waits for. given are the objects that
// exist, for a composer that reads some. An invalid composition, such as two children with one name, fails the
// test.
//
// The flag -operontest.rewrite writes the file. Put it after the package: go test . -operontest.rewrite.
func (o *Operator[T]) Golden(t testing.TB, object T, file string, given ...client.Object) {
	t.Helper()
	got, err := o.Children(t.Context(), object, given...)
	if err != nil {
		t.Fatal(err)
	}
	if rewriting() {
		if err := write(file, got); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("there is no %s yet; -operontest.rewrite writes it:\n%s", file, got)
	}
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("the children are not as in %s; -operontest.rewrite accepts them:\n%s", file, difference(string(want), got))
	}
}

func write(file, content string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(content), 0o644)
}

// Children composes an object, without a cluster, and returns what Golden compares. Defaults and validation apply
// to the object first, as in the API in memory: see CRDs.
func (o *Operator[T]) Children(ctx context.Context, object T, given ...client.Object) (string, error) {
	api, err := o.newAPI(clocktesting.NewFakePassiveClock(epoch))
	if err != nil {
		return "", err
	}
	place := Place{Client: api, Namespace: Namespace}
	for _, exists := range append([]client.Object{object}, given...) {
		if err := Create(exists)(ctx, place); err != nil {
			return "", err
		}
	}
	own, _, err := read(ctx, place, object)
	if err != nil {
		return "", err
	}
	r, err := o.reconciler(api, reconcile.Config[T]{Reads: newReads(api, own.GetNamespace()).begin})
	if err != nil {
		return "", err
	}
	declared, ended := r.Declare(ctx, own)
	if ended.Kind() != outcome.KindDone {
		return "", fmt.Errorf("the composition cannot be: %s: %s", ended.Reason(), ended.Message())
	}
	return text(declared)
}

func text(declared reconcile.Declaration) (string, error) {
	var documents []string
	for _, wait := range declared.Waits {
		documents = append(documents, comment("waits: %s: %s", wait.Reason(), wait.Message()))
	}
	for _, child := range declared.Children {
		fields, err := yaml.Marshal(child.Fields.Object)
		if err != nil {
			return "", err
		}
		documents = append(documents, options(child)+string(fields))
	}
	return strings.Join(documents, "---\n"), nil
}

// options returns the comments about a child in a golden file.
func options(child reconcile.Declared) string {
	var b strings.Builder
	for _, before := range child.After {
		b.WriteString(comment("after: %s", before))
	}
	for _, words := range child.Ready {
		b.WriteString(comment("ready when: %s", words))
	}
	for _, policy := range []struct {
		is    plan.Policy
		words string
	}{
		{plan.MayReplace, "replace: deleted and recreated to change an immutable field"},
		{plan.MayAdopt, "adopt: an existing object of its name that has no controller is taken over"},
		{plan.LeaveBehind, "orphan: left behind when it is not declared any more"},
	} {
		if child.Has(policy.is) {
			b.WriteString(comment("%s", policy.words))
		}
	}
	return b.String()
}

func comment(format string, args ...any) string {
	return "# " + strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "\n# ") + "\n"
}
