package olm_test

import (
	"slices"
	"testing"
)

// The Subscription shop made the others. What it needs is removed with it, unless another operator needs it.
const dependencies = `
kind: Subscription
metadata: {name: shop, uid: u1}
spec: {name: shop}
status: {installedCSV: shop.v1}
---
kind: Subscription
metadata: {name: db, uid: u2, annotations: {olm.dependency-of: shop}}
spec: {name: db}
status: {installedCSV: db.v1}
---
kind: Subscription
metadata: {name: disk, uid: u3, annotations: {olm.dependency-of: db}}
spec: {name: disk}
status: {installedCSV: disk.v1}
---
kind: Subscription
metadata: {name: mail, uid: u4, annotations: {olm.dependency-of: shop}}
spec: {name: mail}
status: {installedCSV: mail.v1}
---
kind: Subscription
metadata: {name: mine, uid: u5}
spec: {name: mine}
status: {installedCSV: mine.v1}
---
kind: ClusterServiceVersion
metadata: {name: shop.v1}
spec: {customresourcedefinitions: {required: [{name: dbs.example.com, kind: DB}, {name: mails.example.com, kind: Mail}]}}
---
kind: ClusterServiceVersion
metadata: {name: db.v1, annotations: {operatorframework.io/properties: '{"properties":[{"type":"olm.package.required","value":{"packageName":"disk"}}]}'}}
spec: {customresourcedefinitions: {owned: [{name: dbs.example.com, kind: DB}]}}
---
kind: ClusterServiceVersion
metadata: {name: disk.v1}
---
kind: ClusterServiceVersion
metadata: {name: mail.v1}
spec: {customresourcedefinitions: {owned: [{name: mails.example.com, kind: Mail}]}}
---
kind: ClusterServiceVersion
metadata: {name: mine.v1, annotations: {operatorframework.io/properties: '{"properties":[{"type":"olm.constraint","value":{"any":{"constraints":[{"gvk":{"group":"example.com","kind":"DB"}}]}}}]}'}}
`

func TestDependencies(t *testing.T) {
	t.Parallel()
	state := stateOf(t, dependencies)
	var got []string
	for _, one := range state.Dependencies(state.Subscription("caches", "shop")) {
		got = append(got, one.Name+" is needed by "+one.NeededBy)
	}
	want := []string{"db is needed by mine.v1", "disk is needed by db.v1", "mail is needed by "}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
