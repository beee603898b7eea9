package reset

import (
	"fmt"
	"slices"
	"testing"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

func TestDifference(t *testing.T) {
	t.Parallel()
	first := snapshot{
		"/registry/namespaces/default": []byte("d"),
		"/registry/nodes/node-0":       []byte("n"),
		"/registry/services/x":         []byte("x"),
	}
	now := []string{
		"/registry/configmaps/a", "1",
		"/registry/configmaps/b", "1",
		"/registry/events/default/e", "1",
		"/registry/leases/kube-foo/l", "1",
		"/registry/leases/kube-node-lease/node-0", "1",
		"/registry/leases/kube-system/apiserver-x", "1",
		"/registry/leases/kube-system/kube-scheduler", "1",
		"/registry/leases/kube-system/op", "1",
		"/registry/leases/team/l", "1",
		"/registry/namespaces/default", "d",
		"/registry/namespaces/team", "1",
		"/registry/nodes/node-0", "cordoned",
		"/registry/pods/p", "1",
	}
	var entries []*mvccpb.KeyValue
	for pair := range slices.Chunk(now, 2) {
		entries = append(entries, &mvccpb.KeyValue{Key: []byte(pair[0]), Value: []byte(pair[1])})
	}
	want := []string{
		"delete /registry/configmaps/a to /registry/leases/kube-foo/l",
		"delete /registry/leases/kube-system/op to /registry/leases/team/l",
		"delete /registry/namespaces/team to /registry/namespaces/team",
		"delete /registry/pods/p to /registry/pods/p",
		"put /registry/nodes/node-0=n",
		"put /registry/services/x=x",
	}
	var got []string
	for _, op := range difference(entries, first) {
		got = append(got, describe(op))
	}
	slices.Sort(got[len(got)-2:]) // restored values have no order
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

func describe(op clientv3.Op) string {
	if op.IsPut() {
		return fmt.Sprintf("put %s=%s", op.KeyBytes(), op.ValueBytes())
	}
	end := op.RangeBytes()
	return fmt.Sprintf("delete %s to %s", op.KeyBytes(), end[:len(end)-1])
}
