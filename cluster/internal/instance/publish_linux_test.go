package instance

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/operon-framework/operon/cluster/internal/node"
)

// A connection to a published port counts as use of the cluster.
func TestPublishedPortsAreUse(t *testing.T) {
	t.Parallel()
	ports, err := publishPorts(Spec{Publish: []string{"0:80"}})
	if err != nil {
		t.Fatal(err)
	}
	var use activity
	c := &containers{node: &node.Node{}, published: ports, use: &use}
	c.servePublished(t.Context())
	before := time.Now()
	if conn, err := net.Dial("tcp", ports[0].listener.Addr().String()); err == nil {
		_, _ = io.Copy(io.Discard, conn) // without a node, the connection is reset, possibly already while dialing
		conn.Close()
	}
	if !use.since(before) {
		t.Error("it does not count")
	}
	awaitUnused(t, &use)
}
