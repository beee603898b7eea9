// Package node runs a node with real containers for a local cluster: a kubelet, containerd, kube-proxy and CoreDNS in one
// process. It has its own mounts, processes, control groups and network, and changes nothing in those of the machine, except that it enables
// controllers of control groups while it runs, if they are not.
//
// The two networks are connected only through sockets: a process with the required permission can open sockets in another
// network namespace and keep them open. The API server's listener in the node's network, and its connections to the kubelet, to
// Services and to pods, are sockets of the cluster's process (Node.Listen, Node.Dial, ServeEgress). The same applies to
// connections to the outside, if they are enabled (Node.Relay, Node.Resolve). No network link connects the two networks.
//
// It works on Linux and needs root. Check reports what a machine lacks.
package node
