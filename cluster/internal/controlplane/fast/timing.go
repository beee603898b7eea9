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
	// rememberCertificate is how long it is known whom a client certificate stands for. kube-apiserver works
	// that out for every request, twice where front proxies are trusted too, which was a fifth of the
	// processor time of a cluster under small requests.
	rememberCertificate: time.Minute,

	// newKindsPeriod is how often the garbage collector looks for new kinds without news of any.
	newKindsPeriod: 30 * time.Second,

	// newKindsPause lies between two looks at what is served. It is also how long the garbage collector
	// waits to have listed the objects of new kinds before it calls them late, which it
	// tests every 100 ms.
	newKindsPause: 150 * time.Millisecond,

	// newKindsSettle is how long news is left to become more: a new kind is written, named and
	// established, and then served.
	newKindsSettle: 30 * time.Millisecond,

	// namespaceNotice is how long everybody has to notice that a namespace is being deleted, before it is emptied.
	// kube-controller-manager gives them five seconds, for API servers and members of etcd that are
	// behind others. Here is one of each, and that API server lets nothing into a namespace whose
	// deletion it answered.
	namespaceNotice: 50 * time.Millisecond,

	// namespaceRetryMin and namespaceRetryMax bound the time until a namespace that is not empty yet is looked at again.
	namespaceRetryMin: 200 * time.Millisecond,
	namespaceRetryMax: 10 * time.Second,

	// publishPeriod is how often the aggregator is asked for the OpenAPI documents while a request waits for them, and
	// publishDeadline bounds that wait. The aggregator asks for them once a second.
	publishPeriod:   5 * time.Millisecond,
	publishDeadline: 30 * time.Second,
}
