package reconcile_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/testing/box"
	"github.com/operon-framework/operon/internal/testing/scenario"
	"github.com/operon-framework/operon/operontest"
)

// story is the upper half of a scenario file. A Box is created with the data, and then the steps are executed in order. The
// data defines, in the format of script, what the operator composes and does.
type story struct {
	// Why describes what the scenario shows.
	Why string `json:"why"`
	// Role is the role that the composer has besides Compose and Observe: work, default or external.
	Role string `json:"role"`
	// Data of the Box, in the format of script.
	Data map[string]string `json:"data"`
	// Annotations of the Box.
	Annotations map[string]string `json:"annotations"`
	// Finalizers of the Box.
	Finalizers []string `json:"finalizers"`
	// Given are the objects that exist before, as the changes that create them.
	Given []string `json:"given"`
	Steps []struct {
		What string `json:"what"`
		// Do are changes, in the format of change.
		Do []string `json:"do"`
		// Wait is how much time passes after that.
		Wait string `json:"wait"`
	} `json:"steps"`
}

// TestScenarios runs the reconciler against an API in memory: it checks the writes, the events, and the conditions of the
// object after each step. After each step, one more reconcile has to write nothing.
func TestScenarios(t *testing.T) {
	t.Parallel()
	scenario.Run(t, 64, play)
}

func play(t *testing.T, given string) string {
	var s story
	if err := yaml.UnmarshalStrict([]byte(given), &s); err != nil {
		t.Fatal(err)
	}
	composer, err := composerOf(s.Role)
	if err != nil {
		t.Fatal(err)
	}
	b := &box.Box{}
	b.Name, b.Annotations, b.Finalizers, b.Spec.Data = "box", s.Annotations, s.Finalizers, s.Data
	c := operontest.Case[*box.Box]{Object: b}
	c.Given, err = existing(s.Given)
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{}
	for i, step := range s.Steps {
		then := operontest.Step[*box.Box]{Name: step.What}
		if step.Wait != "" {
			if then.Wait, err = time.ParseDuration(step.Wait); err != nil {
				t.Fatal(err)
			}
		}
		for _, text := range step.Do {
			change, err := changeOf(text)
			if err != nil {
				t.Fatalf("step %q: %v", step.What, err)
			}
			then.Do = append(then.Do, change)
		}
		c.Then = append(c.Then, show(b, shown, i), then)
	}
	c.Then = append(c.Then, show(b, shown, len(s.Steps)))
	told, err := operontest.New(composer, box.AddToScheme).Story(t.Context(), c)
	if err != nil {
		return withConditions(told, shown) + "error: " + err.Error() + "\n"
	}
	return withConditions(told, shown)
}

// show is a step in which the conditions and finalizers of the Box are read.
func show(b *box.Box, shown map[string]string, i int) operontest.Step[*box.Box] {
	name := fmt.Sprintf("@%d", i)
	return operontest.Step[*box.Box]{Name: name, Do: []operontest.Change{func(ctx context.Context, p operontest.Place) error {
		now := &box.Box{}
		err := p.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: b.Name}, now)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		shown[name] = stateOf(now)
		return nil
	}}}
}

// stateOf returns what a scenario shows of a Box besides its Ready condition.
func stateOf(b *box.Box) string {
	var text strings.Builder
	for _, condition := range b.Status.Conditions {
		if condition.Type != "Ready" {
			fmt.Fprintf(&text, "  %s=%s %s\n", condition.Type, condition.Status, condition.Reason)
		}
	}
	if b.Status.ObservedGeneration != b.Generation {
		fmt.Fprintf(&text, "  observed generation %d of %d\n", b.Status.ObservedGeneration, b.Generation)
	}
	if len(b.Status.Seen) > 0 {
		fmt.Fprintf(&text, "  seen %s\n", strings.Join(b.Status.Seen, ", "))
	}
	listForeign(&text, "label", b.Labels)
	listForeign(&text, "annotation", b.Annotations)
	if len(b.Finalizers) > 0 {
		slices.Sort(b.Finalizers)
		fmt.Fprintf(&text, "  finalizers %s\n", strings.Join(b.Finalizers, ", "))
	}
	return text.String()
}

// listForeign lists the labels or annotations that are neither the operator's own nor those of an ApplySet.
func listForeign(text *strings.Builder, what string, all map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if !strings.Contains(key, "operon.dev/") && !strings.HasPrefix(key, "applyset.kubernetes.io/") {
			fmt.Fprintf(text, "  %s %s=%s\n", what, key, all[key])
		}
	}
}

// withConditions replaces the steps that read conditions by their results. In these steps the operator must do nothing.
func withConditions(told string, shown map[string]string) string {
	var text strings.Builder
	skipped := false
	for line := range strings.Lines(told) {
		if strings.HasPrefix(line, "@") {
			text.WriteString(shown[strings.TrimSpace(line)])
			skipped = true
			continue
		}
		if !strings.HasPrefix(line, "  ") {
			skipped = false
		}
		if !skipped || strings.HasPrefix(line, "  write") || strings.HasPrefix(line, "  event") {
			text.WriteString(line)
		}
	}
	return text.String()
}

var _ operon.Composer[*box.Box] = script{}
