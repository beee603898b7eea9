package operontest

import (
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// RunOn runs a case with the real operator on a real API server on which its CRDs are installed. Use a separate
// namespace for each case, because garbage collection may take a while to delete the children of an earlier one:
//
//	env := localtest.Shared(t)
//	env.InstallCRDs(t, "config/crd")
//	memcached.RunOn(t, env.Config, env.Namespace, c)
//
// The cluster's own controllers run as well, and time is real. Therefore only results that do not depend on them are checked:
// each expected write must happen, and no others, but their number and order do not matter, nor does the number of status
// writes. There may be additional events about readiness. Conditions and status must match at some time in the step. Reads
// are checked by kind.
func (o *Operator[T]) RunOn(t testing.TB, cluster *rest.Config, namespace string, c Case[T]) {
	t.Helper()
	if len(c.Clusters) > 0 {
		t.Fatal("a case with other clusters runs in memory only")
	}
	s, err := o.newSite(t, cluster, namespace, c)
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range c.steps() {
		if err := s.play(t.Context(), step); err != nil {
			t.Errorf("%s: %v", step.title(i), err)
			return
		}
	}
	want, got := s.furtherKinds(c)
	for _, wrong := range compareSets("read of kind", want, got, same).all() {
		t.Error(wrong)
	}
}

// Patience sets the time limit in which a real cluster must meet the expectations of a step. The default is five
// minutes.
func (o *Operator[T]) Patience(limit time.Duration) *Operator[T] {
	with := *o
	with.patience = limit
	return &with
}
