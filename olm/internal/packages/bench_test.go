package packages_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	packagesv1 "github.com/operon-framework/operon/internal/olm/api/packages/v1"
	"github.com/operon-framework/operon/olm/internal/packages"
)

// BenchmarkList makes a list of 500 packages with two channels and icons of 20 KB, and encodes it: a list must take less than a second.
func BenchmarkList(b *testing.B) {
	var all []*packages.Manifest
	for i := range 500 {
		p := pkg()
		p.Name, p.Icon.Data = fmt.Sprintf("tool-%d", i), bytes.Repeat([]byte("<svg"), 5000)
		made, err := packages.Compose(p)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, made)
	}
	for b.Loop() {
		list := packagesv1.PackageManifestList{}
		for _, one := range all {
			list.Items = append(list.Items, *one.In(source(), "default", nil))
		}
		if _, err := json.Marshal(list); err != nil {
			b.Fatal(err)
		}
	}
}
