// Package node runs a node with real containers for a local cluster: a kubelet, containerd, kube-proxy and CoreDNS in
// one process, which has mounts, processes, control groups and a network of its own and nothing on the machine's.
//
// The node's network has no way out, and none in but this one: a process with the right to
// do so may open sockets in another network namespace and keep them. So the API server's
// listener there, and its connections to the kubelet, to Services and to pods, are sockets
// of the cluster's process (Node.Listen, Node.Dial, ServeEgress); and so is the way out, where one
// is asked for (Node.Relay, Node.Resolve). No link joins the two networks.
//
// It works on Linux, for root; Check tells what a machine lacks.
package node
