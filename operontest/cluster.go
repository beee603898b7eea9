package operontest

import (
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// RunOn runs a case with the real operator on a real API server, whose CRDs are installed,
// in a namespace that is the case's own, as garbage collection may take its time with the
// children of an earlier one:
//
//	env := localtest.Shared(t)
//	env.InstallCRDs(t, "config/crd")
//	memcached.RunOn(t, env.Config, env.Namespace, c)
//
// There the cluster's own controllers work too, and time is real. So what a case expects is
// judged by what does not depend on them: each write has to happen, and none but those, but
// how often and in which order is left open, and so is how often the status is written.
// Events that tell of readiness may be more. Conditions and status have to be so at some
// time in the step. Reads are judged by kind.
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

// Patience is how long a real cluster has for what a step expects. Without it, five minutes.
func (o *Operator[T]) Patience(limit time.Duration) *Operator[T] {
	with := *o
	with.patience = limit
	return &with
}
