package author

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// ending counts the calls of End.
type ending struct {
	Reads
	ends int
}

func (e *ending) End() { e.ends++ }

// The reads of a reconcile end in all clusters, so that no watch outlives its use.
func TestReadingEndsEverywhere(t *testing.T) {
	t.Parallel()
	own, east, west := &ending{}, &ending{}, &ending{}
	Everywhere(own, map[string]Reads{"east": east, "west": west}).End()
	if own.ends != 1 || east.ends != 1 || west.ends != 1 {
		t.Errorf("ended %d, %d and %d times, want once each", own.ends, east.ends, west.ends)
	}
}

func TestReadingNowhere(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reads Reads
		want  string
	}{
		{nil, errNoReads.Error()},
		{&ending{}, `get *v1.Secret a/b: the operator has no cluster "east": add it with operon.Cluster`},
		{Everywhere(&ending{}, map[string]Reads{"west": &ending{}}), `get *v1.Secret a/b: the operator has no cluster "east", only west`},
	} {
		object := &corev1.Secret{}
		object.Namespace, object.Name = "a", "b"
		if _, err := NewComposition(object, test.reads).In("east").Get(t.Context(), object); err == nil || err.Error() != test.want {
			t.Errorf("error %v, want %q", err, test.want)
		}
	}
}
