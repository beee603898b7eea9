// Package node runs a node with real containers for a local cluster: a kubelet, containerd, kube-proxy and CoreDNS in one process. It has
// its own mounts, processes, control groups and network, and changes nothing on the machine's.
//
// The node's network has one connection to the outside: a process with the right to do so may open sockets in another network namespace
// and keep them. So the API server's listener there, and its connections to the kubelet, to Services and to pods, are sockets of the
// cluster's process (Node.Listen, Node.Dial, ServeEgress). The same holds for connections to the outside, if they are enabled
// (Node.Relay, Node.Resolve). No link joins the two networks.
//
// It works on Linux, for root. Check reports what a machine lacks.
package node
