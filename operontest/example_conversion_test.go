package operontest_test

import "fmt"

// A conversion to the hub that loses a field is reported with the smallest object that shows it.
func ExampleConversions_RoundTrip() {
	forgetful := func(old *OldSite, site *Site) error {
		err := toHub(old, site)
		site.Spec.Owner = nil
		return err
	}
	var t recorder // in a test, its *testing.T
	sites(forgetful, fromHub).RoundTrip(&t)
	fmt.Println(t.failures[0])
	// Output:
	// Site v1 → v1beta1 → v1: spec.owner is lost; it was "a"
	// The smallest object that shows it, of the 2nd that was made:
	//
	// apiVersion: kit.operon.dev/v1
	// kind: Site
	// metadata:
	//   name: one
	// spec:
	//   owner: a
	//
	// What comes back:
	//
	//   ...
	//   kind: Site
	//   metadata:
	//     name: one
	// - spec:
	// -   owner: a
	// + spec: {}
}
