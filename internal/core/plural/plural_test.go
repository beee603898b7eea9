package plural

import "testing"

func TestCount(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"0 pods": Count(0, "pod"), "1 pod": Count(1, "pod"), "2 pods": Count(2, "pod"), "1 entry": Count(1, "entry"), "2 entries": Count(2, "entry"), "2 keys": Count(2, "key"),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
