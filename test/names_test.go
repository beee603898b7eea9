package operon_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/operon-framework/operon"
)

func ExampleName() {
	fmt.Println(operon.Name(52, "orders", "backup"))
	fmt.Println(operon.Name(30, "a-database-with-quite-a-name", "backup"))
	fmt.Println(operon.Name(30, "a-database-with-quite-a-name", "restore"))
	// Output:
	// orders-backup
	// a-database-with-quite-23b5666f
	// a-database-with-quite-7041c1d2
}

func FuzzName(f *testing.F) {
	f.Add(63, "web", "cache")
	f.Add(20, strings.Repeat("a", 30), "b")
	f.Add(20, strings.Repeat("a", 30), "c")
	f.Add(12, "a.b.c.d-", "eeeeeeeeee")
	f.Fuzz(func(t *testing.T, limit int, a, b string) {
		name := operon.Name(limit, a, b)
		if len(name) > max(limit, 10) {
			t.Errorf("Name(%d, %q, %q) = %q has %d characters", limit, a, b, name, len(name))
		}
		if name != operon.Name(limit, a, b) {
			t.Error("another name the second time")
		}
		whole := a + "-" + b
		if limit < 10 || len(validation.IsDNS1123Subdomain(whole)) > 0 && len(whole) <= 253 {
			return
		}
		if other := operon.Name(limit, a, b+"x"); len(whole) >= limit && other == name {
			t.Errorf("%q for two names", name)
		}
		if len(validation.IsDNS1123Subdomain(whole)) == 0 && len(validation.IsDNS1123Subdomain(name)) > 0 {
			t.Errorf("Name(%d, %q, %q) = %q is no name, and %q is one", limit, a, b, name, whole)
		}
	})
}
