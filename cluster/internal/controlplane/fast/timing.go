package fast

import "time"

// timing holds the durations of this package.
var timing = struct {
	rememberCertificate                  time.Duration
	newKindsPeriod, newKindsPause        time.Duration
	newKindsSettle                       time.Duration
	namespaceNotice                      time.Duration
	namespaceRetryMin, namespaceRetryMax time.Duration
	publishPeriod, publishDeadline       time.Duration
}{
	// rememberCertificate is how long the user of a client certificate is cached. kube-apiserver determines the user for every
	// request, and twice if it also trusts front proxies. This took a fifth of the processor time of a cluster with small requests.
	rememberCertificate: time.Minute,

	// newKindsPeriod is how often the garbage collector checks for new kinds without news of any.
	newKindsPeriod: 30 * time.Second,

	// newKindsPause is the time between two checks of the served kinds. It is also how long the garbage collector waits for the
	// lists of objects of new kinds before it reports them as late. The collector checks this every 100 ms.
	newKindsPause: 150 * time.Millisecond,

	// newKindsSettle is the delay in which further news is combined with the first: a new kind is written, its names are accepted,
	// it is established, and then it is served.
	newKindsSettle: 30 * time.Millisecond,

	// namespaceNotice is the time between the deletion of a namespace and the deletion of its contents, in which all components
	// notice the deletion. kube-controller-manager waits five seconds, for API servers and etcd members that lag behind others.
	// This cluster has one of each, and its API server rejects new objects in a namespace whose deletion it has confirmed.
	namespaceNotice: 50 * time.Millisecond,

	// namespaceRetryMin and namespaceRetryMax bound the time until a namespace that is not empty yet is processed again.
	namespaceRetryMin: 200 * time.Millisecond,
	namespaceRetryMax: 10 * time.Second,

	// publishPeriod is how often the aggregator is queried for the OpenAPI documents while a request waits for them.
	// publishDeadline is the timeout of that wait. The aggregator requests the documents once a second.
	publishPeriod:   5 * time.Millisecond,
	publishDeadline: 2 * time.Minute,
}
